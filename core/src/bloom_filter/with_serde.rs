//! Serialization by the crate `serde`.

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, SerializeTuple, Serializer};

use super::BloomFilter;
use crate::error::{ChunkError, Error};

/// A header and the bits of all layers, as two byte strings.
impl Serialize for BloomFilter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bits: Vec<u8> = self.chunks().flatten().copied().collect();
        let mut parts = serializer.serialize_tuple(2)?;
        parts.serialize_element(&self.header())?;
        parts.serialize_element(&bits)?;
        parts.end()
    }
}

/// From bytes of any origin: takes at most as much memory as the bits that come with the
/// header. The filter has no memory limit.
impl<'de> Deserialize<'de> for BloomFilter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (header, bits) = <(Vec<u8>, Vec<u8>)>::deserialize(deserializer)?;
        from_whole(&header, &bits).map_err(D::Error::custom)
    }
}

fn from_whole(header: &[u8], bits: &[u8]) -> Result<BloomFilter, Error> {
    let present = bits.len() as u64;
    let mut permit = |demand: crate::Demand| demand.new_bytes == present;
    let mut filter = super::decode_header(header, &mut permit)?;
    let (mut offset, mut rest) = (0, bits);
    while let Some(len) = filter.chunk(offset).map(<[u8]>::len) {
        let (chunk, after) = rest.split_at_checked(len).ok_or(ChunkError::Offset(present))?;
        filter.write_chunk(offset, chunk)?;
        (offset, rest) = (offset + len as u64, after);
    }
    Ok(BloomFilter { filter, memory_limit: u64::MAX })
}
