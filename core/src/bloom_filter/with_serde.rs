//! Serialization by the crate `serde`.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, SeqAccess, Visitor};
use serde::ser::{Error as _, Serialize, Serializer};

use super::{BloomFilter, bytes};
use crate::error::Error;
use crate::memory::lists::try_push;

/// The bytes of [`BloomFilter::write_to`], which `serde` takes in one piece: a copy of the filter.
impl Serialize for BloomFilter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (mut bytes, len) = (Vec::new(), self.serialized_len());
        let no_memory = |_| S::Error::custom(Error::OutOfMemory(len));
        bytes.try_reserve_exact(usize::try_from(len).unwrap_or(usize::MAX)).map_err(no_memory)?;
        self.write_to(&mut bytes).map_err(S::Error::custom)?;
        serializer.serialize_bytes(&bytes)
    }
}

/// From bytes of any origin: takes at most as much memory for bits as there are bytes. The filter
/// has no memory limit.
impl<'de> Deserialize<'de> for BloomFilter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_byte_buf(Bytes)
    }
}

struct Bytes;

impl<'de> Visitor<'de> for Bytes {
    type Value = BloomFilter;

    fn expecting(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.write_str("the bytes of a Bloom filter")
    }

    fn visit_bytes<E: serde::de::Error>(self, input: &[u8]) -> Result<BloomFilter, E> {
        let present = input.len() as u64;
        let filter = bytes::read(input, present, &mut |demand| demand.new_bytes <= present);
        let filter = filter.map_err(E::custom)?;
        Ok(BloomFilter { filter, memory_limit: u64::MAX })
    }

    /// Formats without byte strings, such as JSON, have a list of numbers.
    fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<BloomFilter, A::Error> {
        let mut input = Vec::new();
        while let Some(byte) = numbers.next_element()? {
            try_push(&mut input, byte).map_err(A::Error::custom)?;
        }
        self.visit_bytes(&input)
    }
}
