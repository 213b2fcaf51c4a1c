//! What a host needs beyond [`BloomFilter`](crate::BloomFilter): it decides about memory layer by
//! layer, lists what a filter has allocated, and moves it.
//!
//! A *permit* is asked before memory for new layers is allocated. It gets the [`Demand`] and
//! answers whether the host grants it:
//!
//! ```
//! use bloomline_core::host::{AnyFilter, Demand};
//! use bloomline_core::{Error, Filter, Growth, Spec};
//!
//! # fn main() -> Result<(), Error> {
//! let spec = Spec { capacity: 100, error_rate: 0.01, growth: Growth::Scaling { expansion: 2 } };
//! let mut permit = |demand: Demand| demand.filter_bytes < 1_000;
//! let mut filter = AnyFilter::from(Filter::new(spec, 42, &mut permit)?);
//! let mut number = 0u64;
//! let refusal = loop {
//!     match filter.insert(&number.to_le_bytes(), &mut permit) {
//!         Ok(_) => number += 1,
//!         Err(refusal) => break refusal,
//!     }
//! };
//! assert!(matches!(refusal, Error::Refused(bytes) if bytes >= 1_000));
//! assert_eq!(filter.layer_count(), 2);
//!
//! let mut allocations = 0;
//! filter.each_block(|_| allocations += 1);
//! assert_eq!(allocations, 3); // the bits of two layers, and the table of the older ones
//! # Ok(())
//! # }
//! ```

pub use crate::any::AnyFilter;
pub use crate::memory::words::{Mover, Words};
pub use crate::scalable::{Added, ScalableFilter};
pub use crate::spec::{Demand, Permit};
