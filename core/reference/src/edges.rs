//! Forged filters at the edges of what is valid, each as every encoding of its layout.

use bloomline_core::bloom::bloomline::sizing::REVISION;
use bloomline_core::bloom::redisbloom::geometry::RedisBloomShape;
use bloomline_core::cuckoo::redisbloom::CuckooNumbers;
use bloomline_core::host::cuckoo::{AnyCuckoo, CuckooKind, CuckooOptions, CuckooSpec};
use bloomline_core::host::{AnyFilter, Demand};

use crate::checks::header::{Classic, Generation, Header, Link, Plain, Record, Windowed};
use crate::cuckoo_header;
use crate::payload::Field;
use crate::valkey::{FIXED_SEED, bytes, hashes, layer_rate};

/// The most bytes of a filter for whose tests this table is made. Some filters are above it by one
/// byte, and some far.
pub const LIMIT: u64 = 1 << 20;

/// Bytes of a string of bits in an RDB value of this project's layout.
const STRING: u64 = 2 << 20;

/// The most bytes of bits that are written; what claims more is refused.
const MOST_BITS: u64 = 2 * LIMIT;

/// The numbers of a filter, which may be any, without its bits, which are zeros.
#[derive(Clone, Debug)]
pub enum Forged {
    /// A Bloom filter in this project's layout, windowed or not: its header.
    Bloomline(Vec<u8>),
    /// A Bloom filter in RedisBloom's layout.
    RedisBloom(Classic),
    /// A Bloom filter in valkey-bloom's layout.
    ValkeyBloom(Valkey),
    /// A cuckoo filter in this project's layout: its header.
    Cuckoo(Vec<u8>),
    /// A cuckoo filter in RedisBloom's layout.
    RedisBloomCuckoo(CuckooNumbers),
}

/// The numbers of a filter in valkey-bloom's layout.
#[derive(Clone, Debug)]
pub struct Valkey {
    pub count: u32,
    pub expansion: u32,
    pub error_rate: f64,
    pub tightening: f64,
    pub is_random: u8,
    pub seed: [u8; 32],
    /// Capacity, bytes and hashes, oldest first.
    pub layers: Vec<(u64, u64, u32)>,
    pub newest_len: u64,
}

impl Valkey {
    /// A full filter whose layers follow from their capacities and rates.
    pub fn of(capacities: &[u64], expansion: u32, error_rate: f64, tightening: f64) -> Self {
        let layer = |(&capacity, index): (&u64, u32)| {
            let bytes = bytes(capacity, layer_rate(error_rate, tightening, index));
            (capacity, bytes, hashes(bytes, capacity.max(1)))
        };
        Self {
            count: capacities.len() as u32,
            expansion,
            error_rate,
            tightening,
            is_random: 0,
            seed: FIXED_SEED,
            layers: capacities.iter().zip(0..).map(layer).collect(),
            newest_len: capacities.last().copied().unwrap_or_default(),
        }
    }

    fn header(&self) -> Vec<u8> {
        let mut header = b"valkeybf".to_vec();
        header.extend(1u16.to_le_bytes());
        header.extend([self.is_random, 0]);
        for number in [self.count, self.expansion, 0] {
            header.extend(number.to_le_bytes());
        }
        header.extend(self.error_rate.to_le_bytes());
        header.extend(self.tightening.to_le_bytes());
        header.extend(self.seed);
        header.extend(self.newest_len.to_le_bytes());
        for (capacity, bytes, hashes) in &self.layers {
            header.extend(capacity.to_le_bytes());
            header.extend(bytes.to_le_bytes());
            header.extend(hashes.to_le_bytes());
            header.extend([0; 4]);
        }
        let length = header.len().next_multiple_of(64);
        header.resize(if (length - 20).is_multiple_of(53) { length + 64 } else { length }, 0);
        header
    }

    fn blob(&self, bytes: u64, hashes: u32) -> Vec<u8> {
        let bits = vec![0; bytes.min(MOST_BITS) as usize];
        [&[1], &bytes.to_le_bytes()[..], &hashes.to_le_bytes(), &self.seed, &bits].concat()
    }

    fn fields(&self) -> Vec<Field> {
        let mut fields = vec![
            Field::Unsigned(self.count.into()),
            Field::Unsigned(self.expansion.into()),
            Field::Number(self.error_rate),
            Field::Number(self.tightening),
            Field::Unsigned(self.is_random.into()),
        ];
        for (&(capacity, bytes, hashes), index) in self.layers.iter().zip(1..) {
            fields.push(Field::Unsigned(capacity));
            if index == self.count {
                fields.push(Field::Unsigned(self.newest_len));
            }
            fields.push(Field::String(self.blob(bytes, hashes)));
        }
        fields
    }

    fn payload(&self) -> Vec<u8> {
        let mut payload = vec![1];
        payload.extend(self.expansion.to_le_bytes());
        payload.extend(self.error_rate.to_le_bytes());
        payload.extend(self.tightening.to_le_bytes());
        payload.push(self.is_random);
        payload.extend(u64::from(self.count).to_le_bytes());
        for (&(capacity, bytes, hashes), index) in self.layers.iter().zip(1..) {
            let blob = self.blob(bytes, hashes);
            payload.extend((blob.len() as u64).to_le_bytes());
            payload.extend(blob);
            let items = if index == self.count { self.newest_len } else { capacity };
            payload.extend(items.to_le_bytes());
            payload.extend(capacity.to_le_bytes());
        }
        payload
    }
}

impl Forged {
    /// The family and the layout.
    pub fn layout(&self) -> &'static str {
        match self {
            Self::Bloomline(_) => "bloom, bloomline",
            Self::RedisBloom(_) => "bloom, redisbloom",
            Self::ValkeyBloom(_) => "bloom, valkey-bloom",
            Self::Cuckoo(_) => "cuckoo, bloomline",
            Self::RedisBloomCuckoo(_) => "cuckoo, redisbloom",
        }
    }

    /// True for a cuckoo filter.
    pub fn is_cuckoo(&self) -> bool {
        matches!(self, Self::Cuckoo(_) | Self::RedisBloomCuckoo(_))
    }

    /// The header, for LOADCHUNK.
    pub fn header(&self) -> Vec<u8> {
        match self {
            Self::Bloomline(header) | Self::Cuckoo(header) => header.clone(),
            Self::RedisBloom(numbers) => Header::Classic(numbers.clone()).encode(),
            Self::ValkeyBloom(numbers) => numbers.header(),
            Self::RedisBloomCuckoo(numbers) => {
                let CuckooNumbers { items, buckets, deletes, tables, .. } = numbers;
                let longs = [items, buckets, deletes, tables].map(|number| number.to_le_bytes());
                let shorts = [numbers.bucket_size, numbers.max_iterations, numbers.expansion];
                [longs.concat(), shorts.map(|number| (number as u16).to_le_bytes()).concat()]
                    .concat()
            }
        }
    }

    /// The fields of an RDB value.
    pub fn fields(&self) -> Vec<Field> {
        use Field::{String, Unsigned};
        let header = self.header();
        let zero_bytes = |bytes: u64| vec![0; bytes.min(MOST_BITS) as usize];
        let zeros = |bytes: u64| String(zero_bytes(bytes));
        let mut small = |demand: Demand| demand.filter_bytes <= MOST_BITS;
        match self {
            Self::Bloomline(_) => {
                let mut fields = vec![Unsigned(u64::MAX), String(header.clone())];
                if let Ok(filter) = AnyFilter::decode_header(&header, &mut small) {
                    filter.each_layer(|bits| {
                        fields.extend((0..bits.bytes().div_ceil(STRING)).map(|_| zeros(0)));
                    });
                }
                fields
            }
            Self::Cuckoo(_) => {
                let mut fields = vec![Unsigned(u64::MAX), String(header.clone())];
                if let Ok(filter) = AnyCuckoo::decode_header(&header, &mut small)
                    && let CuckooKind::Bloomline(filter) = filter.view()
                {
                    fields.extend(filter.parts(STRING as usize).map(|_| zeros(0)));
                }
                fields
            }
            Self::RedisBloom(numbers) => {
                numbers.fields(numbers.links.iter().map(|link| zero_bytes(link.bytes)))
            }
            Self::ValkeyBloom(numbers) => numbers.fields(),
            Self::RedisBloomCuckoo(numbers) => {
                let CuckooNumbers { items, buckets, deletes, tables, .. } = *numbers;
                let mut fields: Vec<Field> = [tables, buckets, items, deletes].map(Unsigned).into();
                let shorts = [numbers.bucket_size, numbers.max_iterations, numbers.expansion];
                fields.extend(shorts.map(Unsigned));
                let mut buckets = buckets;
                for _ in 0..tables.min(1 << 16) {
                    let bytes = buckets.saturating_mul(numbers.bucket_size);
                    fields.extend([Unsigned(buckets), zeros(bytes)]);
                    // The whole filter would be above the limit.
                    if bytes > MOST_BITS {
                        break;
                    }
                    buckets = buckets.saturating_mul(numbers.expansion);
                }
                fields
            }
        }
    }

    /// The payload of BF.LOAD, which one layout has.
    pub fn payload(&self) -> Option<Vec<u8>> {
        match self {
            Self::ValkeyBloom(numbers) => Some(numbers.payload()),
            _ => None,
        }
    }
}

/// A row: what is at an edge.
///
/// In this project's layouts each encoding contains the header, so few of their rows are refused:
/// `core/tests/families/headers` has the others.
pub type Row = (&'static str, Forged);

/// All rows.
pub fn all() -> Vec<Row> {
    [plain(), windowed(), redisbloom(), valkey_bloom(), cuckoo(), classic_cuckoo()].concat()
}

/// A change of the numbers of a filter, and what it is.
type Change<T> = (&'static str, fn(&mut T));

/// A row for each change of a filter.
fn changed<T: Clone>(base: &T, changes: &[Change<T>], forge: impl Fn(T) -> Forged) -> Vec<Row> {
    let row = |(name, change): &Change<T>| {
        let mut numbers = base.clone();
        change(&mut numbers);
        (*name, forge(numbers))
    };
    changes.iter().map(row).collect()
}

/// Rows of filters without a window.
fn plain() -> Vec<Row> {
    let base = Plain {
        version: 1,
        revision: REVISION,
        growth: 1,
        expansion: 2,
        layers: 1,
        capacity: 100,
        error_rate: 0.01,
        seed: 7,
        newest_len: 100,
        first_byte: 0,
        records: Vec::new(),
    };
    let changes: &[Change<Plain>] = &[
        ("full", |_| {}),
        ("expansion 1", |it| it.expansion = 1),
        ("expansion 32,768", |it| it.expansion = 32_768),
        ("fixed", |it| (it.growth, it.expansion) = (0, 0)),
        ("fixed with layers", |it| (it.growth, it.expansion, it.layers) = (0, 0, 2)),
        ("no layer", |it| it.layers = 0),
        ("most layers", |it| {
            (it.layers, it.capacity, it.expansion, it.newest_len) = (4_096, 1, 1, 1);
        }),
        ("capacity 1", |it| (it.capacity, it.newest_len) = (1, 1)),
        ("the largest capacity", |it| it.capacity = 1 << 40),
        ("all items", |it| it.newest_len = u64::MAX),
        ("the largest rate", |it| it.error_rate = 0.25),
        ("rate 1", |it| it.error_rate = 1.0),
        ("no rate", |it| it.error_rate = f64::NAN),
        ("a rate of 2e-15", |it| it.error_rate = 2e-15),
        ("a first byte", |it| (it.version, it.first_byte) = (2, 4 << 20)),
        ("the last first byte", |it| {
            (it.version, it.first_byte) = (2, u64::from(u32::MAX) * (4 << 20));
        }),
        ("a smaller layer", |it| {
            (it.version, it.newest_len) = (2, 5);
            it.records = vec![Record { index: 0, pages: 1, capacity: 5 }];
        }),
        ("a layer twice", |it| {
            (it.version, it.newest_len) = (2, 5);
            it.records = vec![Record { index: 0, pages: 1, capacity: 5 }; 2];
        }),
        ("two smaller layers", |it| {
            (it.version, it.layers, it.newest_len) = (2, 2, 5);
            let record = |index| Record { index, pages: 1, capacity: 5 };
            it.records = [0, 1].map(record).into();
        }),
        ("100 kB", |it| it.capacity = 80_000),
        ("more than the limit", |it| it.capacity = 1_000_000),
    ];
    changed(&base, changes, |it| Forged::Bloomline(Header::Plain(it).encode()))
}

/// A window of time that lasts so long that nothing in it depends on when a call is made: no slot
/// passes, and the clock is not behind the newest generation.
fn lasting(it: &mut Windowed, millis: u64) {
    (it.window, it.millis, it.clock) = (1, millis, 0);
    it.ring.iter_mut().for_each(|it| it.opened = 1);
}

/// Rows of windowed filters.
fn windowed() -> Vec<Row> {
    let generation = Generation { opened: 1 << 50, len: 25, live: 25, overflow: 0 };
    let base = Windowed {
        version: 2,
        revision: REVISION,
        growth: 1,
        window: 3,
        refreshes: 1,
        generations: 4,
        expansion: 2,
        present: 2,
        capacity: 100,
        error_rate: 0.01,
        seed: 7,
        millis: 0,
        number: 1,
        dropped_bytes: 0,
        clock: 0,
        ring: vec![generation; 2],
    };
    let changes: &[Change<Windowed>] = &[
        ("rotated by hand", |_| {}),
        ("a window of time", |it| lasting(it, 1 << 52)),
        ("a window of items", |it| (it.window, it.clock) = (2, 1 << 50)),
        ("the longest window", |it| lasting(it, 1 << 53)),
        ("two generations", |it| it.generations = 2),
        ("three generations", |it| it.generations = 3),
        ("64 generations", |it| it.generations = 64),
        ("a full ring", |it| {
            (it.present, it.number, it.generations) = (4, 3, 3);
            it.ring = vec![it.ring[0]; 4];
        }),
        ("an odd number", |it| (it.number, it.dropped_bytes) = (7, 64 * 6)),
        ("the last number", |it| (it.number, it.dropped_bytes) = (u64::MAX, 64)),
        ("dropped bytes without generations", |it| it.dropped_bytes = 64),
        ("bytes at the end of all offsets", |it| {
            (it.number, it.dropped_bytes) = (2, (1 << 62) - 4096);
        }),
        ("bytes behind the end", |it| (it.number, it.dropped_bytes) = (2, 1 << 62)),
        ("generations in the wrong order", |it| it.ring[0].opened += 1),
        ("the end of time", |it| {
            (it.window, it.clock) = (2, u64::MAX);
            it.ring.iter_mut().for_each(|it| it.opened = u64::MAX);
        }),
        ("a clock before the newest", |it| it.window = 2),
        ("a clock, by hand", |it| it.clock = 1),
        ("all items", |it| (it.ring[1].len, it.ring[1].live) = (u64::MAX, u64::MAX)),
        ("overflow layers", |it| it.ring.iter_mut().for_each(|it| it.overflow = 1)),
        ("many overflow layers", |it| it.ring[1].overflow = 13),
        ("fixed", |it| (it.growth, it.expansion) = (0, 0)),
    ];
    changed(&base, changes, |it| Forged::Bloomline(Header::Windowed(it).encode()))
}

/// Rows of RedisBloom's layout. Unknown options and another sum of the items are not among them:
/// they are repaired in RDB files and refused in headers.
fn redisbloom() -> Vec<Row> {
    let shape = RedisBloomShape {
        capacity: 100,
        error: 0.005,
        bits_per_item: 11.027_754_391_170_62,
        hashes: 8,
        bits: 1152,
        log2_bits: 0,
        len: 100,
    };
    let link = Link { shape, bytes: 144 };
    let base = Classic { total: 0, count: 0, options: 5, expansion: 2, links: vec![link] };
    let changes: &[Change<Classic>] = &[
        ("full", |_| {}),
        ("expansion 0", |it| it.expansion = 0),
        ("expansion 1", |it| it.expansion = 1),
        ("expansion 32,769", |it| it.expansion = 32_769),
        ("the largest expansion", |it| it.expansion = u32::MAX),
        ("fixed", |it| it.options = 13),
        ("fixed with links", |it| (it.options, it.links) = (13, vec![it.links[0]; 2])),
        ("no link", |it| it.links.clear()),
        ("most links", |it| it.links = vec![it.links[0]; 4_096]),
        ("too many links", |it| it.links = vec![it.links[0]; 4_097]),
        ("hashes of 32 bits", |it| it.options = 1),
        ("a capacity in bits", |it| it.options = 7),
        ("capacity 0", |it| it.links[0].shape.capacity = 0),
        ("capacity 2^60 in 8 bytes", |it| {
            let Link { shape, bytes } = &mut it.links[0];
            (shape.capacity, shape.bits, *bytes) = (1 << 60, 64, 8);
        }),
        ("capacity 2^63", |it| it.links[0].shape.capacity = 1 << 63),
        ("all capacity", |it| it.links[0].shape.capacity = u64::MAX),
        ("a count above the capacity", |it| it.links[0].shape.len = 101),
        ("2^64 - 2 items", |it| it.links[0].shape.len = u64::MAX - 1),
        ("an empty link", |it| it.links[0].shape.len = 0),
        ("most hashes", |it| {
            let shape = &mut it.links[0].shape;
            (shape.hashes, shape.bits_per_item) = (1_075, 1_550.8);
        }),
        ("too many hashes", |it| {
            let shape = &mut it.links[0].shape;
            (shape.hashes, shape.bits_per_item) = (1_076, 1_552.3);
        }),
        ("no hashes", |it| {
            (it.links[0].shape.hashes, it.links[0].shape.bits_per_item) = (0, 0.0);
        }),
        ("one hash", |it| {
            (it.links[0].shape.hashes, it.links[0].shape.bits_per_item) = (1, 1e-9);
        }),
        ("other hashes", |it| it.links[0].shape.hashes = 9),
        ("the smallest rate", |it| it.links[0].shape.error = 5e-324),
        ("the largest rate", |it| it.links[0].shape.error = 1.0 - f64::EPSILON / 2.0),
        ("rate 1", |it| it.links[0].shape.error = 1.0),
        ("rate 0", |it| it.links[0].shape.error = 0.0),
        ("no rate", |it| it.links[0].shape.error = f64::NAN),
        ("no bits", |it| (it.links[0].shape.bits, it.links[0].bytes) = (0, 0)),
        ("bits within a word", |it| (it.links[0].shape.bits, it.links[0].bytes) = (1160, 145)),
        ("more bits than bytes", |it| it.links[0].shape.bits = 1216),
        ("all bits", |it| {
            (it.links[0].shape.bits, it.links[0].bytes) = (u64::MAX - 63, u64::MAX / 8);
        }),
        ("a power of two", |it| it.links[0].shape.log2_bits = 10),
        ("a power of two above the bits", |it| it.links[0].shape.log2_bits = 11),
        ("the power 2^64", |it| it.links[0].shape.log2_bits = 64),
        ("links in the wrong order", |it| {
            let mut first = it.links[0];
            (first.shape.capacity, first.shape.bits, first.bytes) = (1_000, 11_072, 1_384);
            it.links.insert(0, first);
        }),
        ("as large as the limit", |it| {
            let Link { shape, bytes } = &mut it.links[0];
            // Beside the bits, a filter and its link count as 96 bytes.
            (*bytes, shape.bits) = (LIMIT - 96, (LIMIT - 96) * 8);
        }),
        ("one word above the limit", |it| {
            let Link { shape, bytes } = &mut it.links[0];
            (*bytes, shape.bits) = (LIMIT - 88, (LIMIT - 88) * 8);
        }),
    ];
    let forge = |mut it: Classic| {
        it.count = it.links.len() as u32;
        it.total = it.links.iter().map(|link| link.shape.len).sum();
        Forged::RedisBloom(it)
    };
    let mut rows = changed(&base, changes, forge);
    let more = Classic { total: 100, count: 2, ..base };
    rows.push(("a link that is missing", Forged::RedisBloom(more)));
    rows
}

/// Rows of valkey-bloom's layout. Just below rate 1 a layer of one byte has any capacity.
fn valkey_bloom() -> Vec<Row> {
    const NEARLY_ONE: f64 = 1.0 - f64::EPSILON / 2.0;
    let changes: &[Change<Valkey>] = &[
        ("full", |_| {}),
        ("expansion 0", |it| it.expansion = 0),
        ("expansion 1", |it| it.expansion = 1),
        ("the largest expansion", |it| it.expansion = u32::MAX),
        ("no layer", |it| (it.count, it.layers) = (0, Vec::new())),
        ("a layer that is missing", |it| it.count = 3),
        ("a layer too many", |it| it.count = 1),
        ("most layers", |it| *it = Valkey::of(&[1; 4_096], 1, 0.01, NEARLY_ONE)),
        ("too many layers", |it| *it = Valkey::of(&[1; 4_097], 1, 0.01, NEARLY_ONE)),
        ("layers in the wrong order", |it| *it = Valkey::of(&[200, 100], 2, 0.01, 0.5)),
        ("capacity 0", |it| *it = Valkey::of(&[0], 2, 0.01, 0.5)),
        ("capacity 1", |it| *it = Valkey::of(&[1], 2, 0.01, 0.5)),
        ("2^60 in one byte", |it| it.layers[1] = (1 << 60, 1, 1)),
        ("2^50 in the byte that it needs", |it| *it = Valkey::of(&[1 << 50], 1, NEARLY_ONE, 0.9)),
        ("2^50 in layers of a byte", |it| {
            *it = Valkey::of(&[1 << 50; 9], 1, NEARLY_ONE, NEARLY_ONE);
        }),
        ("2^62 items", |it| *it = Valkey::of(&[1 << 62], 2, NEARLY_ONE, NEARLY_ONE)),
        ("2^63 - 1 items", |it| *it = Valkey::of(&[i64::MAX as u64], 2, NEARLY_ONE, NEARLY_ONE)),
        ("2^63 items", |it| *it = Valkey::of(&[1 << 63], 2, NEARLY_ONE, NEARLY_ONE)),
        ("2^63 items in two layers", |it| {
            *it = Valkey::of(&[1 << 62; 2], 1, NEARLY_ONE, NEARLY_ONE);
        }),
        ("a byte less", |it| it.layers[0].1 -= 1),
        ("a byte more", |it| it.layers[0].1 += 1),
        ("no bytes", |it| it.layers[0].1 = 0),
        ("all bytes", |it| it.layers[0].1 = u64::MAX),
        ("no hashes", |it| it.layers[0].2 = 0),
        ("a hash more", |it| it.layers[0].2 += 1),
        ("all hashes", |it| it.layers[0].2 = u32::MAX),
        ("most hashes", |it| *it = Valkey::of(&[1], 2, 2.3e-308, 0.99)),
        ("the smallest rate", |it| *it = Valkey::of(&[1], 2, f64::MIN_POSITIVE, 0.5)),
        ("a rate of 0", |it| it.error_rate = 0.0),
        ("a rate of 1", |it| it.error_rate = 1.0),
        ("no rate", |it| it.error_rate = f64::NAN),
        ("a tightening of 0", |it| it.tightening = 0.0),
        ("a tightening of 1", |it| it.tightening = 1.0),
        ("a count above the capacity", |it| it.newest_len = 201),
        ("all items", |it| it.newest_len = u64::MAX),
        ("an empty layer", |it| it.newest_len = 0),
        ("a random seed", |it| (it.is_random, it.seed) = (1, [7; 32])),
        ("a random seed that is fixed", |it| it.is_random = 1),
        ("a fixed seed that is another", |it| it.seed = [7; 32]),
        ("another kind of seed", |it| it.is_random = 2),
        // Beside the bits, a filter of one layer counts as 264 bytes.
        ("as large as the limit", |it| *it = Valkey::of(&[874_820], 2, 0.01, 0.5)),
        ("above the limit", |it| *it = Valkey::of(&[875_000], 2, 0.01, 0.5)),
        ("far above the limit", |it| *it = Valkey::of(&[1 << 40], 2, 0.01, 0.5)),
    ];
    changed(&Valkey::of(&[100, 200], 2, 0.01, 0.5), changes, Forged::ValkeyBloom)
}

/// Gives a prefix of the oldest table a number of copies in its list.
fn insert_copies(header: &mut cuckoo_header::Header, prefix: u64, copies: u64) {
    header.tables[0].list.insert(prefix, copies);
}

/// Rows of cuckoo filters in this project's layout, with lists and a table that is being doubled.
fn cuckoo() -> Vec<Row> {
    let changes: &[Change<cuckoo_header::Header>] = &[
        ("grown", |_| {}),
        ("expansion 0", |it| it.expansion = 0),
        ("expansion 2", |it| it.expansion = 2),
        ("expansion 32,768", |it| it.expansion = 32_768),
        ("bucket size 1", |it| it.bucket_size = 1),
        ("bucket size 3", |it| it.bucket_size = 3),
        ("bucket size 255", |it| it.bucket_size = 255),
        ("most iterations", |it| it.max_iterations = u16::MAX),
        ("all windows", |it| it.tables[0].windows = u64::MAX),
        ("tables in the wrong order", |it| it.tables.reverse()),
        ("no rate", |it| it.error_rate = f64::NAN),
        ("all deletions", |it| it.deletes = u64::MAX),
        ("most copies", |it| insert_copies(it, 3, 1 << 58)),
        ("too many copies", |it| insert_copies(it, 3, (1 << 58) + 1)),
        ("a drained slot behind the last", |it| it.doubling_at = Some(u64::MAX)),
    ];
    let options = CuckooOptions { bucket_size: 2, max_iterations: 20, expansion: 1 };
    let spec = CuckooSpec { capacity: 20, error_rate: 0.01, options };
    let mut filter = AnyCuckoo::bloomline(spec, 7, &mut |_| true).expect("a filter");
    for number in 0..300u32 {
        let item = number.to_le_bytes();
        for _ in 0..if number % 50 == 0 { 9 } else { 1 } {
            filter.insert(&item, &mut |_| true).expect("room");
        }
    }
    let base = cuckoo_header::Header::of(&filter);
    changed(&base, changes, |it| Forged::Cuckoo(it.encode()))
}

/// Rows of cuckoo filters in RedisBloom's layout.
fn classic_cuckoo() -> Vec<Row> {
    let base = CuckooNumbers {
        items: 3,
        buckets: 4,
        deletes: 1,
        tables: 2,
        bucket_size: 2,
        max_iterations: 20,
        expansion: 2,
    };
    let changes: &[Change<CuckooNumbers>] = &[
        ("two tables", |_| {}),
        ("expansion 0", |it| it.expansion = 0),
        ("expansion 0 with one table", |it| (it.expansion, it.tables) = (0, 1)),
        ("expansion 1", |it| it.expansion = 1),
        ("expansion 3", |it| it.expansion = 3),
        ("expansion 32,768", |it| (it.expansion, it.tables) = (32_768, 1)),
        ("the largest expansion", |it| it.expansion = 65_535),
        ("bucket size 0", |it| it.bucket_size = 0),
        ("bucket size 1", |it| it.bucket_size = 1),
        ("bucket size 3", |it| it.bucket_size = 3),
        ("bucket size 255", |it| it.bucket_size = 255),
        ("bucket size 256", |it| it.bucket_size = 256),
        ("no iterations", |it| it.max_iterations = 0),
        ("one iteration", |it| it.max_iterations = 1),
        ("most iterations", |it| it.max_iterations = 65_535),
        ("no table", |it| it.tables = 0),
        ("many tables", |it| (it.buckets, it.tables, it.expansion) = (1, 3_000, 1)),
        ("most tables", |it| (it.buckets, it.tables, it.expansion) = (1, 65_535, 1)),
        ("too many tables", |it| (it.buckets, it.tables, it.expansion) = (1, 65_536, 1)),
        ("all tables", |it| it.tables = u64::MAX),
        ("no buckets", |it| it.buckets = 0),
        ("one bucket", |it| it.buckets = 1),
        ("three buckets", |it| it.buckets = 3),
        ("2^55 buckets", |it| (it.buckets, it.tables) = (1 << 55, 1)),
        ("2^56 buckets", |it| (it.buckets, it.tables) = (1 << 56, 1)),
        ("as many items as slots", |it| it.items = 24),
        ("more items than slots", |it| it.items = 25),
        ("all items", |it| it.items = u64::MAX),
        ("all deletions", |it| it.deletes = u64::MAX),
        ("half of the limit", |it| (it.buckets, it.tables) = (1 << 18, 1)),
        ("the limit and its table", |it| (it.buckets, it.tables) = (1 << 19, 1)),
    ];
    changed(&base, changes, Forged::RedisBloomCuckoo)
}
