//! What the fuzz targets do, without libFuzzer. Each body returns true if the input got past the
//! first checks.

pub mod check;
pub mod decode;
pub mod header;
pub mod model;
pub mod number;
