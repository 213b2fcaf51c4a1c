//! x
pub mod batch;
pub mod codec;
pub mod error;
pub mod filter;
pub mod hash;
pub mod layer;
pub mod layout;
pub mod rate;
pub mod sizing;
pub mod spec;
pub mod words;
pub use error::Error;
pub use filter::Filter;
pub use spec::*;
