//! The crates behind one trait.

use std::hash::BuildHasher;

use bloomfilter::Bloom;
use bloomline_core::BloomFilter;
use fastbloom::{BloomFilter as FastBloomFilter, DefaultHasher};
use foldhash::fast::RandomState;
use growable_bloom_filter::GrowableBloom;

/// A filter of a crate, for a given number of items.
pub trait Peer: Sized {
    const NAME: &'static str;

    fn new(items: usize, rate: f64) -> Self;

    /// Inserts all items; returns how many were new if the crate reports it.
    fn insert_all<'a>(&mut self, items: impl Iterator<Item = &'a [u8]>) -> u64;

    /// The number of items that the filter contains.
    fn count<'a>(&self, items: impl Iterator<Item = &'a [u8]>) -> u64;

    fn bits(&self) -> u64;
}

pub struct Ours(BloomFilter);

impl Peer for Ours {
    const NAME: &'static str = "bloomline-core";

    fn new(items: usize, rate: f64) -> Self {
        let builder = BloomFilter::builder().capacity(items as u64).false_positive_rate(rate);
        Self(builder.fixed().build().expect("memory"))
    }

    fn insert_all<'a>(&mut self, items: impl Iterator<Item = &'a [u8]>) -> u64 {
        items.map(|item| u64::from(self.0.insert(item) == Ok(true))).sum()
    }

    fn count<'a>(&self, items: impl Iterator<Item = &'a [u8]>) -> u64 {
        items.map(|item| u64::from(self.0.contains(item))).sum()
    }

    fn bits(&self) -> u64 {
        self.0.size_bytes() * 8
    }
}

pub struct Batched(Ours);

impl Peer for Batched {
    const NAME: &'static str = "bloomline-core, batches of 1,000";

    fn new(items: usize, rate: f64) -> Self {
        Self(Ours::new(items, rate))
    }

    fn insert_all<'a>(&mut self, items: impl Iterator<Item = &'a [u8]>) -> u64 {
        let (mut items, mut new) = (items.peekable(), 0);
        while items.peek().is_some() {
            self.0.0.insert_batch(items.by_ref().take(1_000), |is_new| {
                new += u64::from(is_new == Ok(true));
            });
        }
        new
    }

    fn count<'a>(&self, items: impl Iterator<Item = &'a [u8]>) -> u64 {
        let (mut items, mut found) = (items.peekable(), 0);
        while items.peek().is_some() {
            self.0.0.contains_batch(items.by_ref().take(1_000), |is_found| {
                found += u64::from(is_found);
            });
        }
        found
    }

    fn bits(&self) -> u64 {
        self.0.bits()
    }
}

/// A hasher of the crate fastbloom.
pub trait FastHasher: BuildHasher + Default {
    const NAME: &'static str;
}

impl FastHasher for DefaultHasher {
    const NAME: &'static str = "fastbloom, SipHash";
}

impl FastHasher for RandomState {
    const NAME: &'static str = "fastbloom, foldhash";
}

pub struct Fastbloom<S>(FastBloomFilter<S>);

impl<S: FastHasher> Peer for Fastbloom<S> {
    const NAME: &'static str = S::NAME;

    fn new(items: usize, rate: f64) -> Self {
        let builder = FastBloomFilter::with_false_pos(rate).hasher(S::default());
        Self(builder.expected_items(items))
    }

    fn insert_all<'a>(&mut self, items: impl Iterator<Item = &'a [u8]>) -> u64 {
        items.map(|item| u64::from(!self.0.insert(item))).sum()
    }

    fn count<'a>(&self, items: impl Iterator<Item = &'a [u8]>) -> u64 {
        items.map(|item| u64::from(self.0.contains(item))).sum()
    }

    fn bits(&self) -> u64 {
        self.0.num_bits() as u64
    }
}

pub struct Bloomfilter(Bloom<[u8]>);

impl Peer for Bloomfilter {
    const NAME: &'static str = "bloomfilter";

    fn new(items: usize, rate: f64) -> Self {
        Self(Bloom::new_for_fp_rate(items, rate).expect("a filter"))
    }

    fn insert_all<'a>(&mut self, items: impl Iterator<Item = &'a [u8]>) -> u64 {
        items.map(|item| u64::from(!self.0.check_and_set(item))).sum()
    }

    fn count<'a>(&self, items: impl Iterator<Item = &'a [u8]>) -> u64 {
        items.map(|item| u64::from(self.0.check(item))).sum()
    }

    fn bits(&self) -> u64 {
        self.0.len()
    }
}

pub struct Growable(GrowableBloom);

impl Peer for Growable {
    const NAME: &'static str = "growable-bloom-filter";

    fn new(items: usize, rate: f64) -> Self {
        Self(GrowableBloom::new(rate, items))
    }

    fn insert_all<'a>(&mut self, items: impl Iterator<Item = &'a [u8]>) -> u64 {
        items.map(|item| u64::from(self.0.insert(item))).sum()
    }

    fn count<'a>(&self, items: impl Iterator<Item = &'a [u8]>) -> u64 {
        items.map(|item| u64::from(self.0.contains(item))).sum()
    }

    fn bits(&self) -> u64 {
        // The crate does not report its bytes; its serialized form is its bits and a few numbers.
        (bincode::serialized_size(&self.0).expect("a size")) * 8
    }
}
