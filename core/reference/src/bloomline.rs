//! The reference model of the Bloomline layout: slow and simple, written from the description in
//! `bloomline/locate.rs`, with 128-bit numbers and bit vectors.
//!
//! Only the geometry and the computed rate of a layer come from the library. The model has its own
//! hash, bit indexes, answers and growth.

use bitvec::prelude::{BitVec, Lsb0, bitvec};
use bloomline_core::Error;
use bloomline_core::bloom::bloomline::fold::Fold;
use bloomline_core::bloom::bloomline::geometry::Geometry;
use bloomline_core::bloom::bloomline::rate::fp_rate;
use bloomline_core::host::{Growth, Spec};

use crate::folding::stored_pages;

/// A layer: its bits in the order of the bytes.
pub struct ModelLayer {
    pub bits: BitVec<u8, Lsb0>,
    pub capacity: u64,
    /// That of the hashed pages.
    pub geometry: Geometry,
    /// The stored page of each hashed page; `None` if each has its own.
    pub stored: Option<Vec<u64>>,
}

/// A filter.
pub struct Model {
    pub spec: Spec,
    pub seed: u64,
    pub layers: Vec<ModelLayer>,
    pub newest_len: u64,
}

/// The result of an insertion. The library has more errors, but these are all that occur with
/// enough memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    New,
    Seen,
    Full,
    CannotGrow,
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
const FURTHER: [u64; 3] = [0x6a09_e667_f3bc_c909, 0xbb67_ae85_84ca_a73b, 0x3c6e_f372_fe94_f82b];

/// Folded multiplication: the low half of the 128-bit product XOR its high half.
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product % (1 << 64)) as u64 ^ (product / (1 << 64)) as u64
}

/// `count` bits of a number, from bit `low` on.
fn field(number: u64, low: u32, count: u32) -> u64 {
    (number >> low) % (1 << count)
}

impl ModelLayer {
    fn new(capacity: u64, geometry: Geometry) -> Self {
        let bits = bitvec![u8, Lsb0; 0; geometry.bits() as usize];
        Self { bits, capacity, geometry, stored: None }
    }

    /// The stored page of a hashed page.
    fn stored_page(&self, page: u64) -> u64 {
        self.stored.as_ref().map_or(page, |stored| stored[page as usize])
    }

    /// Folds the layer to so many pages.
    pub fn fold(&mut self, pages: u64) {
        let stored = stored_pages(self.geometry.pages(), pages);
        let page_bits = self.geometry.page_bytes() as usize * 8;
        let mut bits = bitvec![u8, Lsb0; 0; pages as usize * page_bits];
        for (page, &target) in stored.iter().enumerate() {
            let start = self.stored_page(page as u64) as usize * page_bits;
            for bit in self.bits[start..start + page_bits].iter_ones() {
                bits.set(target as usize * page_bits + bit, true);
            }
        }
        (self.bits, self.stored) = (bits, Some(stored));
    }

    /// The computed false-positive rate of the full layer.
    fn fp_rate(&self) -> f64 {
        match self.stored.as_ref().and_then(|stored| stored.last()) {
            Some(last) => {
                let fold = Fold::new(self.geometry.pages(), last + 1);
                fold.fp_rate(&self.geometry, self.capacity)
            }
            None => fp_rate(&self.geometry, self.capacity),
        }
    }

    /// The indexes of an item's bits in the layer.
    fn bit_indexes(&self, block_hash: u64, pattern: u64) -> Vec<usize> {
        let geometry = self.geometry;
        if geometry.is_small() {
            let sectors = u128::from(geometry.sectors());
            let first = (u128::from(block_hash) * sectors / (1 << 64)) as usize;
            let bit = |i: usize| {
                let sector = (first + i) % sectors as usize;
                sector * 64 + field(pattern, 6 * i as u32, 6) as usize
            };
            return (0..geometry.bits_per_block().into()).map(bit).collect();
        }
        let blocks = geometry.pages() * geometry.blocks_per_page();
        let first = (u128::from(block_hash) * u128::from(blocks) / (1 << 64)) as u64;
        let (page, first_in_page) =
            (first / geometry.blocks_per_page(), first % geometry.blocks_per_page());
        let blocks_per_item = u64::from(geometry.blocks_per_item());
        let strides = if blocks_per_item == 1 {
            0
        } else {
            (geometry.blocks_per_page() - 1) / (blocks_per_item - 1)
        };
        let stride = 1 + field(pattern, 51, 13) * strides / (1 << 13);
        let page = self.stored_page(page);
        let of_block = |j| {
            let block = page * geometry.blocks_per_page()
                + (first_in_page + j * stride) % geometry.blocks_per_page();
            let pattern = if j == 0 { pattern } else { fold(pattern, FURTHER[j as usize - 1]) };
            let start = field(pattern, 48, 3);
            (0..u64::from(geometry.bits_per_block())).map(move |i| {
                let sector = (start + i) % 8;
                let bit = field(pattern, 6 * i as u32, 6);
                (block * 512 + sector * 64 + bit) as usize
            })
        };
        (0..blocks_per_item).flat_map(of_block).collect()
    }

    fn contains(&self, block_hash: u64, pattern: u64) -> bool {
        self.bit_indexes(block_hash, pattern).into_iter().all(|bit| self.bits[bit])
    }

    fn insert(&mut self, block_hash: u64, pattern: u64) {
        for bit in self.bit_indexes(block_hash, pattern) {
            self.bits.set(bit, true);
        }
    }
}

impl Model {
    pub fn new(spec: Spec, seed: u64) -> Self {
        Self::with_first(spec, seed, Geometry::first)
    }

    /// An empty part of a generation of a windowed filter.
    pub fn part(spec: Spec, seed: u64) -> Self {
        Self::with_first(spec, seed, Geometry::new)
    }

    fn with_first(
        spec: Spec,
        seed: u64,
        size: impl FnOnce(u64, f64) -> Result<Geometry, Error>,
    ) -> Self {
        let error = spec.error_rate / if spec.growth == Growth::Fixed { 1.0 } else { 2.0 };
        let geometry = size(spec.capacity, error).expect("a spec in range");
        let layers = vec![ModelLayer::new(spec.capacity, geometry)];
        Self { spec, seed, layers, newest_len: 0 }
    }

    /// Capacity and target rate of the next layer.
    ///
    /// The rate is the error budget, divided by the number of layers plus two. After a compaction
    /// it follows from the capacity, which is then at least that of the specification, and a
    /// quarter of that of all layers.
    fn next(&self, expansion: u64) -> (u64, f64) {
        let older_rates: f64 = self.layers.iter().fold(0.0, |sum, layer| sum + layer.fp_rate());
        let budget = self.spec.error_rate - older_rates;
        let last = self.layers.last().expect("at least one").capacity;
        let capacity = last.saturating_mul(expansion);
        if self.layers.iter().all(|layer| layer.stored.is_none()) {
            return (capacity, budget / (self.layers.len() as f64 + 2.0));
        }
        let older: u64 = self.layers.iter().map(|layer| layer.capacity).sum();
        let capacity = capacity.max(self.spec.capacity).max(older / 4).min(1 << 40);
        let (size, all) = (capacity as f64, older as f64);
        let error = budget * size / (2.0 * size + 6.0 * all);
        let collisions = 0.5f64.powi(64);
        if error >= 1e-15 && size * collisions <= error / 2.0 {
            (capacity, error)
        } else {
            (capacity.min((budget * (7.0 / 16.0) / collisions) as u64).max(1), budget / 2.0)
        }
    }

    fn hash(&self, item: &[u8]) -> (u64, u64) {
        let block_hash = xxhash_rust::xxh3::xxh3_64_with_seed(item, self.seed);
        (block_hash, fold(block_hash, GOLDEN))
    }

    pub fn contains(&self, item: &[u8]) -> bool {
        let (block_hash, pattern) = self.hash(item);
        self.layers.iter().any(|layer| layer.contains(block_hash, pattern))
    }

    pub fn insert(&mut self, item: &[u8]) -> Answer {
        if self.contains(item) {
            return Answer::Seen;
        }
        let (block_hash, pattern) = self.hash(item);
        let capacity = self.layers.last().expect("at least one").capacity;
        if self.newest_len == capacity {
            let Growth::Scaling { expansion } = self.spec.growth else { return Answer::Full };
            let (capacity, error) = self.next(expansion.into());
            let Ok(geometry) = Geometry::new(capacity, error) else { return Answer::CannotGrow };
            self.layers.push(ModelLayer::new(capacity, geometry));
            self.newest_len = 0;
        }
        self.layers.last_mut().expect("at least one").insert(block_hash, pattern);
        self.newest_len += 1;
        Answer::New
    }

    /// Folds the newest layer to so many pages, with which it has another capacity.
    pub fn compact(&mut self, pages: u64, capacity: u64) {
        let newest = self.layers.last_mut().expect("at least one");
        newest.fold(pages);
        newest.capacity = capacity;
    }

    /// Items that were new when they were inserted.
    pub fn len(&self) -> u64 {
        let (_, older) = self.layers.split_last().expect("at least one");
        older.iter().map(|layer| layer.capacity).sum::<u64>() + self.newest_len
    }
}
