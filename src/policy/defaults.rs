//! The options of new cuckoo filters that are not given.

use super::setting::{CF_BUCKET_SIZE, CF_EXPANSION_FACTOR, CF_MAX_ITERATIONS};
use bloomline_core::host::cuckoo::CuckooOptions;

/// Those of the settings.
pub fn cuckoo_options() -> CuckooOptions {
    CuckooOptions {
        bucket_size: CF_BUCKET_SIZE.integer() as u8,
        max_iterations: CF_MAX_ITERATIONS.integer() as u16,
        expansion: rounded(CF_EXPANSION_FACTOR.integer() as u16),
    }
}

/// An expansion as filters store it: 0, or a power of two.
pub fn rounded(expansion: u16) -> u16 {
    if expansion == 0 { 0 } else { expansion.next_power_of_two() }
}
