//! The native types of the server: filters as values of keys.
//!
//! | file | serves |
//! |---|---|
//! | [`handle`] | commands: from an open key to its filter, and back |
//! | [`family`], `bloom`, `cuckoo` | all: what is asked of Bloom filters and cuckoo filters |
//! | `totals` | INFO: what filters add to the totals |
//! | [`registry`], [`server_type`] | all: the types of the server, and which of them a filter has |
//! | `callbacks` | the server: the table of callbacks, and the short ones |
//! | `rdb`, `encodings`, `stream` | RDB files, DUMP, full synchronization |
//! | [`copies`] | COPY |
//! | [`replicate`], `aof` | filters as commands: replication, AOF rewrite |
//! | `defrag` | active defragmentation |

mod aof;
mod bloom;
mod callbacks;
pub mod copies;
mod cuckoo;
mod defrag;
mod encodings;
pub mod family;
pub mod handle;
mod rdb;
pub mod registry;
pub mod replicate;
pub mod server_type;
mod stream;
mod totals;
