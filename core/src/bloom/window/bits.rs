//! The bits of a windowed filter, as bytes and as allocations.

use std::iter;
use std::ptr::NonNull;

use super::generation::Generation;
use crate::bloom::bloomline::LayerRef;
use crate::bloom::scalable::{relocate_layers, sample_of};
use crate::bloom::word::{RingMut, RingRef, WindowedFilter};
use crate::chunk::Bits;
use crate::math::estimate::Estimate;
use crate::memory::words::{Mover, WordsRef, bytes_of, relocate_slice};

/// Bytes are counted over the life of the filter: the first is where the bits of all dropped
/// generations end.
impl Bits for WindowedFilter {
    fn first_byte(&self) -> u64 {
        self.state().dropped_bytes
    }

    fn each_bits(&self) -> impl Iterator<Item = WordsRef<'_>> {
        self.layers().map(|layer| *layer.words())
    }

    fn each_bits_mut(&mut self) -> impl Iterator<Item = &mut [u8]> {
        let (small, large) = match self.ring_mut() {
            RingMut::Small(ring) => (Some(ring.parts_mut().1), None),
            RingMut::Large(ring) => (None, Some(ring)),
        };
        let small = small.into_iter().flatten();
        let large = large.into_iter().flat_map(|large| large.all_mut());
        let large = large.flat_map(Generation::layers_mut);
        let large = large.map(|layer| layer.words_mut().as_mut_bytes());
        small.map(bytes_of).chain(large)
    }
}

impl WindowedFilter {
    /// The layers, oldest first, and how many pages of each are counted; see
    /// [`samples`](crate::host::Filter::samples).
    pub fn samples(&self) -> impl Iterator<Item = (LayerRef<'_>, usize)> {
        let all = self.bits_bytes();
        self.layers().map(move |layer| (layer, sample_of(layer.bytes(), all)))
    }

    /// The number of distinct items in the generations that answer when the clock shows `now`; see
    /// [`AnyFilter::estimate_at`](crate::host::AnyFilter::estimate_at).
    pub fn estimate_at(&self, now: u64) -> Estimate {
        let all = self.bits_bytes();
        let mut sum = Estimate::default();
        for generation in self.answering(now) {
            let live = generation.live() as f64 / generation.len().max(1) as f64;
            for layer in generation.layers() {
                let estimate = layer.by_fill(sample_of(layer.bytes(), all));
                sum = sum + estimate.attempted.scaled(live);
            }
        }
        sum
    }

    /// Where the bits end, counted over the life of the filter.
    pub(crate) fn end(&self) -> u64 {
        self.state().dropped_bytes + self.bits_bytes()
    }

    /// The starts of the filter's allocations. Of a large ring the bits of each layer and the
    /// overflow layers' structures, then the table of the older generations if there is one, and
    /// the ring.
    pub fn allocations(&self) -> impl Iterator<Item = NonNull<u8>> {
        let large = match self.ring() {
            RingRef::Small(_) => None,
            RingRef::Large(ring) => Some(ring),
        };
        let of_large = large.into_iter().flat_map(|ring| {
            let table = (!ring.older.is_empty()).then_some(NonNull::from(&*ring.older).cast());
            ring.owned().flat_map(Generation::allocations).chain(table)
        });
        of_large.chain(iter::once(self.start()))
    }

    /// Lets `mover` move the filter's allocations, of a large ring all but its own; see
    /// [`relocate`](crate::host::Filter::relocate).
    pub fn relocate(
        &mut self,
        from: usize,
        mover: &mut Mover,
        should_stop: impl FnMut() -> bool,
    ) -> Option<usize> {
        match self.ring_mut() {
            RingMut::Small(ring) => {
                ring.headed_mut().relocate(mover);
                None
            }
            RingMut::Large(large) => {
                let layers = large.all_mut().flat_map(Generation::layers_mut);
                let next = relocate_layers(layers, from, mover, should_stop);
                if next.is_none() {
                    large.all_mut().for_each(|generation| generation.relocate_table(mover));
                    relocate_slice(&mut large.older, mover);
                }
                next
            }
        }
    }
}
