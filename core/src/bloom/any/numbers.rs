//! The numbers of each layer of a filter, for people.

use std::iter;

use super::{AnyFilter, AnyRef};
use crate::bloom::bloomline::LayerRef;
use crate::bloom::redisbloom::RedisBloomLayer;
use crate::bloom::valkey::ValkeyLayer;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerNumbers {
    /// Bits in memory.
    pub bits: u64,
    /// Bits per item.
    pub hashes: u32,
    /// Bits of an item's hash, from which all others follow.
    pub hash_bits: u32,
    /// Items that the layer is sized for.
    pub capacity: u64,
    /// Items in the layer.
    pub len: u64,
    /// The target rate.
    pub error_rate: f64,
    /// The number of the layer's generation, and when it was opened, in milliseconds.
    pub generation: Option<(u64, u64)>,
}

impl LayerNumbers {
    fn of_bloomline(layer: LayerRef, len: u64, error_rate: f64) -> Self {
        Self {
            bits: layer.bytes() * 8,
            hashes: layer.geometry().hashes(),
            hash_bits: u64::BITS,
            capacity: layer.capacity(),
            len,
            error_rate,
            generation: None,
        }
    }

    fn of_redisbloom(layer: &RedisBloomLayer, len: u64, hash_bits: u32) -> Self {
        let shape = layer.shape();
        Self {
            bits: shape.bits,
            hashes: shape.hashes,
            hash_bits,
            capacity: shape.capacity,
            len,
            error_rate: shape.error,
            generation: None,
        }
    }

    fn of_valkey(layer: &ValkeyLayer, len: u64, error_rate: f64) -> Self {
        let shape = layer.shape();
        Self {
            bits: 8 * shape.bytes,
            hashes: shape.hashes,
            hash_bits: 128,
            capacity: shape.capacity,
            len,
            error_rate,
            generation: None,
        }
    }
}

impl AnyFilter {
    /// The numbers of each layer, oldest first.
    pub fn layer_numbers(&self) -> Vec<LayerNumbers> {
        match self.view() {
            AnyRef::Bloomline(filter) => {
                let layers = filter.layers_with_len().zip(filter.layer_errors());
                layers
                    .map(|((layer, len), error)| {
                        LayerNumbers::of_bloomline(layer.view(), len, error)
                    })
                    .collect()
            }
            AnyRef::Small(filter) => {
                let error = filter.layer_error();
                let len = filter.len();
                vec![filter.with_layer(|layer| LayerNumbers::of_bloomline(layer, len, error))]
            }
            AnyRef::Windowed(filter) => {
                let mut numbers = Vec::new();
                for (number, generation) in filter.generations() {
                    let errors = iter::once(filter.spec().regular().error_rate);
                    let layers = generation.layers_with_len();
                    let layers = layers.zip(errors.chain(generation.overflow_errors()));
                    let generation = Some((number, generation.opened()));
                    numbers.extend(layers.map(|((layer, len), error)| LayerNumbers {
                        generation,
                        ..LayerNumbers::of_bloomline(layer, len, error)
                    }));
                }
                numbers
            }
            AnyRef::RedisBloom(filter) => {
                let hash_bits = if filter.params().options.is_64_bit() { 64 } else { 32 };
                let layers = filter.layers_with_len();
                layers
                    .map(|(layer, len)| LayerNumbers::of_redisbloom(layer, len, hash_bits))
                    .collect()
            }
            AnyRef::ValkeyBloom(filter) => {
                let layers = filter.layers_with_len().zip(filter.layer_errors());
                layers
                    .map(|((layer, len), error)| LayerNumbers::of_valkey(layer, len, error))
                    .collect()
            }
        }
    }
}
