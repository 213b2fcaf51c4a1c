//! The sizes of a cuckoo filter, from which items can be deleted.

use bloomline_core::Error;
use bloomline_core::host::cuckoo::{AnyCuckoo, CuckooOptions, CuckooSpec};

use crate::used::{self, Rounding};

/// A cuckoo filter that was reserved for a number of items.
pub struct DeletablePlan {
    capacity: u64,
    error_rate: f64,
    is_fixed: bool,
    size_bytes: u64,
}

impl DeletablePlan {
    /// The filter, for at least as many items as CF.RESERVE takes. It is requested from the core
    /// with a permit that refuses, so nothing is allocated.
    ///
    /// # Errors
    ///
    /// A number out of range.
    pub fn new(items: u64, error_rate: f64, is_fixed: bool) -> Result<Self, Error> {
        // The options of a CF.RESERVE that does not name them. Only the expansion has an effect.
        let expansion = if is_fixed { 0 } else { 1 };
        let options = CuckooOptions { bucket_size: 2, max_iterations: 20, expansion };
        // CF.RESERVE refuses less.
        let capacity = items.max(2 * u64::from(options.bucket_size));
        let spec = CuckooSpec { capacity, error_rate, options };
        let size_bytes = match AnyCuckoo::bloomline(spec, 0, &mut |_| false) {
            Err(Error::Refused(size_bytes)) => size_bytes,
            Err(error) => return Err(error),
            Ok(filter) => filter.size_bytes(),
        };
        Ok(Self { capacity, error_rate, is_fixed, size_bytes })
    }

    /// The command that makes it.
    pub fn command(&self, key: &str) -> String {
        let growth = if self.is_fixed { " EXPANSION 0" } else { "" };
        format!("CF.RESERVE {key} {} ERROR {}{growth}", self.capacity, self.error_rate)
    }

    /// Bytes: `CF.INFO key SIZE`.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Bytes of `used_memory` for the key with this filter.
    pub fn used_bytes(&self, rounding: Rounding) -> u64 {
        used::used_bytes(used::of_cuckoo(self.size_bytes), rounding)
    }
}
