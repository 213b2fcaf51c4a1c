//! The bodies of the fuzz targets, without libFuzzer. Each returns true if the input passed the
//! first checks.

pub mod check;
pub mod cuckoo;
pub mod decode;
pub mod header;
mod items;
pub mod model;
pub mod number;
pub mod windowed;
