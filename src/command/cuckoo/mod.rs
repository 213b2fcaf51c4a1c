//! The commands of cuckoo filters, CF.*: RedisBloom's, and what Bloom filters have too.
//!
//! | file | has |
//! |---|---|
//! | [`table`] | the table of commands, and CF.HELP |
//! | `create` | CF.RESERVE, and the creation of filters by all commands |
//! | `options` | the options of CF.RESERVE and CF.INSERT: RedisBloom's, as RedisBloom reads them, and our own |
//! | `add`, `bulk`, `remove`, `read` | items: added, deleted and counted |
//! | `compact`, `info`, `dump` | the whole filter |
//! | `error` | the error replies |

mod add;
mod bulk;
mod compact;
mod create;
mod dump;
mod error;
mod info;
mod options;
mod read;
mod remove;
pub mod table;
