//! The texts of errors.

use bloomline_core::Error;
use bloomline_core::bloom::bloomline::sizing::{MAX_CAPACITY, MAX_ERROR_RATE};
use bloomline_core::bloom::window::{MAX_GENERATIONS, MAX_WINDOW_MILLIS, MIN_GENERATIONS};
use bloomline_core::error::{ChunkError, HeaderError};
use bloomline_core::spec::MAX_EXPANSION;

#[test]
fn errors_name_the_ranges() {
    let rate = format!("above 0, at most {MAX_ERROR_RATE}, in RedisBloom's layout below 1");
    for (error, range) in [
        (Error::Capacity(0), format!("1 to {MAX_CAPACITY}")),
        (Error::ErrorRate(2.0), rate),
        (Error::Expansion(0), format!("1 to {MAX_EXPANSION}")),
        (Error::Window(0), format!("1 to {MAX_WINDOW_MILLIS} ms")),
        (Error::Generations(1), format!("{MIN_GENERATIONS} to {MAX_GENERATIONS}")),
    ] {
        let text = error.to_string();
        assert!(text.ends_with(&format!(" out of range: {range}")), "{text}");
    }
}

/// They also meet filters without generations and without layers.
#[test]
fn texts_of_offsets_name_neither_generations_nor_layers() {
    let header = Error::from(HeaderError::Offset(7)).to_string();
    assert_eq!(header, "bad header: offset 7 of its bytes is out of range");
    let chunk = Error::from(ChunkError::Offset(7)).to_string();
    assert!(chunk.ends_with("the filter has no bytes at offset or iterator 7"), "{chunk}");
}
