//! Bloom filters (`BF.*`) as a native data type of Redis and Valkey.
//!
//! The layers, each of which knows only those before it:
//!
//! | module | what it is | may touch |
//! |---|---|---|
//! | [`bloom`] | the filter: sizes, hashing, its own layout and RedisBloom's, growth, bytes | memory |
//! | [`server`] | the server seen from a module | the module interface |
//! | [`data_type`] | the value in the keyspace: its callbacks | `bloom`, `server` |
//! | [`command`] | from the words of a client to a reply | `bloom`, `server`, the handle of `data_type` |
//! | `module` | loading: what is registered, in which order | all |

#[cfg(not(all(target_endian = "little", target_pointer_width = "64")))]
compile_error!(
    "the formats are little-endian, and filters may be larger than 4 GiB: 64-bit little-endian machines only"
);

pub mod command;
pub mod data_type;
mod module;
pub mod server;
