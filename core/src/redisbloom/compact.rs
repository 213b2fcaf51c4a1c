//! Folding a link: `h mod m` determines `h mod (m / d)` where `d` divides `m`. So the OR of the `d`
//! parts of a link is the link that RedisBloom would have built with `m / d` bits.

use super::geometry::Shape;
use super::indexes::Modulus;
use super::layer::ClassicLayer;

/// A fold that saves less than this part of a link is not made, as in the Bloomline layout.
const LEAST_SAVING: u64 = 16;

impl ClassicLayer {
    /// Folds the link to the smallest size that is enough for `items` items, `len` of which are
    /// counted, by the bits per item that it was created with. False, without a change, if there is
    /// none.
    ///
    /// The capacity falls to what the link may hold now.
    pub(super) fn fold_to(&mut self, len: u64, items: u64) -> bool {
        let Some(shape) = smallest(&self.shape, items) else { return false };
        let room = shape.capacity - items;
        let capacity = self.shape.capacity.min(len.saturating_add(room)).max(1);
        self.shape = Shape { capacity, ..shape };
        self.modulus = Modulus::new(shape.modulus());
        let words = (shape.bits / 64) as usize;
        let (first, others) = self.words.as_mut_slice().split_at_mut(words);
        for part in others.chunks(words) {
            first.iter_mut().zip(part).for_each(|(to, from)| *to |= from);
        }
        self.words.truncate(shape.bits / 64);
        true
    }
}

/// The smallest fold of a link whose capacity is at least `items`, with that capacity.
fn smallest(shape: &Shape, items: u64) -> Option<Shape> {
    if shape.modulus() != shape.bits {
        return None;
    }
    let words = shape.bits / 64;
    let root = words.isqrt();
    let divisors = (1..=root).filter(|n| words.is_multiple_of(*n)).flat_map(|n| [n, words / n]);
    let folds = divisors.filter_map(|divisor| {
        let bits = shape.bits / divisor;
        let capacity = (bits as f64 / shape.bits_per_item) as u64;
        let log2_bits = if shape.log2_bits == 0 { 0 } else { bits.trailing_zeros() as u8 };
        (capacity >= items.max(1)).then_some(Shape { bits, capacity, log2_bits, ..*shape })
    });
    let saved = |fold: &Shape| (shape.bits - fold.bits).saturating_mul(LEAST_SAVING);
    folds.min_by_key(|fold| fold.bits).filter(|fold| saved(fold) >= shape.bits)
}
