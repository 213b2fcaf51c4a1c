//! The bits of a filter that forgets, as bytes and as allocations.

use std::ptr::NonNull;

use super::filter::WindowedFilter;
use super::generation::Generation;
use crate::bloomline::BlockedLayer;
use crate::chunk::{Chunk, MAX_CHUNK_BYTES, chunks_of, write_chunk_of};
use crate::error::Error;
use crate::estimate::Estimate;
use crate::layer::Layer;
use crate::memory::words::{Mover, relocate_slice};
use crate::scalable::{relocate_layers, samples_of};

impl WindowedFilter {
    /// The layers, oldest first, and how many pages of each are counted; see
    /// [`samples`](crate::Filter::samples).
    pub fn samples(&self) -> impl Iterator<Item = (&BlockedLayer, usize)> {
        let all = self.layers().map(|layer| layer.words().bytes()).sum();
        samples_of(self.layers(), all)
    }

    /// The number of distinct items in all generations; see
    /// [`AnyFilter::estimate`](crate::AnyFilter::estimate).
    pub fn estimate(&self) -> Estimate {
        let all = self.layers().map(|layer| layer.words().bytes()).sum();
        let mut sum = Estimate::default();
        for generation in self.all() {
            let live = generation.live() as f64 / generation.len().max(1) as f64;
            for (layer, sample) in samples_of(generation.layers(), all) {
                let estimate = layer.by_fill(sample);
                sum = sum + estimate.attempted.scaled(live);
            }
        }
        sum
    }

    /// Where the bits end, counted over the life of the filter.
    pub(super) fn end(&self) -> u64 {
        self.dropped_bytes + self.layers().map(|layer| layer.words().bytes()).sum::<u64>()
    }

    /// Where the bits begin: bytes of the bits of all dropped generations.
    pub fn first_byte(&self) -> u64 {
        self.dropped_bytes
    }

    /// The bits from byte `from` on; see [`chunks`](crate::Filter::chunks). Bytes are counted over
    /// the life of the filter, so the first chunk begins at [`WindowedFilter::first_byte`] or
    /// later.
    pub fn chunks(&self, from: u64, max_bytes: usize) -> impl Iterator<Item = Chunk<'_>> {
        chunks_of(self.layers().map(Layer::words), self.dropped_bytes, from, max_bytes)
    }

    /// The bytes of the first of [`WindowedFilter::chunks`]; `None` past the end.
    pub fn chunk(&self, offset: u64) -> Option<&[u8]> {
        self.chunks(offset, MAX_CHUNK_BYTES).next().map(|chunk| chunk.bytes())
    }

    /// Overwrites the bits from byte `offset` on, counted over the life of the filter.
    ///
    /// # Errors
    ///
    /// See [`write_chunk`](crate::Filter::write_chunk).
    pub fn write_chunk(&mut self, offset: u64, chunk: &[u8]) -> Result<(), Error> {
        let first = self.dropped_bytes;
        write_chunk_of(self.layers_mut().map(Layer::words_mut), first, offset, chunk)
    }

    /// The starts of the filter's allocations: the bits of each layer, the overflow layers'
    /// structures, then the table of the older generations if there is one.
    pub fn allocations(&self) -> impl Iterator<Item = NonNull<u8>> {
        let table = (!self.older.is_empty()).then_some(NonNull::from(&*self.older).cast());
        self.all().flat_map(Generation::allocations).chain(table)
    }

    /// Lets `mover` move the filter's allocations; see [`relocate`](crate::Filter::relocate).
    pub fn relocate(
        &mut self,
        from: usize,
        mover: &mut Mover,
        should_stop: impl FnMut() -> bool,
    ) -> Option<usize> {
        let next = relocate_layers(self.layers_mut(), from, mover, should_stop);
        if next.is_some() {
            return next;
        }
        self.older.iter_mut().for_each(|generation| generation.relocate_table(mover));
        self.newest.relocate_table(mover);
        relocate_slice(&mut self.older, mover);
        None
    }
}
