//! The reference model of valkey-bloom's layout: slow and simple, written from the description of
//! the layout.

use bitvec::prelude::{BitVec, Lsb0, bitvec};

use crate::payload::Field;

/// The seed of filters without a random one.
pub const FIXED_SEED: [u8; 32] = [
    0x59, 0x0f, 0xf5, 0x22, 0xea, 0x78, 0x11, 0xda, 0xa7, 0x14, 0xd8, 0x09, 0x3b, 0x3e, 0x7b, 0xd9,
    0x1d, 0x89, 0x8a, 0x73, 0x3e, 0x98, 0x88, 0x87, 0x30, 0x7f, 0x97, 0xcd, 0x28, 0x07, 0x33, 0x83,
];

/// Rates of layers must be above this one.
pub const LEAST_RATE: f64 = 2.2250738585072014e-308;

/// Indexes from the third on are reduced by this prime first.
const PRIME: u128 = (1 << 64) - 59;

/// SipHash with one round for each word and three at the end.
pub fn sip_hash_1_3(key: &[u8], message: &[u8]) -> u64 {
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
    let (k0, k1) = (word(&key[..8]), word(&key[8..16]));
    let mut v = [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ];
    let round = |v: &mut [u64; 4]| {
        v[0] = v[0].wrapping_add(v[1]);
        v[2] = v[2].wrapping_add(v[3]);
        v[1] = v[1].rotate_left(13) ^ v[0];
        v[3] = v[3].rotate_left(16) ^ v[2];
        v[0] = v[0].rotate_left(32).wrapping_add(v[3]);
        v[2] = v[2].wrapping_add(v[1]);
        v[1] = v[1].rotate_left(17) ^ v[2];
        v[3] = v[3].rotate_left(21) ^ v[0];
        v[2] = v[2].rotate_left(32);
    };
    let mut padded = message.to_vec();
    while padded.len() % 8 != 7 {
        padded.push(0);
    }
    padded.push(message.len() as u8);
    for block in padded.chunks(8) {
        let block = word(block);
        v[3] ^= block;
        round(&mut v);
        v[0] ^= block;
    }
    v[2] ^= 0xff;
    for _ in 0..3 {
        round(&mut v);
    }
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

/// The two hashes of an item: its length and its bytes are hashed with each half of the seed.
pub fn pair(seed: &[u8; 32], item: &[u8]) -> (u64, u64) {
    let message = [&(item.len() as u64).to_le_bytes(), item].concat();
    (sip_hash_1_3(&seed[..16], &message), sip_hash_1_3(&seed[16..], &message))
}

/// A power by repeated squaring: the order of the multiplications decides the last bit.
fn power(mut base: f64, mut exponent: u32) -> f64 {
    let mut result = 1.0;
    loop {
        if exponent % 2 == 1 {
            result *= base;
        }
        exponent /= 2;
        if exponent == 0 {
            return result;
        }
        base *= base;
    }
}

/// The rate of the layer with this index.
pub fn layer_rate(rate: f64, tightening: f64, index: u32) -> f64 {
    rate * power(tightening, index)
}

/// The bytes of a layer for a number of items at a rate.
pub fn bytes(capacity: u64, rate: f64) -> u64 {
    let ln_2 = std::f64::consts::LN_2;
    (capacity as f64 * rate.ln() / (-8.0 * (ln_2 * ln_2))).ceil() as u64
}

/// The bits that an item sets in a layer of that many bytes.
pub fn hashes(bytes: u64, capacity: u64) -> u32 {
    let bits = bytes.saturating_mul(8) as f64;
    ((bits / capacity as f64 * std::f64::consts::LN_2).round() as u32).max(1)
}

/// The layers for which valkey-bloom's list of layers has room: it grows by doubling.
pub fn list_room(layers: u64) -> u64 {
    if layers == 1 { 1 } else { layers.next_power_of_two().max(4) }
}

/// A layer: its numbers, and its bits in the order of the bytes.
#[derive(Clone)]
pub struct ModelLayer {
    pub capacity: u64,
    pub hashes: u32,
    pub bits: BitVec<u8, Lsb0>,
}

impl ModelLayer {
    pub fn new(capacity: u64, rate: f64) -> Self {
        let bytes = bytes(capacity, rate);
        let bits = bitvec![u8, Lsb0; 0; 8 * bytes as usize];
        Self { capacity, hashes: hashes(bytes, capacity), bits }
    }

    /// The indexes of an item's bits in the layer.
    pub fn bit_indexes(&self, (a, b): (u64, u64)) -> Vec<usize> {
        let index = |i: u32| {
            let value = match i {
                0 => a.into(),
                1 => b.into(),
                _ => (u128::from(a) + u128::from(i) * u128::from(b)) % (1 << 64) % PRIME,
            };
            (value % self.bits.len() as u128) as usize
        };
        (0..self.hashes).map(index).collect()
    }

    fn contains(&self, pair: (u64, u64)) -> bool {
        self.bit_indexes(pair).into_iter().all(|index| self.bits[index])
    }
}

/// A filter.
#[derive(Clone)]
pub struct Model {
    /// 0 if it does not grow.
    pub expansion: u32,
    pub rate: f64,
    pub tightening: f64,
    pub is_random: bool,
    pub seed: [u8; 32],
    pub layers: Vec<ModelLayer>,
    /// Items in the newest layer. The others are full.
    pub newest_len: u64,
}

/// The result of an insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    New,
    Seen,
    Full,
    CannotGrow,
}

impl Model {
    /// An empty filter.
    pub fn new(capacity: u64, rate: f64, expansion: u32, tightening: f64, seed: [u8; 32]) -> Self {
        let layers = vec![ModelLayer::new(capacity, rate)];
        let is_random = seed != FIXED_SEED;
        Self { expansion, rate, tightening, is_random, seed, layers, newest_len: 0 }
    }

    pub fn contains(&self, item: &[u8]) -> bool {
        let pair = pair(&self.seed, item);
        self.layers.iter().any(|layer| layer.contains(pair))
    }

    pub fn insert(&mut self, item: &[u8]) -> Answer {
        if self.contains(item) {
            return Answer::Seen;
        }
        let newest = self.layers.last().unwrap();
        if self.newest_len >= newest.capacity {
            if self.expansion == 0 {
                return Answer::Full;
            }
            let rate = layer_rate(self.rate, self.tightening, self.layers.len() as u32);
            let capacity = u128::from(newest.capacity) * u128::from(self.expansion);
            let all = self.layers.iter().map(|layer| u128::from(layer.capacity)).sum::<u128>();
            if rate <= LEAST_RATE || capacity + all >= 1 << 63 {
                return Answer::CannotGrow;
            }
            self.layers.push(ModelLayer::new(capacity as u64, rate));
            self.newest_len = 0;
        }
        let newest = self.layers.last_mut().unwrap();
        for index in newest.bit_indexes(pair(&self.seed, item)) {
            newest.bits.set(index, true);
        }
        self.newest_len += 1;
        Answer::New
    }

    pub fn len(&self) -> u64 {
        let (_, older) = self.layers.split_last().unwrap();
        older.iter().map(|layer| layer.capacity).sum::<u64>() + self.newest_len
    }

    /// True if `items` new items do not fit into the newest layer, and no layer can follow it.
    pub fn lacks_room_for(&self, items: u64) -> bool {
        let newest = self.layers.last().unwrap();
        let rate = layer_rate(self.rate, self.tightening, self.layers.len() as u32);
        let may_grow = self.expansion != 0 && rate > LEAST_RATE;
        self.newest_len + items > newest.capacity && !may_grow
    }

    /// What valkey-bloom counts as the size of the filter, in bytes.
    pub fn size(&self) -> u64 {
        let layers = self.layers.len() as u64;
        let room = list_room(layers);
        let bytes = self.layers.iter().map(|layer| layer.bits.len() as u64 / 8).sum::<u64>();
        48 + 8 * room + 208 * layers + bytes
    }

    /// What it compares with its limit before it adds a layer: the vector has not grown then.
    pub fn size_with_next(&self) -> u64 {
        let newest = self.layers.last().unwrap();
        let rate = layer_rate(self.rate, self.tightening, self.layers.len() as u32);
        self.size() + 208 + bytes(newest.capacity * u64::from(self.expansion), rate)
    }

    /// The bytes of a layer as they are saved.
    fn blob(&self, layer: &ModelLayer) -> Vec<u8> {
        let bits = layer.bits.as_raw_slice();
        let length = (bits.len() as u64).to_le_bytes();
        [&[1], &length[..], &layer.hashes.to_le_bytes(), &self.seed, bits].concat()
    }

    /// The fields of an RDB file.
    pub fn fields(&self) -> Vec<Field> {
        let mut fields = vec![
            Field::Unsigned(self.layers.len() as u64),
            Field::Unsigned(self.expansion.into()),
            Field::Number(self.rate),
            Field::Number(self.tightening),
            Field::Unsigned(self.is_random.into()),
        ];
        for (layer, index) in self.layers.iter().zip(1..) {
            fields.push(Field::Unsigned(layer.capacity));
            if index == self.layers.len() {
                fields.push(Field::Unsigned(self.newest_len));
            }
            fields.push(Field::String(self.blob(layer)));
        }
        fields
    }

    /// The filter of the fields that [`Model::fields`] returns.
    pub fn of_fields(fields: &[Field]) -> Self {
        let unsigned = |field: &Field| match field {
            Field::Unsigned(value) => *value,
            other => panic!("{other:?}"),
        };
        let number = |field: &Field| match field {
            Field::Number(value) => *value,
            other => panic!("{other:?}"),
        };
        let blob = |field: &Field| match field {
            Field::String(value) => value.clone(),
            other => panic!("{other:?}"),
        };
        let (count, last) = (unsigned(&fields[0]), fields.len() - 3);
        let layers = (0..count as usize).map(|index| {
            let at = 5 + 2 * index;
            let bits = if at == last { at + 2 } else { at + 1 };
            (unsigned(&fields[at]), blob(&fields[bits]))
        });
        let layers: Vec<_> = layers.collect();
        let head = (unsigned(&fields[1]) as u32, number(&fields[2]), number(&fields[3]));
        Self::of_layers(head, unsigned(&fields[4]) == 1, &layers, unsigned(&fields[last + 1]))
    }

    /// The filter of a payload that [`Model::load_payload`] returns.
    pub fn of_load_payload(bytes: &[u8]) -> Self {
        let mut rest = &bytes[1..];
        let mut take = |count: usize| {
            let (first, others) = rest.split_at(count);
            rest = others;
            first
        };
        let number = |bytes: &[u8]| f64::from_le_bytes(bytes.try_into().unwrap());
        let integer = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
        let expansion = u32::from_le_bytes(take(4).try_into().unwrap());
        let head = (expansion, number(take(8)), number(take(8)));
        let is_random = take(1) == [1];
        let (mut layers, mut newest_len) = (Vec::new(), 0);
        for _ in 0..integer(take(8)) {
            let length = integer(take(8));
            let blob = take(length as usize).to_vec();
            newest_len = integer(take(8));
            layers.push((integer(take(8)), blob));
        }
        assert!(rest.is_empty());
        Self::of_layers(head, is_random, &layers, newest_len)
    }

    /// The filter of the capacity and the saved bytes of each layer.
    fn of_layers(
        (expansion, rate, tightening): (u32, f64, f64),
        is_random: bool,
        layers: &[(u64, Vec<u8>)],
        newest_len: u64,
    ) -> Self {
        let seed = layers[0].1[13..45].try_into().unwrap();
        let layer = |(capacity, blob): &(u64, Vec<u8>)| ModelLayer {
            capacity: *capacity,
            hashes: u32::from_le_bytes(blob[9..13].try_into().unwrap()),
            bits: BitVec::from_slice(&blob[45..]),
        };
        let layers = layers.iter().map(layer).collect();
        Self { expansion, rate, tightening, is_random, seed, layers, newest_len }
    }

    /// The payload of BF.LOAD.
    pub fn load_payload(&self) -> Vec<u8> {
        let mut bytes = vec![1];
        bytes.extend(self.expansion.to_le_bytes());
        bytes.extend(self.rate.to_le_bytes());
        bytes.extend(self.tightening.to_le_bytes());
        bytes.push(self.is_random.into());
        bytes.extend((self.layers.len() as u64).to_le_bytes());
        for (layer, index) in self.layers.iter().zip(1..) {
            let blob = self.blob(layer);
            bytes.extend((blob.len() as u64).to_le_bytes());
            bytes.extend(blob);
            let items = if index == self.layers.len() { self.newest_len } else { layer.capacity };
            bytes.extend(items.to_le_bytes());
            bytes.extend(layer.capacity.to_le_bytes());
        }
        bytes
    }
}
