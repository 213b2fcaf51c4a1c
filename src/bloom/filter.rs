//! The layered filter: what a key holds.

use std::iter;
use std::ptr::NonNull;

use super::error::{Error, HeaderError};
use super::hash::ItemHash;
use super::layer::Layer;
use super::layout::probe::Probe;
use super::spec::{Demand, Permit, Shape, Spec};
use super::words::{Mover, relocate_slice};

/// A series of layers, of which only the newest one takes items.
///
/// Older layers are full. All share one hash an item, since they hold different items.
pub struct Filter {
    spec: Spec,
    seed: u64,
    /// Sum of the computed rates of the older layers: the part of the error rate that is spent.
    spent: f64,
    newest_len: u64,
    newest: Layer,
    /// Oldest first.
    older: Box<[Layer]>,
}

// A default filter must cost no more than RedisBloom's; 96 bytes are a size class of the servers' allocator.
const _: () = assert!(size_of::<Filter>() == 96);

impl Filter {
    /// An empty filter whose items are hashed with `seed`.
    ///
    /// # Errors
    ///
    /// A number of `spec` out of range ([`Error::Capacity`], [`Error::ErrorRate`], [`Error::Expansion`],
    /// [`Error::ErrorRateTooSmall`]), [`Error::Refused`] by `permit`, [`Error::OutOfMemory`].
    pub fn new(spec: Spec, seed: u64, permit: Permit) -> Result<Self, Error> {
        let shape = spec.first()?;
        ask(permit, shape.geometry.bytes(), 0, 1)?;
        Ok(Self { spec, seed, spent: 0.0, newest_len: 0, newest: Layer::new(&shape)?, older: Box::default() })
    }

    /// An empty filter of `layers` layers, all but the newest counted as full, and that one with `newest_len` items.
    ///
    /// # Errors
    ///
    /// Those of [`Filter::new`]; [`HeaderError::Layers`] or [`HeaderError::Len`] where a filter of this `spec` can't have so many.
    /// No bits are allocated before all layers together have been put before `permit`.
    pub fn with_layers(
        spec: Spec,
        seed: u64,
        layers: u32,
        newest_len: u64,
        permit: Permit,
    ) -> Result<Self, Error> {
        let bad_count = |_| Error::from(HeaderError::Layers(layers));
        let mut last = spec.first()?;
        let mut bits = last.geometry.bytes();
        let mut older_shapes = Vec::new();
        for _ in 0..layers.checked_sub(1).ok_or(HeaderError::Layers(layers))? {
            let next = spec.next(&last).map_err(bad_count)?;
            bits = bits.saturating_add(next.geometry.bytes());
            try_push(&mut older_shapes, std::mem::replace(&mut last, next))?;
        }
        if newest_len > last.capacity {
            return Err(HeaderError::Len(newest_len).into());
        }
        ask(permit, bits, 0, layers)?;
        let mut older = Vec::new();
        older.try_reserve_exact(older_shapes.len()).map_err(|_| Error::OutOfMemory(bits))?;
        for shape in &older_shapes {
            older.push(Layer::new(shape)?);
        }
        let newest = Layer::new(&last)?;
        Ok(Self { spec, seed, spent: last.spent, newest_len, newest, older: older.into_boxed_slice() })
    }

    /// A filter equal to this one.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`].
    pub fn try_clone(&self) -> Result<Self, Error> {
        let mut older = Vec::new();
        older.try_reserve_exact(self.older.len()).map_err(|_| Error::OutOfMemory(self.size_bytes()))?;
        for layer in &self.older {
            older.push(layer.try_clone()?);
        }
        Ok(Self { newest: self.newest.try_clone()?, older: older.into_boxed_slice(), ..*self })
    }

    /// The blocks of memory the filter owns: the bits of each layer, and the table of the older layers.
    pub fn blocks(&self) -> impl Iterator<Item = NonNull<u8>> {
        let table = (!self.older.is_empty()).then_some(NonNull::from(&*self.older).cast());
        self.layers().map(|layer| layer.words().block()).chain(table)
    }

    /// Lets blocks be moved to better places, the bits of layers from index `from` on, oldest first, then the table.
    ///
    /// `should_stop` is asked before each layer; returns the layer to go on with, or none when all is done.
    pub fn relocate(
        &mut self,
        from: usize,
        mover: &mut Mover,
        mut should_stop: impl FnMut() -> bool,
    ) -> Option<usize> {
        for (index, layer) in self.layers_mut().enumerate().skip(from) {
            if should_stop() {
                return Some(index);
            }
            layer.words_mut().relocate(mover);
        }
        relocate_slice(&mut self.older, mover);
        None
    }

    /// What the filter was asked to be.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Seed of the hash.
    #[inline]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Items counted as added. Cost: one step a layer.
    pub fn len(&self) -> u64 {
        self.older.iter().map(Layer::capacity).fold(self.newest_len, u64::saturating_add)
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Items the newest layer holds.
    #[inline]
    pub fn newest_len(&self) -> u64 {
        self.newest_len
    }

    /// Items that all layers are sized for. Cost: one step a layer.
    pub fn capacity(&self) -> u64 {
        self.layers().map(Layer::capacity).fold(0, u64::saturating_add)
    }

    /// Items that can be added before the newest layer is full.
    #[inline]
    pub fn room(&self) -> u64 {
        self.newest.capacity() - self.newest_len
    }

    /// Number of layers, 1 to [`MAX_LAYERS`](super::spec::MAX_LAYERS).
    pub fn layer_count(&self) -> u32 {
        self.older.len() as u32 + 1
    }

    /// The layers, oldest first.
    pub fn layers(&self) -> impl DoubleEndedIterator<Item = &Layer> {
        self.older.iter().chain(iter::once(&self.newest))
    }

    /// The layers, oldest first, to be written.
    pub fn layers_mut(&mut self) -> impl Iterator<Item = &mut Layer> {
        self.older.iter_mut().chain(iter::once(&mut self.newest))
    }

    /// Bytes of header, table of layers and bits: arithmetic on the geometry, equal on every server.
    pub fn size_bytes(&self) -> u64 {
        size_bytes(self.bits_bytes(), self.layer_count())
    }

    fn bits_bytes(&self) -> u64 {
        self.layers().map(|layer| layer.geometry().bytes()).sum()
    }

    /// Error rate each layer was sized for, oldest first. Cost: up to a microsecond a layer.
    pub fn layer_errors(&self) -> impl Iterator<Item = f64> {
        self.layers().zip(0..).scan(0.0, |spent, (layer, index)| {
            let error = self.spec.layer_error(index, *spent);
            *spent += layer.fp_rate(layer.capacity());
            Some(error)
        })
    }

    /// Computed probability that an absent item is reported as present: at most the rate asked for.
    pub fn fp_rate(&self) -> f64 {
        self.spent + self.newest.fp_rate(self.newest_len)
    }

    /// Looks in the newest layer first: it is the largest, and the items of today are in it.
    #[inline(always)]
    pub(super) fn contains_hash<P: Probe>(&self, probe: P, hash: &ItemHash, pattern: P::Pattern) -> bool {
        if self.newest.contains(probe, hash, pattern) {
            return true;
        }
        for layer in self.older.iter().rev() {
            if layer.contains(probe, hash, pattern) {
                return true;
            }
        }
        false
    }

    /// Adds a hashed item.
    #[inline(always)]
    pub(super) fn insert_hash<P: Probe>(
        &mut self,
        probe: P,
        hash: &ItemHash,
        permit: Permit,
    ) -> Result<bool, Error> {
        if self.newest.is_fresh(self.newest_len) {
            self.newest.claim(hash);
        }
        let pattern = probe.prepare(hash.pattern);
        if self.contains_hash(probe, hash, pattern) {
            return Ok(false);
        }
        if self.room() == 0 {
            self.grow(permit)?;
        }
        self.newest.insert(probe, hash, pattern);
        self.newest_len += 1;
        Ok(true)
    }

    /// Adds a layer, if the filter's kind of growth has one.
    #[cold]
    fn grow(&mut self, permit: Permit) -> Result<(), Error> {
        let index = self.layer_count() - 1;
        let (capacity, spent) = (self.newest.capacity(), self.spent);
        let last = Shape { index, capacity, spent, geometry: *self.newest.geometry() };
        let shape = self.spec.next(&last)?;
        ask(permit, shape.geometry.bytes(), self.bits_bytes(), shape.index + 1)?;
        let layer = Layer::new(&shape)?;

        let mut older = std::mem::take(&mut self.older).into_vec();
        let room = older.try_reserve_exact(1);
        if room.is_ok() {
            older.push(std::mem::replace(&mut self.newest, layer));
            self.newest_len = 0;
            self.spent = shape.spent;
        }
        self.older = older.into_boxed_slice();
        room.map_err(|_| Error::OutOfMemory(size_of_val(&*self.older) as u64))
    }
}

/// Bytes of a filter of so many layers, at least one, with bits of so many bytes.
pub fn size_bytes(bits_bytes: u64, layers: u32) -> u64 {
    let table = u64::from(layers - 1) * size_of::<Layer>() as u64;
    bits_bytes.saturating_add(size_of::<Filter>() as u64 + table)
}

/// Puts new bits of `added` bytes, beside those of `present` bytes, before the caller's limit.
fn ask(permit: Permit, added: u64, present: u64, layers: u32) -> Result<(), Error> {
    let filter_bytes = size_bytes(present.saturating_add(added), layers);
    let granted = permit(Demand { layer_bytes: added, filter_bytes });
    if granted { Ok(()) } else { Err(Error::Refused(filter_bytes)) }
}

fn try_push<T>(list: &mut Vec<T>, value: T) -> Result<(), Error> {
    list.try_reserve(1).map_err(|_| Error::OutOfMemory(size_of_val(&**list) as u64))?;
    list.push(value);
    Ok(())
}
