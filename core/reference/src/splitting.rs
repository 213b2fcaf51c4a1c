//! The false-positive rate of a full page under the real hash, by multilevel splitting over the
//! items.
//!
//! # The quantity
//!
//! A lookup and `n` items are independent, and each is a uniform 64-bit hash. The rate is the
//! probability that the items together set all `k` bits that the lookup tests. Only the lookup's
//! page matters, so there are `Binomial(n, 1 / pages)` items in it, each uniform over the hashes of
//! this page.
//!
//! # The method
//!
//! The lookup is drawn and then fixed. The bits that it tests are numbered 1 to `k`, and `A(i)` is
//! the event that the items set the first `i` of them. The events are nested, so
//!
//! ```text
//! rate = P(A(1)) * P(A(2) | A(1)) * ... * P(A(k) | A(k-1))
//! ```
//!
//! Every factor is a third to a half in a full layer, however small the rate is. They are estimated
//! by sequential Monte Carlo (Del Moral, Doucet, Jasra, *Sequential Monte Carlo Samplers*, 2006):
//!
//! 1. Draw `PARTICLES` independent sets of items.
//! 2. For each `i`, count the share of the sets that are in `A(i)`, and replace all sets by as many
//!    draws, with replacement, from those that are.
//! 3. Then move each set: redraw one item after the other, and keep the old item where the set
//!    would leave `A(i)`. This is a Metropolis step whose proposal is the unconditioned
//!    distribution, so it leaves the distribution given `A(i)` as it is.
//!
//! The product of the shares is an unbiased estimate of the rate for any number of particles and of
//! moves. (The sets of a run depend on each other, which only makes the variance larger.) So the
//! mean over independent runs, each with its own lookup, is unbiased, and the spread of the runs
//! gives the standard error.
//!
//! # What is assumed
//!
//! The items are independent, and the 64-bit hash is drawn uniformly instead of computed by XXH3.
//! Everything else is real: the pattern is derived from the block hash as in `item_hash`, and the
//! blocks, their patterns, and the bits of a pattern come from the library, by [`locate`] and
//! [`Backend::set`].

use bloomline_core::bloomline::geometry::Geometry;
use bloomline_core::bloomline::hash::ItemHash;
use bloomline_core::bloomline::locate::locate;
use bloomline_core::simd::{BLOCK_SECTORS, Backend, Block, Scalar};

use crate::random::{Interval, Random};

/// Sets of items in a run.
const PARTICLES: usize = 512;

/// The result of `item_hash` for this output of XXH3.
pub fn hash_of(block_hash: u64) -> ItemHash {
    let product = u128::from(block_hash) * 0x9e37_79b9_7f4a_7c15;
    ItemHash { place: block_hash, pattern: product as u64 ^ (product >> 64) as u64 }
}

/// The blocks of an item, as indexes in the layer, each with its pattern.
#[inline]
pub fn blocks_of(hash: ItemHash, geometry: &Geometry) -> impl Iterator<Item = (usize, u64)> {
    let spot = locate(&hash, geometry, geometry.blocks());
    [(spot.first, spot.hash.pattern)].into_iter().chain(spot.further(geometry))
}

/// The bits of a pattern in its block.
#[inline]
pub fn bits_of(pattern: u64, geometry: Geometry) -> [u64; BLOCK_SECTORS] {
    let mut block = Block::default();
    Scalar.set(&mut block, pattern, geometry.bits_per_block());
    block.0
}

/// A lookup, and the bits that it tests.
struct Lookup {
    geometry: Geometry,
    /// Index of the first block of the lookup's page.
    page: usize,
    /// The block hashes of this page.
    block_hashes: Interval,
    /// For each block of the page, which of the lookup's blocks it is, if any.
    role: [Option<u8>; 64],
    /// The bits tested in each of the lookup's blocks.
    tested: [[u64; BLOCK_SECTORS]; 4],
    /// One bit for each tested bit, in the order in which they are conditioned on.
    targets: Vec<u32>,
}

impl Lookup {
    fn draw(geometry: Geometry, random: &mut Random) -> Self {
        let hash = hash_of(random.next());
        let page_blocks = geometry.blocks_per_page() as usize;
        let mut blocks = blocks_of(hash, &geometry).peekable();
        let page = blocks.peek().expect("an item has blocks").0 / page_blocks;
        let block_hashes = Interval::scaled_to(page as u64, geometry.pages());
        let page = page * page_blocks;
        let (mut role, mut tested, mut targets) = ([None; 64], [[0; 8]; 4], Vec::new());
        for (index, (block, pattern)) in blocks.enumerate() {
            let bits = bits_of(pattern, geometry);
            role[block - page] = Some(index as u8);
            tested[index] = bits;
            let sectors = (0..8).filter(|&sector| bits[sector] != 0);
            targets.extend(sectors.map(|sector| 1 << (8 * index + sector)));
        }
        Self { geometry, page, block_hashes, role, tested, targets }
    }

    /// A random item of the page, as the set of tested bits that it sets: bit `8 j + w` for sector
    /// `w` of block `j`.
    #[inline]
    fn draw_item(&self, random: &mut Random) -> u32 {
        let block_hash = random.within(self.block_hashes);
        let mut hit = 0;
        for (block, pattern) in blocks_of(hash_of(block_hash), &self.geometry) {
            let Some(role) = self.role[block - self.page] else { continue };
            let (bits, tested) = (bits_of(pattern, self.geometry), &self.tested[usize::from(role)]);
            for (sector, (bits, tested)) in bits.iter().zip(tested).enumerate() {
                hit |= u32::from(bits & tested != 0) << (8 * role + sector as u8);
            }
        }
        hit
    }
}

/// The items of the lookup's page, and how many of them set each tested bit.
#[derive(Clone)]
struct Particle {
    items: Vec<u32>,
    counts: [u16; 32],
}

impl Particle {
    fn draw(lookup: &Lookup, items: u64, random: &mut Random) -> Self {
        let mut particle = Self { items: Vec::new(), counts: [0; 32] };
        for _ in 0..binomial(items, lookup.geometry.pages(), random) {
            let item = lookup.draw_item(random);
            particle.count(item, 1);
            particle.items.push(item);
        }
        particle
    }

    fn count(&mut self, item: u32, by: i16) {
        let mut rest = item;
        while rest != 0 {
            let count = &mut self.counts[rest.trailing_zeros() as usize];
            *count = count.wrapping_add_signed(by);
            rest &= rest - 1;
        }
    }

    fn has(&self, bits: u32) -> bool {
        let mut rest = bits;
        while rest != 0 {
            if self.counts[rest.trailing_zeros() as usize] == 0 {
                return false;
            }
            rest &= rest - 1;
        }
        true
    }

    /// Redraws every item once; one that would leave a `required` bit unset stays as it was.
    fn redraw(&mut self, lookup: &Lookup, required: u32, random: &mut Random) {
        for index in 0..self.items.len() {
            let (old, new) = (self.items[index], lookup.draw_item(random));
            self.count(old, -1);
            self.count(new, 1);
            if self.has(old & required) {
                self.items[index] = new;
            } else {
                self.count(new, -1);
                self.count(old, 1);
            }
        }
    }
}

/// The number of `items` items that lie in one given page of `pages`, drawn by inversion of the
/// distribution function.
fn binomial(items: u64, pages: u64, random: &mut Random) -> u64 {
    if pages == 1 {
        return items;
    }
    let (n, p) = (items as f64, 1.0 / pages as f64);
    // Split the items, so that the probability of no item does not underflow.
    if n * p > 500.0 {
        return binomial(items / 2, pages, random) + binomial(items - items / 2, pages, random);
    }
    let mut rest = random.unit();
    let mut mass = (n * (-p).ln_1p()).exp();
    let mut count = 0;
    while rest >= mass && count < items {
        rest -= mass;
        mass *= (n - count as f64) / (count as f64 + 1.0) * p / (1.0 - p);
        count += 1;
    }
    count
}

/// An unbiased estimate of the rate of a layer of this geometry with `items` random items.
pub fn split(geometry: Geometry, items: u64, random: &mut Random) -> f64 {
    let lookup = Lookup::draw(geometry, random);
    let draw = |_| Particle::draw(&lookup, items, random);
    let mut particles: Vec<Particle> = (0..PARTICLES).map(draw).collect();
    let (mut rate, mut required) = (1.0, 0);
    for &target in &lookup.targets {
        required |= target;
        let alive: Vec<usize> =
            (0..PARTICLES).filter(|&index| particles[index].has(target)).collect();
        rate *= alive.len() as f64 / PARTICLES as f64;
        if alive.is_empty() {
            return 0.0;
        }
        let pick = |_| particles[alive[random.below(alive.len() as u64) as usize]].clone();
        particles = (0..PARTICLES).map(pick).collect();
        if target != *lookup.targets.last().expect("an item tests bits") {
            for particle in &mut particles {
                particle.redraw(&lookup, required, random);
            }
        }
    }
    rate
}
