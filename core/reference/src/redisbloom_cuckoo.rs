//! The reference model of cuckoo filters in RedisBloom's layout: slow and simple, written from the
//! description of the layout.

/// The largest number of tables.
const MAX_TABLES: usize = 65_535;

/// A filter.
#[derive(Clone)]
pub struct Model {
    pub bucket_size: usize,
    pub max_iterations: usize,
    pub expansion: u64,
    pub items: u64,
    pub deletes: u64,
    /// The bytes of each table, oldest first.
    pub tables: Vec<Vec<u8>>,
    /// Iterations of the searches of the same call that failed, of items that were refused.
    pub failed_iterations: usize,
    /// Why all further items of the same call are refused.
    pub end: Option<Refusal>,
}

/// MurmurHash64A (Austin Appleby) with the seed 0.
fn murmur_64(item: &[u8]) -> u64 {
    let m = 0xc6a4_a793_5bd1_e995u64;
    let mut hash = (item.len() as u64).wrapping_mul(m);
    for part in item.chunks(8) {
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        let mut k = u64::from_le_bytes(word);
        if part.len() == 8 {
            k = k.wrapping_mul(m);
            k = (k ^ (k >> 47)).wrapping_mul(m);
        }
        hash = (hash ^ k).wrapping_mul(m);
    }
    hash = (hash ^ (hash >> 47)).wrapping_mul(m);
    hash ^ (hash >> 47)
}

/// Why an item was not inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    Full,
    CannotGrow,
}

impl Model {
    /// An empty filter.
    pub fn new(capacity: u64, bucket_size: u8, max_iterations: u16, expansion: u16) -> Self {
        let bucket_size = usize::from(bucket_size);
        let mut buckets = 1;
        while buckets < capacity as usize / bucket_size {
            buckets *= 2;
        }
        Self {
            bucket_size,
            max_iterations: max_iterations.into(),
            expansion: expansion.into(),
            items: 0,
            deletes: 0,
            tables: vec![vec![0; buckets * bucket_size]],
            failed_iterations: 0,
            end: None,
        }
    }

    fn fingerprint(hash: u64) -> u8 {
        (hash % 255 + 1) as u8
    }

    fn other(hash: u64, fingerprint: u8) -> u64 {
        hash ^ u64::from(fingerprint).wrapping_mul(0x5bd1_e995)
    }

    fn buckets(&self, table: usize) -> u64 {
        (self.tables[table].len() / self.bucket_size) as u64
    }

    /// The index of a slot in a table.
    fn at(&self, table: usize, hash: u64, slot: usize) -> usize {
        (hash % self.buckets(table)) as usize * self.bucket_size + slot
    }

    /// The first slot with a fingerprint in a bucket.
    fn find(&self, table: usize, hash: u64, wanted: u8) -> Option<usize> {
        (0..self.bucket_size)
            .map(|slot| self.at(table, hash, slot))
            .find(|&at| self.tables[table][at] == wanted)
    }

    fn find_in_both(&self, table: usize, hash: u64, fingerprint: u8, wanted: u8) -> Option<usize> {
        let first = self.find(table, hash, wanted);
        first.or_else(|| self.find(table, Self::other(hash, fingerprint), wanted))
    }

    pub fn contains(&self, item: &[u8]) -> bool {
        let hash = murmur_64(item);
        let fingerprint = Self::fingerprint(hash);
        (0..self.tables.len())
            .any(|table| self.find_in_both(table, hash, fingerprint, fingerprint).is_some())
    }

    pub fn count(&self, item: &[u8]) -> u64 {
        let hash = murmur_64(item);
        let fingerprint = Self::fingerprint(hash);
        let mut count = 0;
        for table in 0..self.tables.len() {
            for bucket in [hash, Self::other(hash, fingerprint)] {
                for slot in 0..self.bucket_size {
                    count +=
                        u64::from(self.tables[table][self.at(table, bucket, slot)] == fingerprint);
                }
            }
        }
        count
    }

    /// Inserts an item. `may_grow` gets the bytes of a new table.
    pub fn insert(
        &mut self,
        item: &[u8],
        may_grow: impl FnMut(u64) -> bool,
    ) -> Result<(), Refusal> {
        (self.failed_iterations, self.end) = (0, None);
        self.insert_further(item, may_grow)
    }

    /// The same with a further item of the call.
    pub fn insert_further(
        &mut self,
        item: &[u8],
        may_grow: impl FnMut(u64) -> bool,
    ) -> Result<(), Refusal> {
        let result = self.store(item, may_grow);
        if result.is_err() {
            self.failed_iterations += self.max_iterations;
        }
        if self.tables.len() >= 128 {
            self.end = self.end.or(result.err());
        }
        result
    }

    fn store(&mut self, item: &[u8], mut may_grow: impl FnMut(u64) -> bool) -> Result<(), Refusal> {
        if let Some(refusal) = self.end {
            return Err(refusal);
        }
        let hash = murmur_64(item);
        let fingerprint = Self::fingerprint(hash);
        loop {
            for table in (0..self.tables.len()).rev() {
                if let Some(at) = self.find_in_both(table, hash, fingerprint, 0) {
                    self.tables[table][at] = fingerprint;
                    self.stored();
                    return Ok(());
                }
            }
            // Further items of a call only get empty slots after many iterations.
            if self.failed_iterations < 1 << 16 {
                let before = self.tables.last().unwrap().clone();
                if self.kick(hash, fingerprint) {
                    self.stored();
                    return Ok(());
                }
                *self.tables.last_mut().unwrap() = before;
            }
            if self.expansion == 0 {
                return Err(Refusal::Full);
            }
            let buckets = u128::from(self.buckets(0))
                * u128::from(self.expansion).pow(self.tables.len() as u32);
            let bytes = buckets * self.bucket_size as u128;
            if self.tables.len() >= MAX_TABLES || buckets >= 1 << 56 || !may_grow(bytes as u64) {
                return Err(Refusal::CannotGrow);
            }
            self.tables.push(vec![0; bytes as usize]);
        }
    }

    /// Counts an item. The number of items never exceeds that of the slots: only a header from
    /// elsewhere makes a difference there.
    fn stored(&mut self) {
        let slots: usize = self.tables.iter().map(Vec::len).sum();
        self.items = (self.items + 1).min(slots as u64);
    }

    fn kick(&mut self, hash: u64, mut fingerprint: u8) -> bool {
        let newest = self.tables.len() - 1;
        let (mut bucket, mut victim) = (hash, 0);
        for _ in 0..self.max_iterations {
            let at = self.at(newest, bucket, victim);
            std::mem::swap(&mut self.tables[newest][at], &mut fingerprint);
            bucket = Self::other(bucket, fingerprint);
            if let Some(at) = self.find(newest, bucket, 0) {
                self.tables[newest][at] = fingerprint;
                return true;
            }
            victim = (victim + 1) % self.bucket_size;
        }
        false
    }

    pub fn remove(&mut self, item: &[u8]) -> bool {
        let hash = murmur_64(item);
        let fingerprint = Self::fingerprint(hash);
        for table in (0..self.tables.len()).rev() {
            if let Some(at) = self.find_in_both(table, hash, fingerprint, fingerprint) {
                self.tables[table][at] = 0;
                self.items = self.items.saturating_sub(1);
                self.deletes = self.deletes.saturating_add(1);
                if self.tables.len() > 1 && self.has_many_deletes() {
                    self.count_items();
                    if self.has_many_deletes() {
                        self.compact(false);
                    }
                }
                return true;
            }
        }
        false
    }

    fn has_many_deletes(&self) -> bool {
        self.deletes as f64 > 0.10 * self.items as f64
    }

    /// Corrects a number of items that is too small, if there are 64 slots per deletion.
    fn count_items(&mut self) {
        let slots: usize = self.tables.iter().map(Vec::len).sum();
        if slots as u64 / self.deletes >= 64 {
            let occupied = self.tables.iter().flatten().filter(|slot| **slot != 0).count();
            self.items = self.items.max(occupied as u64);
        }
    }

    /// Moves fingerprints to older tables. `goes_on` past a table that cannot be emptied.
    pub fn compact(&mut self, goes_on: bool) {
        for from in (1..self.tables.len()).rev() {
            let mut is_empty = true;
            for at in 0..self.tables[from].len() {
                let fingerprint = self.tables[from][at];
                if fingerprint == 0 {
                    continue;
                }
                let bucket = (at / self.bucket_size) as u64;
                let target = (0..from)
                    .find_map(|to| Some((to, self.find_in_both(to, bucket, fingerprint, 0)?)));
                match target {
                    Some((to, slot)) => {
                        self.tables[to][slot] = fingerprint;
                        self.tables[from][at] = 0;
                    }
                    None => is_empty = false,
                }
            }
            if is_empty && from == self.tables.len() - 1 {
                self.tables.pop();
            }
            if !is_empty && !goes_on {
                break;
            }
        }
        self.deletes = 0;
        let slots: usize = self.tables.iter().map(Vec::len).sum();
        self.items = self.items.min(slots as u64);
    }

    /// The 38 bytes of the header.
    pub fn header(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for number in [self.items, self.buckets(0), self.deletes, self.tables.len() as u64] {
            bytes.extend(number.to_le_bytes());
        }
        for number in [self.bucket_size as u64, self.max_iterations as u64, self.expansion] {
            bytes.extend((number as u16).to_le_bytes());
        }
        bytes
    }

    /// The size that CF.INFO reports.
    pub fn size(&self) -> u64 {
        self.tables.iter().map(|table| 16 + table.len() as u64).sum::<u64>() + 40
    }
}
