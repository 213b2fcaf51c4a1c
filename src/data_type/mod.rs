//! The native type of the server: filters as values of keys.
//!
//! | file | serves |
//! |---|---|
//! | [`handle`] | commands: from an open key to its filter, and back |
//! | [`callbacks`] | the server: the table of callbacks, and the short ones |
//! | `rdb`, `rdb_bloomline`, `rdb_redisbloom`, `load` | RDB files, DUMP, full synchronization |
//! | `aof`, [`copies`] | filters as commands: AOF rewrite, and COPY for replicas with RedisBloom |
//! | `defrag` | active defragmentation |

mod aof;
pub mod callbacks;
pub mod copies;
mod defrag;
pub mod handle;
mod load;
mod rdb;
mod rdb_bloomline;
mod rdb_redisbloom;
