//! The native types of the server: filters as values of keys.
//!
//! | file | serves |
//! |---|---|
//! | [`handle`] | commands: from an open key to its filter, and back |
//! | [`family`] | all: what is asked of Bloom filters and cuckoo filters |
//! | [`value`], `packed` | all: the word that the server stores for a filter |
//! | [`registry`], [`server_type`] | all: the types of the server, and which of them a filter has |
//! | `callbacks` | the server: the table of callbacks, and the short ones |
//! | `rdb`, `encodings`, `stream` | RDB files, DUMP, full synchronization |
//! | [`copies`] | COPY |
//! | `aof` | filters as commands: AOF rewrite |
//! | `defrag` | active defragmentation |

mod aof;
mod callbacks;
pub mod copies;
mod defrag;
mod encodings;
pub mod family;
pub mod handle;
mod packed;
mod rdb;
pub mod registry;
pub mod server_type;
mod stream;
pub mod value;
