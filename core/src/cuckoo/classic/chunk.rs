//! The tables as bytes: in chunks, as CF.SCANDUMP and CF.LOADCHUNK number them, and table by table.

use super::ClassicCuckoo;
use crate::chunk::MAX_CHUNK_BYTES;
use crate::error::{ChunkError, CuckooError, Error, HeaderError};
use crate::memory::words::overwrite;

impl ClassicCuckoo {
    /// The chunk of an iterator and the iterator of the next chunk; `None` past the end.
    ///
    /// Iterators start at 1, and grow by the length of each chunk. A table of at most 16 MiB is one
    /// chunk, whatever byte of it the iterator points to. A longer one has chunks of at most 16 MiB,
    /// from the byte on that the iterator points to. So a dump that starts at 1 is whole.
    pub fn scan_dump(&self, iterator: u64) -> Option<(u64, &[u8])> {
        let mut at = iterator.checked_sub(1)?;
        for table in &self.tables {
            let bytes = table.as_bytes();
            let len = bytes.len() as u64;
            if at < len {
                let rest = bytes.get(at as usize..).unwrap_or_default();
                let chunk = match bytes.len() {
                    ..=MAX_CHUNK_BYTES => bytes,
                    _ => rest.get(..MAX_CHUNK_BYTES).unwrap_or(rest),
                };
                return Some((iterator.checked_add(chunk.len() as u64)?, chunk));
            }
            at -= len;
        }
        None
    }

    /// Writes a chunk that was dumped with this next iterator.
    ///
    /// Its last byte is byte `iterator - 2` of the concatenated tables, oldest first.
    ///
    /// # Errors
    ///
    /// [`Error::Chunk`] if the chunk is empty, if it would begin before the first byte or past the
    /// last, or if it is longer than the rest of its table. Nothing is written then.
    pub fn load_chunk(&mut self, iterator: u64, data: &[u8]) -> Result<(), Error> {
        if data.is_empty() {
            return Err(ChunkError::Empty.into());
        }
        let outside = ChunkError::Offset(iterator);
        let end = iterator.checked_sub(1).ok_or(outside)?;
        let mut at = end.checked_sub(data.len() as u64).ok_or(outside)?;
        for table in &mut self.tables {
            let len = table.len();
            if at < len {
                let end = at as usize + data.len();
                let target = table.as_mut_bytes().get_mut(at as usize..end);
                overwrite(target.ok_or(ChunkError::TooLong(data.len() as u64))?, data);
                return Ok(());
            }
            at -= len;
        }
        Err(outside.into())
    }

    /// Overwrites the slots of a table.
    ///
    /// # Errors
    ///
    /// [`Error::Header`] if there is no such table, or if it has not as many slots as there are
    /// bytes. Nothing is written then.
    pub fn load_table(&mut self, index: u32, bytes: &[u8]) -> Result<(), Error> {
        let tables = CuckooError::Tables(u64::from(index) + 1);
        let table = self.tables.get_mut(index as usize);
        let slots = table.ok_or(HeaderError::Cuckoo(tables))?.as_mut_bytes();
        if slots.len() != bytes.len() {
            return Err(HeaderError::Cuckoo(CuckooError::TableBytes(bytes.len() as u64)).into());
        }
        overwrite(slots, bytes);
        Ok(())
    }
}
