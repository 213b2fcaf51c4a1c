//! Folding a layer: `h mod m` determines `h mod (m / d)` where `d` divides `m`. So the OR of the
//! `d` parts of a layer is the layer that RedisBloom would have built with `m / d` bits.
//!
//! # How small a layer may become
//!
//! The formula for the rate of a layer, `(1 - e^(-k n / m))^k`, takes the `k` bits of an item as
//! independent. They are an arithmetic progression, and in a layer of few bits many coincide.
//! Measured in full layers by 4 million lookups or more, the rate exceeds the formula by `c / m`:
//!
//! | e | k | c, m a power of two | c, m with an odd divisor above k | 7 / k |
//! |---|---|---|---|---|
//! | 5e-3 | 8 | 1.3 to 1.6 | 0.8 to 0.9 | 0.88 |
//! | 5e-4 | 11 | 1.4 to 1.6 | 0.5 to 0.6 | 0.64 |
//! | 5e-5 | 15 | 1.2 to 1.4 | 0.3 to 0.4 | 0.47 |
//! | 5e-6 | 18 | 1.2 to 1.8 | 0.3 to 0.4 | 0.39 |
//!
//! With hashes of 32 bits it is 1.2 to 1.7 for every `m`. (From 1,000 bits on. A layer of 64 bits
//! at 5e-4 has 47 times its target rate.)
//!
//! # The next layer
//!
//! RedisBloom adds a layer when the newest one holds as many items as its capacity, and gives it
//! that capacity times the expansion. Both follow from one field of the layer, and the expansion is
//! a field of the filter. So a small layer cannot be followed by a large one: if it kept its old
//! capacity, it would take as many items as before into fewer bits, here and in every RedisBloom
//! that loads the filter. So the capacity falls with the bits, and the layers that follow are
//! smaller too. Their excess, `4 / (k m)` each, is in the bound.
//!
//! If an older layer was folded, the newest one keeps room for as many items as all older ones
//! have, so that the number of layers grows with the logarithm of the number of items: each further
//! layer halves the rate. A folded layer is recognised by a capacity of at least 64 bits less than
//! it has.
//!
//! A fold is made if this excess is at most a quarter of the target rate of the layer, and the
//! capacity falls so far that the rate of the layer and the excess together stay within it. So the
//! sum of the target rates, which is that of the filter, holds after any number of compactions. For
//! new filters that double the least size is
//!
//! | error rate | bits | capacity |
//! |---|---|---|
//! | 1e-2 | 1,100 | 95 |
//! | 1e-3 | 8,000 | 490 |
//! | 1e-4 | 59,000 | 2,800 |
//! | 1e-6 | 4,200,000 | 136,000 |

use super::{CompactShape, Newest};
use crate::bloom::layer::Plan;
use crate::bloom::redisbloom::geometry::RedisBloomShape;
use crate::bloom::redisbloom::{RedisBloomLayer, RedisBloomParams};
use crate::math::frozen;

/// A fold that saves less than this part of a layer is not made, as in the Bloomline layout.
const LEAST_SAVING: u64 = 16;

/// The part of the target rate of a layer that its excess may take.
const MOST_EXCESS: f64 = 1.0 / 4.0;

impl CompactShape for RedisBloomShape {
    fn is_folded(&self) -> bool {
        self.capacity < unlike_built(self).saturating_add(1)
    }

    /// The header has no field for the first capacity of a folded layer.
    fn created(_params: &RedisBloomParams) -> Option<(RedisBloomParams, Plan<Self>)> {
        None
    }

    fn folded(
        layer: &RedisBloomLayer,
        params: &RedisBloomParams,
        _index: u32,
        newest: &Newest,
    ) -> Option<(RedisBloomParams, Plan<Self>)> {
        let &Newest { len, items, older, .. } = newest;
        let least = if newest.is_further { items.max(older) } else { items };
        let shape = smallest(layer.shape(), params, least)?;
        let room = shape.capacity - items;
        let capacity = layer.capacity().min(len.saturating_add(room)).max(1);
        Some((*params, RedisBloomShape { capacity, ..shape }.into()))
    }

    fn fold(layer: &mut RedisBloomLayer, folded: &Plan<Self>) {
        (layer.shape, layer.divisor) = (folded.shape, folded.divisor);
        let words = folded.bytes() as usize / size_of::<u64>();
        let (first, others) = layer.words.as_mut_slice().split_at_mut(words);
        for part in others.chunks(words) {
            first.iter_mut().zip(part).for_each(|(to, from)| *to |= from);
        }
        layer.words.truncate(words as u64);
    }
}

/// The largest capacity of a layer that shows that it was folded: a built one has fewer than 64
/// bits more than its items need.
fn unlike_built(shape: &RedisBloomShape) -> u64 {
    (shape.bits.saturating_sub(64) as f64 / shape.bits_per_item) as u64
}

/// The smallest fold of a layer whose capacity is at least `items`, with that capacity.
fn smallest(
    shape: &RedisBloomShape,
    params: &RedisBloomParams,
    items: u64,
) -> Option<RedisBloomShape> {
    if shape.modulus() != shape.bits {
        return None;
    }
    let words = shape.bits / 64;
    let root = words.isqrt();
    let divisors = (1..=root).filter(|n| words.is_multiple_of(*n)).flat_map(|n| [n, words / n]);
    let folds = divisors.filter_map(|divisor| {
        let mut fold = folded(shape, params, shape.bits / divisor)?;
        fold.capacity = fold.capacity.min(unlike_built(&fold));
        (fold.capacity >= items.max(1)).then_some(fold)
    });
    let saved = |fold: &RedisBloomShape| (shape.bits - fold.bits).saturating_mul(LEAST_SAVING);
    folds.min_by_key(|fold| fold.bits).filter(|fold| saved(fold) >= shape.bits)
}

/// A layer of `bits` bits with the capacity that keeps it within the target rate of `shape`. `None`
/// if it has too few bits for that.
fn folded(
    shape: &RedisBloomShape,
    params: &RedisBloomParams,
    bits: u64,
) -> Option<RedisBloomShape> {
    let log2_bits = if shape.log2_bits == 0 { 0 } else { bits.trailing_zeros() as u8 };
    let fold = RedisBloomShape { bits, log2_bits, ..*shape };
    let excess = excess(&fold, params);
    if excess > MOST_EXCESS * shape.error {
        return None;
    }
    // The inverse of the formula for the rate.
    let per_item = f64::from(shape.hashes);
    let fill = frozen::pow(shape.error - excess, 1.0 / per_item);
    let items = -frozen::log1p(-fill) * bits as f64 / per_item;
    let capacity = items.min(bits as f64 / shape.bits_per_item) as u64;
    Some(RedisBloomShape { capacity, ..fold })
}

/// By how much the rates of a layer and of all that follow it exceed the formula, together.
fn excess(shape: &RedisBloomShape, params: &RedisBloomParams) -> f64 {
    /// Times the bits: if they are a power of two, or nearly, or hashes have 32 bits.
    const OF_ANY: f64 = 1.7;
    /// Times the bits and k: in any other layer that is folded.
    const OF_ODD: f64 = 7.0;
    /// Times the bits and k: in any other layer that is built.
    const OF_NEXT: f64 = 4.0;
    let (bits, per_item) = (shape.modulus() as f64, f64::from(shape.hashes));
    let odd = shape.bits >> shape.bits.trailing_zeros();
    let next = if params.options.is_64_bit() && shape.log2_bits == 0 {
        OF_NEXT.min(OF_ANY * per_item)
    } else {
        OF_ANY * per_item
    };
    let is_any = next > OF_NEXT || odd <= shape.hashes.into();
    let own = if is_any { OF_ANY * per_item } else { OF_ODD.min(OF_ANY * per_item) };
    // The sum of what the further layers are smaller by: (k / (k + i))^2 / expansion^i, i from 1.
    let further = match params.expansion {
        _ if params.options.is_fixed() => 0.0,
        0 | 1 => per_item,
        expansion => 1.0 / f64::from(expansion - 1),
    };
    (own + next * further) / (bits * per_item)
}
