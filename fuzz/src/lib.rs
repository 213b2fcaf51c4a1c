//! What the fuzz targets do, without libFuzzer: `tests/fuzz` does the same with random bytes,
//! wherever there is a compiler.

pub mod check;
pub mod decode;
pub mod header;
pub mod model;
pub mod number;
