//! The slots as bytes: in chunks, as CF.SCANDUMP and CF.LOADCHUNK number them, and table by table.
//!
//! Each table keeps its place in the bytes of the filter for life, behind all tables that came
//! before it. So a chunk never lands in another table than the one it is from.

use super::CuckooFilter;
use crate::chunk::MAX_CHUNK_BYTES;
use crate::error::{ChunkError, Error};
use crate::memory::words::overwrite;

impl CuckooFilter {
    /// The chunk of an iterator and the iterator of the next chunk; `None` past the end.
    ///
    /// Iterators start at 1. A chunk begins at byte `iterator - 1` of the bytes of the filter, or at
    /// the next table if none has it, and ends after 16 MiB or at the end of its table.
    pub fn scan_dump(&self, iterator: u64) -> Option<(u64, &[u8])> {
        let at = iterator.checked_sub(1)?;
        let table = self.tables.iter().find(|table| at < table.end())?;
        let from = at.saturating_sub(table.start);
        let rest = table.words.as_bytes().get(from as usize..)?;
        let chunk = rest.get(..MAX_CHUNK_BYTES).unwrap_or(rest);
        Some((table.start + from + chunk.len() as u64 + 1, chunk))
    }

    /// Writes a chunk that was dumped with this next iterator. Its last byte is byte `iterator - 2`
    /// of the bytes of the filter. Bits behind the last slot of a table are ignored.
    ///
    /// # Errors
    ///
    /// [`Error::Chunk`] if the chunk is empty, if no table has its first byte, or if it is longer
    /// than the rest of its table. Nothing is written then.
    pub fn load_chunk(&mut self, iterator: u64, data: &[u8]) -> Result<(), Error> {
        if data.is_empty() {
            return Err(ChunkError::Empty.into());
        }
        let outside = ChunkError::Offset(iterator);
        let end = iterator.checked_sub(1).ok_or(outside)?;
        let at = end.checked_sub(data.len() as u64).ok_or(outside)?;
        let table = self.tables.iter_mut().find(|table| at < table.end()).ok_or(outside)?;
        let from = at.checked_sub(table.start).ok_or(outside)? as usize;
        let target = table.words.as_mut_bytes().get_mut(from..from + data.len());
        overwrite(target.ok_or(ChunkError::TooLong(data.len() as u64))?, data);
        table.clear_padding();
        Ok(())
    }

    /// The bytes of each table, oldest first, with those behind its last slot.
    pub fn tables(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.tables.iter().map(|table| table.words.as_bytes())
    }

    /// Calls `load` with the bytes of each table to be written, oldest first, until it fails. Bits
    /// behind the last slot are cleared afterwards.
    ///
    /// # Errors
    ///
    /// Those of `load`.
    pub fn try_each_table_mut<E>(
        &mut self,
        mut load: impl FnMut(&mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.tables.iter_mut().try_for_each(|table| {
            let loaded = load(table.words.as_mut_bytes());
            table.clear_padding();
            loaded
        })
    }
}
