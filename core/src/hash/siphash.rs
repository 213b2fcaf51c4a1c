//! The two hashes of an item: SipHash-1-3 (Aumasson and Bernstein, 2012, with fewer rounds) of its
//! length and its bytes, with the two halves of the seed as keys.

use super::Pair;
use crate::simd::{self, Backend, Lanes, MOST_LANES, Scalar, Task};

/// The seed of a filter: two keys of 16 bytes.
pub type Seed = [u8; 32];

/// The seed of filters that are created without a random one.
pub const FIXED_SEED: Seed = [
    0x59, 0x0f, 0xf5, 0x22, 0xea, 0x78, 0x11, 0xda, 0xa7, 0x14, 0xd8, 0x09, 0x3b, 0x3e, 0x7b, 0xd9,
    0x1d, 0x89, 0x8a, 0x73, 0x3e, 0x98, 0x88, 0x87, 0x30, 0x7f, 0x97, 0xcd, 0x28, 0x07, 0x33, 0x83,
];

/// Bytes of the length that is hashed before the item.
const LENGTH_BYTES: u64 = 8;
/// Bytes that are hashed at once.
const WORD_BYTES: u64 = 8;

/// The states of one SipHash per lane.
#[derive(Clone, Copy)]
struct States<L>([L; 4]);

impl<L: Lanes> States<L> {
    #[inline(always)]
    fn new(backend: impl Backend<Lanes = L>, [k0, k1]: [u64; 2]) -> Self {
        let numbers = [
            k0 ^ 0x736f_6d65_7073_6575,
            k1 ^ 0x646f_7261_6e64_6f6d,
            k0 ^ 0x6c79_6765_6e65_7261,
            k1 ^ 0x7465_6462_7974_6573,
        ];
        Self(numbers.map(|number| backend.lanes(|_| number)))
    }

    #[inline(always)]
    fn round(self) -> Self {
        let Self([v0, v1, v2, v3]) = self;
        let (v0, v2) = (v0.add(v1), v2.add(v3));
        let (v1, v3) = (v1.rotate_left::<13>().xor(v0), v3.rotate_left::<16>().xor(v2));
        let (v0, v2) = (v0.rotate_left::<32>().add(v3), v2.add(v1));
        let (v1, v3) = (v1.rotate_left::<17>().xor(v2), v3.rotate_left::<21>().xor(v0));
        Self([v0, v1, v2.rotate_left::<32>(), v3])
    }

    #[inline(always)]
    fn word(self, word: L) -> Self {
        let Self([v0, v1, v2, v3]) = self;
        let Self([v0, v1, v2, v3]) = Self([v0, v1, v2, v3.xor(word)]).round();
        Self([v0.xor(word), v1, v2, v3])
    }

    /// The states after word number `index` where an item has more whole words than that: `counts`.
    #[inline(always)]
    fn word_below(self, index: u64, counts: L, word: L) -> Self {
        let (Self([a, b, c, d]), Self([e, f, g, h])) = (self.word(word), self);
        Self([(a, e), (b, f), (c, g), (d, h)].map(|(new, old)| new.where_below(index, counts, old)))
    }

    #[inline(always)]
    fn finish(self, ones: L) -> L {
        let Self([v0, v1, v2, v3]) = self;
        let Self([v0, v1, v2, v3]) = Self([v0, v1, v2.xor(ones), v3]).round().round().round();
        v0.xor(v1).xor(v2.xor(v3))
    }
}

/// Hashes an item with both keys in one pass over it.
#[inline]
pub fn pair(seed: &Seed, item: &[u8]) -> Pair {
    let [mut a, mut b] = [0, 16].map(|at| States::new(Scalar, key(seed, at)));
    let len = item.len() as u64;
    (a, b) = (a.word(len), b.word(len));
    for word in item.as_chunks().0 {
        let word = u64::from_le_bytes(*word);
        (a, b) = (a.word(word), b.word(word));
    }
    let last = last_word(item);
    Pair { a: a.word(last).finish(0xff), b: b.word(last).finish(0xff) }
}

/// Hashes items, and calls `see` with each hash in turn: as many items at once as the processor has
/// lanes; see docs/explanation/performance.md.
#[inline(always)]
pub fn pairs<T: AsRef<[u8]>>(seed: &Seed, items: &[T], see: impl FnMut(Pair)) {
    simd::dispatch(Pairs { seed, items, see });
}

pub struct Pairs<'a, T, S> {
    pub seed: &'a Seed,
    pub items: &'a [T],
    pub see: S,
}

impl<T: AsRef<[u8]>, S: FnMut(Pair)> Task for Pairs<'_, T, S> {
    type Output = ();

    #[inline(always)]
    fn run<B: Backend>(mut self, backend: B) {
        let (mut one_by_one, lanes) = (self.items, B::Lanes::COUNT);
        if lanes > 1 {
            let chunks = self.items.chunks_exact(lanes);
            one_by_one = chunks.remainder();
            // Not in a closure, which would not have the features of this function.
            for chunk in chunks {
                hash_lanes(backend, self.seed, chunk, &mut self.see);
            }
        }
        for item in one_by_one {
            (self.see)(pair(self.seed, item.as_ref()));
        }
    }
}

/// Hashes one item per lane.
#[inline(always)]
fn hash_lanes<B: Backend>(
    backend: B,
    seed: &Seed,
    chunk: &[impl AsRef<[u8]>],
    see: &mut impl FnMut(Pair),
) {
    let mut items: [&[u8]; MOST_LANES] = [&[]; MOST_LANES];
    items.iter_mut().zip(chunk).for_each(|(item, of)| *item = of.as_ref());
    let items = LaneItems(items);
    let (mut least, mut most) = (u64::MAX, 0);
    for item in items.0.iter().take(B::Lanes::COUNT) {
        (least, most) = (least.min(words_of(item)), most.max(words_of(item)));
    }
    let [mut a, mut b] = [0, 16].map(|at| States::new(backend, key(seed, at)));
    let lengths = items.each(backend, |item| item.len() as u64);
    (a, b) = (a.word(lengths), b.word(lengths));
    for index in 0..least {
        let word = items.each(backend, |item| word_at(item, index));
        (a, b) = (a.word(word), b.word(word));
    }
    if least < most {
        let counts = items.each(backend, words_of);
        for index in least..most {
            let word = items.each(backend, |item| word_at(item, index));
            (a, b) = (a.word_below(index, counts, word), b.word_below(index, counts, word));
        }
    }
    let last = items.each(backend, last_word);
    let [a, b] = [a, b].map(|states| states.word(last).finish(backend.lanes(|_| 0xff)).numbers());
    for (a, b) in a.into_iter().zip(b).take(B::Lanes::COUNT) {
        see(Pair { a, b });
    }
}

/// The items of the lanes, and as many empty ones as there are fewer lanes.
struct LaneItems<'a>([&'a [u8]; MOST_LANES]);

impl LaneItems<'_> {
    #[inline(always)]
    fn each<B: Backend>(&self, backend: B, number: impl Fn(&[u8]) -> u64) -> B::Lanes {
        backend.lanes(|lane| self.0.get(lane).map_or(0, |item| number(item)))
    }
}

/// The key that begins at a byte of the seed.
#[inline(always)]
fn key(seed: &Seed, at: usize) -> [u64; 2] {
    let half = |at: usize| {
        let bytes = seed.get(at..).and_then(<[u8]>::first_chunk);
        u64::from_le_bytes(bytes.copied().unwrap_or_default())
    };
    [half(at), half(at + 8)]
}

/// The number of whole words of an item.
#[inline(always)]
fn words_of(item: &[u8]) -> u64 {
    item.len() as u64 / WORD_BYTES
}

/// A whole word of an item, or 0 if it has no such word.
#[inline(always)]
fn word_at(item: &[u8], index: u64) -> u64 {
    u64::from_le_bytes(item.as_chunks().0.get(index as usize).copied().unwrap_or_default())
}

/// The last word, which ends with the lowest byte of the length of all that is hashed.
#[inline(always)]
fn last_word(item: &[u8]) -> u64 {
    let (_, rest) = item.as_chunks::<8>();
    rest_of(item, rest) | (item.len() as u64).wrapping_add(LENGTH_BYTES) << 56
}

/// The bytes after the last whole word of an item, at most seven, as a number.
#[inline(always)]
fn rest_of(item: &[u8], rest: &[u8]) -> u64 {
    let bits = 8 * rest.len() as u32;
    if let Some(last) = item.last_chunk() {
        // The upper bytes of the last eight. Two shifts, because none may be by 64.
        return u64::from_le_bytes(*last) >> 1 >> (63 - bits);
    }
    match (rest.first_chunk(), rest.last_chunk()) {
        // Two words of 32 bits that overlap.
        (Some(first), Some(last)) => {
            let [first, last] = [first, last].map(|word| u64::from(u32::from_le_bytes(*word)));
            first | last << (bits - 32)
        }
        _ => rest.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)),
    }
}
