//! Filters of bytes from anywhere: what an encoding accepts is valid, can be loaded again, and
//! stays so whatever clients do with it.

use bloomline_core::Error;
use bloomline_core::host::Demand;
use bloomline_core::work;

use super::check::{LIMIT, assert_consistent, assert_grows, assert_reloads, small};
use super::encodings::assert_cuckoo_carried;
use crate::life::filter::Filter;
use crate::payload::FieldError;

/// The filter that is decoded with a permit for [`small`] ones, which is valid. None if it is
/// refused: after a demand for more, or with another error.
pub fn accepted<E: Into<FieldError>>(
    decode: impl FnOnce(&mut dyn FnMut(Demand) -> bool) -> Result<Filter, E>,
) -> Option<Filter> {
    let mut is_granted = true;
    let decoded = decode(&mut |demand| {
        is_granted &= small(demand);
        small(demand)
    });
    match decoded.map_err(Into::into) {
        Ok(filter) => {
            assert_valid(&filter);
            Some(filter)
        }
        Err(FieldError::Missing) => None,
        Err(FieldError::Core(error)) => {
            assert!(is_granted != matches!(error, Error::Refused(_)), "{error}");
            assert!(!error.to_string().is_empty());
            None
        }
    }
}

/// Checks that a filter is valid and can be loaded again.
pub fn assert_valid(filter: &Filter) {
    filter.check();
    match filter {
        Filter::Bloom(bloom) => {
            if bloom.size_bytes() <= LIMIT {
                assert_consistent(bloom);
            }
            assert_reloads(bloom);
        }
        Filter::Cuckoo(cuckoo) => assert_cuckoo_carried(cuckoo),
    }
}

/// Does what clients do with a filter, which stays valid and does not work for long.
pub fn assert_works(mut filter: Filter) {
    work::take();
    match &mut filter {
        Filter::Bloom(filter) if filter.size_bytes() <= LIMIT => assert_grows(filter),
        Filter::Bloom(_) => {}
        Filter::Cuckoo(filter) => {
            let items: Vec<_> = (0..200u32).map(u32::to_le_bytes).collect();
            for item in &items {
                let before = filter.try_clone(&mut |_| true).expect("memory");
                match filter.insert(item, &mut small) {
                    Ok(()) => assert!(filter.contains(item)),
                    Err(_) => assert!(*filter == before, "a refusal has changed {filter:?}"),
                }
            }
            for item in &items[150..] {
                assert_eq!(filter.contains(item), filter.remove(item));
            }
            filter.compact().expect("memory");
            let steps = work::take();
            assert!(steps < 1 << 21, "{steps} steps of work: {filter:?}");
        }
    }
    assert_valid(&filter);
}
