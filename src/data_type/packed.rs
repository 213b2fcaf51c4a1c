//! Bloom filters without a box of [`AnyFilter`].
//!
//! | form | address of |
//! |---|---|
//! | 1 | the only allocation of a small filter, with or without a window: header and bits |
//! | 2, 3 | the box that a filter in RedisBloom's or valkey-bloom's layout has anyway |

use std::ptr::NonNull;

use bloomline_core::host::valkey::ValkeyFilter;
use bloomline_core::host::{AnyFilter, Headed, RedisBloomFilter};

/// What a value has instead of the address of a box.
#[derive(Clone, Copy)]
pub struct Packed {
    /// The start of an allocation.
    pub block: NonNull<u8>,
    /// What it is, 1 to 3.
    pub form: usize,
}

const SMALL: usize = 1;
const REDISBLOOM: usize = 2;
const VALKEY_BLOOM: usize = 3;

impl Packed {
    /// Gives up a filter.
    ///
    /// # Errors
    ///
    /// The filter, if it has none of these forms.
    #[inline]
    pub fn of(filter: AnyFilter) -> Result<Self, AnyFilter> {
        match filter {
            AnyFilter::RedisBloom(filter) => {
                Ok(Self { block: NonNull::from(Box::leak(filter)).cast(), form: REDISBLOOM })
            }
            AnyFilter::ValkeyBloom(filter) => {
                Ok(Self { block: NonNull::from(Box::leak(filter)).cast(), form: VALKEY_BLOOM })
            }
            other => other.pack().map(|packed| Self { block: packed.into_raw(), form: SMALL }),
        }
    }

    /// Takes the filter back.
    ///
    /// # Safety
    ///
    /// It must come from [`Packed::of`], and the filter must have no other owner while the result
    /// is used to change or to free it.
    #[inline(always)]
    pub unsafe fn take(self) -> AnyFilter {
        let Self { block, form } = self;
        // SAFETY: guaranteed by the caller.
        unsafe {
            match form {
                SMALL => AnyFilter::unpack(Headed::from_raw(block)),
                REDISBLOOM => {
                    AnyFilter::RedisBloom(Box::from_raw(block.cast::<RedisBloomFilter>().as_ptr()))
                }
                _ => AnyFilter::ValkeyBloom(Box::from_raw(block.cast::<ValkeyFilter>().as_ptr())),
            }
        }
    }

    /// True if the filter itself moves the allocation, since its bits are there.
    pub fn is_layer(self) -> bool {
        self.form == SMALL
    }
}
