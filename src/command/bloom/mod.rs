//! The commands of Bloom filters (`BF.*`). What cuckoo filters use as well is in the parent module.

mod add;
mod bulk;
mod compact;
mod create;
mod dump;
mod info;
mod load;
mod merge;
mod option;
mod options;
mod parse;
mod read;
mod redisbloom_dialect;
mod rotate;
mod stats;
mod syntax;
pub mod table;
mod valkey;
mod window;
