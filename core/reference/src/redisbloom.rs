//! The reference model of RedisBloom's layout: slow and simple, written from the description of the
//! layout.

use bitvec::prelude::{BitVec, Lsb0, bitvec};

/// The numbers of a layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    pub capacity: u64,
    pub error: f64,
    pub hashes: u32,
    pub bits: u64,
    pub log2_bits: u8,
}

impl Plan {
    /// The numbers of a new layer; `None` if its numbers are out of range.
    pub fn new(options: u32, capacity: u64, error: f64) -> Option<Self> {
        if capacity < 1 || error <= 0.0 || error >= 1.0 {
            return None;
        }
        let per_item = (-(error.ln() / 0.480453013918201)).abs();
        let hashes = (0.693147180559945 * per_item).ceil() as u32;
        let (mut log2_bits, mut kept) = (0, capacity);
        let needed = if options & 2 != 0 {
            log2_bits = u8::try_from(capacity).ok().filter(|&n| n < 64)?;
            kept = (2f64.powi(log2_bits.into()) / per_item) as u64;
            1 << log2_bits
        } else if options & 1 != 0 {
            ((capacity as f64 * per_item) as u64).max(1)
        } else {
            // The next power of two above what the items need. The additional bits raise the
            // capacity.
            let wanted = capacity as f64 * per_item;
            while 2f64.powi(log2_bits.into()) <= wanted {
                log2_bits += 1;
            }
            let additional = (2f64.powi(log2_bits.into()) - wanted).trunc();
            kept += (additional / per_item) as u64;
            1u128.checked_shl(log2_bits.into()).and_then(|bits| u64::try_from(bits).ok())?
        };
        Some(Self { capacity: kept, error, hashes, bits: needed.div_ceil(64) * 64, log2_bits })
    }
}

/// A layer: its numbers, its bits in the order of the bytes, its number of items.
pub struct ModelLayer {
    pub plan: Plan,
    pub bits: BitVec<u8, Lsb0>,
    pub len: u64,
}

/// A filter.
pub struct Model {
    pub options: u32,
    pub expansion: u64,
    pub layers: Vec<ModelLayer>,
}

/// The result of an insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    New,
    Seen,
    Full,
    CannotGrow,
}

fn hash_64(item: &[u8], seed: u64) -> u64 {
    const M: u64 = 0xc6a4_a793_5bd1_e995;
    let mut hash = seed ^ (item.len() as u64).wrapping_mul(M);
    for group in item.chunks(8) {
        let mut number = [0; 8];
        number[..group.len()].copy_from_slice(group);
        let mut number = u64::from_le_bytes(number);
        if group.len() == 8 {
            number = number.wrapping_mul(M);
            number = (number ^ (number >> 47)).wrapping_mul(M);
        }
        hash = (hash ^ number).wrapping_mul(M);
    }
    hash = (hash ^ (hash >> 47)).wrapping_mul(M);
    hash ^ (hash >> 47)
}

fn hash_32(item: &[u8], seed: u32) -> u32 {
    const M: u32 = 0x5bd1_e995;
    let mut hash = seed ^ item.len() as u32;
    for group in item.chunks(4) {
        let mut number = [0; 4];
        number[..group.len()].copy_from_slice(group);
        let mut number = u32::from_le_bytes(number);
        if group.len() == 4 {
            number = number.wrapping_mul(M);
            number = (number ^ (number >> 24)).wrapping_mul(M);
            hash = hash.wrapping_mul(M) ^ number;
        } else {
            hash = (hash ^ number).wrapping_mul(M);
        }
    }
    hash = (hash ^ (hash >> 13)).wrapping_mul(M);
    hash ^ (hash >> 15)
}

impl ModelLayer {
    pub fn new(plan: Plan) -> Self {
        Self { plan, bits: bitvec![u8, Lsb0; 0; plan.bits as usize], len: 0 }
    }

    /// The indexes of an item's bits in the layer.
    fn bit_indexes(&self, (a, b): (u64, u64)) -> impl Iterator<Item = usize> {
        let modulus =
            if self.plan.log2_bits == 0 { self.plan.bits } else { 1 << self.plan.log2_bits };
        (0..u128::from(self.plan.hashes)).map(move |i| {
            let sum = (u128::from(a) + i * u128::from(b)) % (1 << 64);
            (sum % u128::from(modulus)) as usize
        })
    }

    fn contains(&self, pair: (u64, u64)) -> bool {
        self.bit_indexes(pair).all(|index| self.bits[index])
    }

    /// Sets the bits of an item, which is hashed as the options say.
    pub fn set(&mut self, options: u32, item: &[u8]) {
        for index in self.bit_indexes(pair(options, item)).collect::<Vec<_>>() {
            self.bits.set(index, true);
        }
    }
}

/// The two hashes of an item.
fn pair(options: u32, item: &[u8]) -> (u64, u64) {
    if options & 4 != 0 {
        let a = hash_64(item, 0xc6a4_a793_5bd1_e995);
        (a, hash_64(item, a))
    } else {
        let a = hash_32(item, 0x9747_b28c);
        (a.into(), hash_32(item, a).into())
    }
}

impl Model {
    fn pair(&self, item: &[u8]) -> (u64, u64) {
        pair(self.options, item)
    }

    pub fn contains(&self, item: &[u8]) -> bool {
        let pair = self.pair(item);
        self.layers.iter().any(|layer| layer.contains(pair))
    }

    pub fn insert(&mut self, item: &[u8]) -> Answer {
        if self.contains(item) {
            return Answer::Seen;
        }
        let newest = self.layers.last().unwrap();
        if newest.len >= newest.plan.capacity {
            if self.options & 8 != 0 {
                return Answer::Full;
            }
            let capacity = newest.plan.capacity.checked_mul(self.expansion);
            let plan = capacity.and_then(|n| Plan::new(self.options, n, newest.plan.error * 0.5));
            let Some(plan) = plan else { return Answer::CannotGrow };
            self.layers.push(ModelLayer::new(plan));
        }
        let newest = self.layers.last_mut().unwrap();
        newest.set(self.options, item);
        newest.len += 1;
        Answer::New
    }
}
