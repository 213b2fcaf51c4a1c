//! The error of everything in the bench.

/// Every error is reported to the user as a sentence, so all errors have one type.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
