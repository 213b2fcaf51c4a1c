//! Cuckoo filters compared with their reference model and with recordings of RedisBloom.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test panics when it fails"
)]

/// Checks every allocation when it is freed.
#[cfg(feature = "audit")]
#[global_allocator]
static ALLOCATOR: bloomline_core::host::ledger::Audited<std::alloc::System> =
    bloomline_core::host::ledger::Audited(std::alloc::System);

mod bounds;
mod deletes;
mod golden;
mod hostile;
mod limits;
mod lists;
mod loads;
mod rates;
mod recorded;
mod reference;
mod work;

use bloomline_core::Error;
use bloomline_core::cuckoo::redisbloom::{CuckooNumbers, RedisBloomCuckoo};
use bloomline_core::host::Demand;
use bloomline_core::host::cuckoo::{AnyCuckoo, Compaction, CuckooKind, CuckooOptions, CuckooSpec};

fn granted(_: Demand) -> bool {
    true
}

fn options(bucket_size: u8, max_iterations: u16, expansion: u16) -> CuckooOptions {
    CuckooOptions { bucket_size, max_iterations, expansion }
}

fn created(capacity: u64, options: CuckooOptions) -> AnyCuckoo {
    AnyCuckoo::redisbloom(capacity, options, &mut granted).expect("a filter")
}

/// A filter in RedisBloom's layout with these numbers.
fn with_numbers(
    numbers: &CuckooNumbers,
    permit: &mut dyn FnMut(Demand) -> bool,
) -> Result<AnyCuckoo, Error> {
    RedisBloomCuckoo::with_numbers(numbers, permit).map(AnyCuckoo::from)
}

fn classic(filter: &AnyCuckoo) -> &RedisBloomCuckoo {
    match filter.view() {
        CuckooKind::RedisBloom(filter) => filter,
        CuckooKind::Bloomline(_) => panic!("Bloomline's layout"),
    }
}

/// The layout of a filter, and what it is created with beside the capacity. Tests of what holds for
/// each layout run over a list of these.
#[derive(Clone, Copy, Debug)]
enum Layout {
    RedisBloom { bucket_size: u8, max_iterations: u16, expansion: u16 },
    Bloomline { error_rate: f64, is_fixed: bool },
}

impl Layout {
    /// Filters that grow, and filters that do not.
    const ALL: [Self; 6] = [
        Self::RedisBloom { bucket_size: 2, max_iterations: 20, expansion: 2 },
        Self::RedisBloom { bucket_size: 3, max_iterations: 500, expansion: 0 },
        Self::Bloomline { error_rate: 0.25, is_fixed: false },
        Self::Bloomline { error_rate: 0.01, is_fixed: false },
        Self::Bloomline { error_rate: 1e-5, is_fixed: false },
        Self::Bloomline { error_rate: 0.003, is_fixed: true },
    ];

    fn create(self, capacity: u64) -> AnyCuckoo {
        self.create_seeded(capacity, 7)
    }

    /// RedisBloom's layout has no seed.
    fn create_seeded(self, capacity: u64, seed: u64) -> AnyCuckoo {
        match self {
            Self::RedisBloom { bucket_size, max_iterations, expansion } => {
                created(capacity, options(bucket_size, max_iterations, expansion))
            }
            Self::Bloomline { error_rate, is_fixed } => {
                let options = options(2, 20, if is_fixed { 0 } else { 1 });
                let spec = CuckooSpec { capacity, error_rate, options };
                AnyCuckoo::bloomline(spec, seed, &mut granted).expect("a filter")
            }
        }
    }

    fn is_fixed(self) -> bool {
        match self {
            Self::RedisBloom { expansion, .. } => expansion == 0,
            Self::Bloomline { is_fixed, .. } => is_fixed,
        }
    }
}

/// Loads the chunks of another filter, as far as they fit.
fn load_from(filter: &mut AnyCuckoo, other: &AnyCuckoo) {
    let mut iterator = 1;
    while let Some((next, chunk)) = other.scan_dump(iterator) {
        let _ = filter.load_chunk(next, chunk);
        iterator = next;
    }
}

/// Writes other bytes to all slots.
fn overwrite(filter: &mut AnyCuckoo, mut byte: impl FnMut() -> u8) {
    let mut iterator = 1;
    while let Some((next, chunk)) = filter.scan_dump(iterator) {
        let forged: Vec<u8> = (0..chunk.len()).map(|_| byte()).collect();
        filter.load_chunk(next, &forged).expect("a whole table");
        iterator = next;
    }
}

/// The filter of the header and the chunks of another one.
fn reloaded(filter: &AnyCuckoo) -> AnyCuckoo {
    let mut copy = AnyCuckoo::decode_header(&filter.encode_header(), &mut granted).expect("valid");
    load_from(&mut copy, filter);
    assert!(copy == *filter, "{copy:?} is not {filter:?}");
    copy
}

/// Compacts, and checks what is said about it.
fn compact(filter: &mut AnyCuckoo) -> Compaction {
    let (size, before) = (filter.size_bytes(), bytes(filter));
    let compaction = filter.compact().expect("memory");
    assert_eq!(size.checked_sub(compaction.freed), Some(filter.size_bytes()));
    assert_eq!(compaction.is_changed, bytes(filter) != before);
    compaction
}

fn item(number: u64) -> [u8; 8] {
    number.to_le_bytes()
}

/// The bytes of each table. A table of at most 16 MiB is one chunk.
fn tables(filter: &AnyCuckoo) -> Vec<Vec<u8>> {
    let (mut tables, mut iterator) = (Vec::new(), 1);
    while let Some((next, chunk)) = filter.scan_dump(iterator) {
        tables.push(chunk.to_vec());
        iterator = next;
    }
    assert_eq!(tables.len() as u32, filter.table_count());
    tables
}

/// The header and all tables.
fn bytes(filter: &AnyCuckoo) -> (Vec<u8>, Vec<Vec<u8>>) {
    (filter.encode_header(), tables(filter))
}
