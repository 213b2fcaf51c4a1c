//! The bodies of the fuzz targets decode, values and valkey, without libFuzzer, and what must hold
//! for every filter. That of the target model is [`crate::life::run::run_bytes`].

pub mod accepted;
pub mod check;
pub mod decode;
pub mod encodings;
pub mod header;
pub mod number;
pub mod valkey;
pub mod values;
