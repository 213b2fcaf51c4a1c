//! A filter of RedisBloom's layout in an RDB file, as RedisBloom writes it.
//!
//! ```text
//! unsigned items, links, options, growth
//! and for each link, oldest first:
//! unsigned capacity, double error, unsigned hashes, double bits_per_item, unsigned bits, unsigned log2_bits,
//! string the bits, unsigned items
//! ```
//!
//! Version 4. Versions 3 and 2 have no growth, 1 no options either, 0 neither bits nor log2_bits.

use std::ffi::c_int;

use super::rdb::{LoadError, OWN_LAYOUT, Sink, Stream};
use bloomline_core::layer::Layer;
use bloomline_core::redisbloom::Common;
use bloomline_core::redisbloom::geometry::{Options, Shape};
use bloomline_core::redisbloom::{ClassicFilter, ClassicLayer};
use bloomline_core::{Demand, Layout, MAX_LAYERS};

/// Growth of filters that are older than the field.
const OLD_GROWTH: u64 = 2;

/// The number of items as it is saved: only forged links hold so many that it would stand for our
/// own layout.
fn told(items: u64) -> u64 {
    items.min(OWN_LAYOUT - 1)
}

impl Sink {
    pub(super) fn chain(&self, chain: &ClassicFilter) {
        let common = chain.common();
        self.unsigned(told(chain.len()));
        self.unsigned(chain.layer_count().into());
        self.unsigned(common.options.bits().into());
        self.unsigned(common.expansion.into());
        for (link, len) in chain.layers_with_len() {
            let shape = link.shape();
            self.unsigned(shape.capacity);
            self.number(shape.error);
            self.unsigned(shape.hashes.into());
            self.number(shape.bits_per_item);
            self.unsigned(shape.bits);
            self.unsigned(shape.log2_bits.into());
            self.string(link.as_bytes());
            self.unsigned(len);
        }
    }
}

impl Stream {
    /// The rest of a chain, whose number of items has been read.
    pub(super) fn chain(&mut self, encver: c_int, items: u64) -> Result<ClassicFilter, LoadError> {
        let count = self.unsigned()?;
        if !(1..=u64::from(MAX_LAYERS)).contains(&count) {
            return Err(format!("{count} links").into());
        }
        let options = if encver >= 2 { self.unsigned()? as u32 } else { 0 };
        let options = self.known(Options::from_bits(options));
        let expansion = if encver >= 4 { self.unsigned()? } else { OLD_GROWTH } as u32;
        let mut links = Vec::new();
        let (mut total, mut bits_bytes) = (0u64, 0u64);
        for index in 0..count {
            let link = self
                .link(encver, index as u32, bits_bytes)?
                .ok_or_else(|| format!("link {index}: numbers that contradict each other"))?;
            bits_bytes = bits_bytes.saturating_add(link.words().bytes());
            // A file is loaded even if its links hold more items than can be counted.
            total = total.saturating_add(link.shape().len);
            links.push(link);
        }
        if told(total) != items {
            self.log(&format!("repaired: {total} items in the links, {items} in the sum"));
        }
        let chain = ClassicFilter::from_links(Common { options, expansion }, links);
        chain.ok_or_else(|| LoadError::Bytes("no link".into()))
    }

    /// ClassicLayer number `index`, whose older ones have bits of `present` bytes; none if its numbers
    /// contradict each other.
    fn link(
        &mut self,
        encver: c_int,
        index: u32,
        present: u64,
    ) -> Result<Option<ClassicLayer>, LoadError> {
        let capacity = self.unsigned()?;
        let error = self.number()?;
        let hashes = self.unsigned()? as u32;
        let bits_per_item = self.number()?;
        let (bits, log2_bits) = match encver {
            0 => ((capacity as f64 * bits_per_item) as u64, 0),
            _ => (self.unsigned()?, self.unsigned()? as u8),
        };
        let layer = bits / 8;
        self.may_load(Demand {
            new_bytes: layer,
            largest_layer: layer,
            filter_bytes: ClassicLayer::size_bytes(present.saturating_add(layer), index + 1),
            layout: Layout::RedisBloom,
        })?;
        let words = self.string()?.into_words();
        let len = self.unsigned()?;
        let shape = Shape { capacity, error, bits_per_item, hashes, bits, log2_bits, len };
        Ok(words
            .filter(|_| shape.is_sound())
            .and_then(|words| ClassicLayer::with_words(shape, words)))
    }

    /// Drops options that mean nothing, which a header may not have.
    fn known(&mut self, options: Options) -> Options {
        if !options.are_known() {
            self.log(&format!(
                "repaired: options {:#x} without a meaning are dropped",
                options.unknown_bits()
            ));
        }
        options.without_unknown_bits()
    }
}
