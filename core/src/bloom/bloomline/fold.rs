//! Folding: a layer with fewer items than it was sized for gets fewer pages.
//!
//! Pages are merged by OR, and lookups follow them to the merged page. So no inserted item is lost,
//! and the false-positive rate is that of the fuller pages. An item keeps its block within the
//! page, its stride and its patterns, which do not depend on the page.
//!
//! All pages are halved some times: page `p` becomes page `p >> halvings`. Then the last pages are
//! merged in pairs once more, and the others are not, so that a layer takes any number of pages and
//! not only a half or a quarter of them (as the buckets of linear hashing: Litwin, *Linear Hashing:
//! A New Tool for File and Table Addressing*, VLDB 1980).
//!
//! ```text
//! hashed    0 1  2 3  4 5  6 7  8 9 10      11 pages, 4 of them are left:
//! halved     0    1    2    3    4   5       once, to ceil(11 / 2) = 6
//! stored     0    1      2         3         the last two pairs are merged, 6 - 4 = 2
//! ```
//!
//! The first pair begins at an even page. If the number of halved pages is odd, the last one is a
//! pair of its own. The last pages are paired and not the first, so that the others keep their
//! place: a fold that only pairs reads and writes nothing else.
//!
//! The number of hashed pages and that of stored pages determine everything else.

use super::geometry::Geometry;
use super::rate::{inserted_share, rate_of_inserted, rate_on_pages};
use crate::math::estimate::{Estimate, Fill, LayerEstimate};

/// How the hashed pages of a layer share its stored pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fold {
    /// Pages that hashes are scaled to.
    hashed: u64,
    /// Pages in memory.
    stored: u64,
    /// How often all pages are halved.
    halvings: u32,
}

/// Consecutive stored pages that equally many hashed pages share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedPages {
    /// Stored pages.
    pub pages: u64,
    /// Hashed pages per stored page.
    pub sharing: u64,
}

impl Fold {
    /// The fold of `hashed` pages to `stored` pages, 1 to `hashed`.
    pub fn new(hashed: u64, stored: u64) -> Self {
        let mut halvings = 0;
        while hashed.div_ceil(2 << halvings) >= stored && hashed.div_ceil(1 << halvings) > 1 {
            halvings += 1;
        }
        Self { hashed, stored, halvings }
    }

    /// Pages in memory.
    pub fn stored(&self) -> u64 {
        self.stored
    }

    /// True if each hashed page has a stored page of its own.
    pub fn is_identity(&self) -> bool {
        self.hashed == self.stored
    }

    /// What the geometry of such a layer keeps of the fold.
    pub(crate) fn folds(&self) -> u8 {
        if self.is_identity() { 0 } else { self.halvings as u8 + 1 }
    }

    /// Pages after halving.
    fn halved(&self) -> u64 {
        self.hashed.div_ceil(1 << self.halvings)
    }

    /// The first of the halved pages that are paired, which is also its stored page. The ones
    /// before it are single.
    pub fn first_paired(&self) -> u64 {
        2 * (self.stored - self.halved().div_ceil(2))
    }

    /// Stored pages that begin at the place of the same halved page, whatever pages are merged into
    /// it when this fold becomes the fold `to`.
    pub(crate) fn kept_by(&self, to: &Self) -> u64 {
        if self.halvings == to.halvings { to.first_paired() } else { 0 }
    }

    pub fn stored_page(&self, page: u64) -> u64 {
        let (halved, first) = (page >> self.halvings, self.first_paired());
        if halved < first { halved } else { (halved + first) / 2 }
    }

    /// The false-positive rate of a layer with `items` inserted items, in [0, 1]. `geometry` is
    /// that of the hashed pages.
    pub fn fp_rate(&self, geometry: &Geometry, items: u64) -> f64 {
        match items {
            0 => 0.0,
            items => {
                rate_of_inserted(geometry.hashes(), items as f64, |n| self.rate_after(geometry, n))
            }
        }
    }

    /// The rate after the bits of `n` random items were set. A lookup has a page as often as an
    /// item has.
    fn rate_after(&self, geometry: &Geometry, n: f64) -> f64 {
        if n == 0.0 {
            return 0.0;
        }
        let hashed = self.hashed as f64;
        let shared_pages = self.shared_pages().into_iter().filter(|shared| shared.pages > 0);
        let rates = shared_pages.map(|SharedPages { pages, sharing }| {
            let share = (pages * sharing) as f64 / hashed;
            share * rate_on_pages(geometry, hashed / sharing as f64, n)
        });
        rates.sum()
    }

    /// The stored pages in the order of the memory: single ones, paired ones, and the last one if
    /// fewer hashed pages share it than share the others.
    pub(crate) fn shared_pages(&self) -> [SharedPages; 3] {
        let sharing = 1 << self.halvings;
        let last = self.hashed - self.hashed_page(self.stored - 1);
        let (mut singles, mut pairs, mut lasts) = (self.first_paired(), 0, 0);
        match self.stored - singles {
            0 if last < sharing => (singles, lasts) = (singles - 1, 1),
            0 => {}
            1 if last == sharing => singles += 1,
            all if last < 2 * sharing => (pairs, lasts) = (all - 1, 1),
            all => pairs = all,
        }
        [
            SharedPages { pages: singles, sharing },
            SharedPages { pages: pairs, sharing: 2 * sharing },
            SharedPages { pages: lasts, sharing: last },
        ]
    }

    /// The estimate for a layer by the fills of its [stored pages](Self::shared_pages).
    pub(crate) fn estimate(&self, geometry: &Geometry, fills: [Fill; 3]) -> LayerEstimate {
        let page_bits = geometry.page_bytes() * 8;
        let (mut attempted, mut new_bits) = (Estimate::default(), 0.0);
        for (fill, shared) in
            fills.into_iter().zip(self.shared_pages()).filter(|(_, it)| it.pages > 0)
        {
            let bits = (shared.pages * page_bits) as f64;
            attempted = attempted + fill.items(geometry.hashes(), bits);
            let share = (shared.pages * shared.sharing) as f64 / self.hashed as f64;
            new_bits += share * f64::from(geometry.hashes()) * (1.0 - fill.set);
        }
        let rate = self.rate_after(geometry, attempted.items);
        let share = inserted_share(geometry.hashes(), rate).clamp(0.0, 1.0);
        LayerEstimate { attempted, inserted: attempted.items * share, rate, new_bits }
    }

    /// The first hashed page of a stored page.
    pub fn hashed_page(&self, stored: u64) -> u64 {
        let halved = stored + stored.saturating_sub(self.first_paired());
        halved << self.halvings
    }

    /// The smallest fold of the same pages whose rate with `items` items is at most `error`; this
    /// one if there is none.
    pub(crate) fn smallest(self, geometry: &Geometry, items: u64, error: f64) -> Self {
        let with = |stored| Self::new(self.hashed, stored);
        let (mut too_small, mut fits) = (0, self.stored);
        while fits - too_small > 1 {
            let middle = too_small + (fits - too_small) / 2;
            if with(middle).fp_rate(geometry, items) <= error {
                fits = middle;
            } else {
                too_small = middle;
            }
        }
        with(fits)
    }

    /// The fold with the fewest pages, at least as many as this one, whose pages are all single.
    pub(crate) fn evened(self) -> Self {
        Self::new(self.hashed, self.halved())
    }

    /// The largest number of items, from `least` to `most`, with which the rate is at most `error`;
    /// `least` if there is none.
    pub(crate) fn items_at(&self, geometry: &Geometry, error: f64, least: u64, most: u64) -> u64 {
        let (mut fits, mut too_many) = (least, most + 1);
        while too_many.saturating_sub(fits) > 1 {
            let middle = fits + (too_many - fits) / 2;
            if self.fp_rate(geometry, middle) <= error {
                fits = middle;
            } else {
                too_many = middle;
            }
        }
        fits
    }
}
