//! Random calls, valid and not, generated from bytes.
//!
//! | module | generates |
//! |---|---|
//! | [`words`] | arguments |
//! | [`redisbloom`], [`cuckoo`] | calls of the commands that RedisBloom has, for both modules |
//! | [`own`] | these with further options, calls of the other commands, and damaged bytes |
//!
//! `life::strangers` sends them beside the lives of filters, `redisbloom_live::random` to
//! RedisBloom and Bloomline at once.

pub mod cuckoo;
pub mod own;
pub mod redisbloom;
pub mod words;
