//! A DUMP payload of a filter as a list of fields, so that single fields can be damaged.
//!
//! ```text
//! 7, the type's id (10 bits of encoding version at its end), fields, 0       RDB version, checksum
//! field   2 unsigned | 4 double | 5 string
//! ```

use arbitrary::{Result, Unstructured};
use bloomline_core::host::{AnyFilter, Demand};
use bloomline_harness::seal_dump;

use crate::cuckoo_calls::Numbers;
use bloomline_reference::checks::header;
use bloomline_reference::checks::number::{double, whole};

/// One field of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Field {
    Unsigned(u64),
    Double(f64),
    String(Vec<u8>),
}

/// A payload as a list of fields.
#[derive(Clone, Debug)]
pub struct Payload {
    pub id: u64,
    pub fields: Vec<Field>,
    /// The RDB version.
    pub version: [u8; 2],
}

/// The server's number for a value of a module.
pub const MODULE: u8 = 7;
/// Bytes after the value: RDB version and checksum.
pub const FOOTER: usize = 10;
/// The most bytes of a generated layer.
const MADE_UP: u64 = 64 << 10;

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn bytes(&mut self, count: usize) -> Vec<u8> {
        self.0.split_off(..count).expect("a payload that a server made").to_vec()
    }

    fn length(&mut self) -> u64 {
        let first = self.bytes(1)[0];
        match first {
            0x80 | 0x81 => {
                let bytes = self.bytes(if first == 0x80 { 4 } else { 8 });
                bytes.into_iter().fold(0, |number, byte| number << 8 | u64::from(byte))
            }
            _ if first >> 6 == 0 => first.into(),
            _ if first >> 6 == 1 => u64::from(first & 63) << 8 | u64::from(self.bytes(1)[0]),
            _ => panic!("an encoded string: the server compresses"),
        }
    }
}

fn put_length(bytes: &mut Vec<u8>, length: u64) {
    match length {
        0..64 => bytes.push(length as u8),
        64..16_384 => bytes.extend((length as u16 | 0x4000).to_be_bytes()),
        16_384..=0xffff_ffff => {
            bytes.push(0x80);
            bytes.extend((length as u32).to_be_bytes());
        }
        _ => {
            bytes.push(0x81);
            bytes.extend(length.to_be_bytes());
        }
    }
}

impl Payload {
    /// Parses a payload that a server without compression has made.
    pub fn parse(dump: &[u8]) -> Self {
        let (body, footer) = dump.split_at(dump.len() - FOOTER);
        let mut reader = Reader(body);
        assert_eq!(reader.bytes(1), [MODULE]);
        let id = reader.length();
        let mut fields = Vec::new();
        loop {
            fields.push(match reader.length() {
                0 => break,
                2 => Field::Unsigned(reader.length()),
                4 => Field::Double(f64::from_le_bytes(reader.bytes(8).try_into().expect("eight"))),
                5 => {
                    let length = reader.length() as usize;
                    Field::String(reader.bytes(length))
                }
                other => panic!("a field of kind {other}"),
            });
        }
        assert!(reader.0.is_empty());
        Payload { id, fields, version: [footer[0], footer[1]] }
    }

    /// True if the type is that of cuckoo filters. The last letter of its name, six bits of the id
    /// before the encoding version, is `F`, not `-`.
    pub fn is_cuckoo(&self) -> bool {
        self.id >> 10 & 0x3f == 5
    }

    /// Encodes the fields and the version, without the checksum.
    pub fn body(&self) -> Vec<u8> {
        let mut bytes = vec![MODULE];
        put_length(&mut bytes, self.id);
        for field in &self.fields {
            match field {
                Field::Unsigned(number) => {
                    bytes.push(2);
                    put_length(&mut bytes, *number);
                }
                Field::Double(number) => {
                    bytes.push(4);
                    bytes.extend(number.to_le_bytes());
                }
                Field::String(string) => {
                    bytes.push(5);
                    put_length(&mut bytes, string.len() as u64);
                    bytes.extend(string);
                }
            }
        }
        bytes.push(0);
        bytes.extend(self.version);
        bytes
    }

    /// Changes one to four fields.
    pub fn damage(&mut self, u: &mut Unstructured) -> Result<()> {
        for _ in 0..u.int_in_range(1..=4u8)? {
            if self.fields.is_empty() {
                return Ok(());
            }
            let at = u.choose_index(self.fields.len())?;
            match u.int_in_range(0..=15u8)? {
                0 => drop(self.fields.remove(at)),
                1 => self.fields.insert(at, self.fields[at].clone()),
                2 => {
                    let other = u.choose_index(self.fields.len())?;
                    self.fields.swap(at, other);
                }
                3 => self.id = self.id & !0x3ff | u64::from(u.int_in_range(0..=6u16)?),
                4 => self.fields.truncate(at),
                _ => damage_field(u, &mut self.fields[at])?,
            }
        }
        Ok(())
    }
}

fn damage_field(u: &mut Unstructured, field: &mut Field) -> Result<()> {
    match field {
        Field::Unsigned(number) => *number = whole(u)?,
        Field::Double(number) => *number = double(u)?,
        Field::String(string) => match u.int_in_range(0..=5u8)? {
            0 => string.clear(),
            1 => string.truncate(u.int_in_range(0..=string.len())?),
            2 => string.push(u.arbitrary()?),
            3 => string.fill(0xff),
            4 if string.len() % 64 == 0 => *string = header::own(u)?,
            _ if string.is_empty() => {}
            _ => {
                let at = u.choose_index(string.len())?;
                string[at] = u.arbitrary()?;
            }
        },
    }
    Ok(())
}

/// Generates the fields of a value in RedisBloom's layout, most of which are consistent.
fn foreign(u: &mut Unstructured) -> Result<Vec<Field>> {
    use Field::{Double, String, Unsigned};
    let header::Classic { total, count, options, expansion, links } =
        header::Classic::mostly_valid(u)?;
    let mut fields = vec![
        Unsigned(total),
        Unsigned(count.into()),
        Unsigned(options.into()),
        Unsigned(expansion.into()),
    ];
    for header::Link { shape, bytes } in links {
        fields.extend([
            Unsigned(shape.capacity),
            Double(shape.error),
            Unsigned(shape.hashes.into()),
            Double(shape.bits_per_item),
            Unsigned(shape.bits),
            Unsigned(shape.log2_bits.into()),
            String(vec![u.arbitrary()?; bytes.min(MADE_UP) as usize]),
            Unsigned(shape.len),
        ]);
    }
    Ok(fields)
}

/// Generates the fields of a value in our own layout. The strings fit if the header is valid.
fn own(u: &mut Unstructured) -> Result<Vec<Field>> {
    let header = header::own(u)?;
    let mut fields = vec![Field::Unsigned(u64::MAX), Field::String(header.clone())];
    let mut few = |demand: Demand| demand.filter_bytes <= MADE_UP;
    if let Ok(filter) = AnyFilter::decode_header(&header, &mut few) {
        let mut lengths = Vec::new();
        filter.each_layer(|words| lengths.push(words.bytes() as usize));
        for length in lengths {
            fields.push(Field::String(if u.arbitrary()? {
                Vec::new()
            } else {
                vec![u.arbitrary()?; length]
            }));
        }
    }
    Ok(fields)
}

/// Generates the fields of a cuckoo filter, most of which are consistent.
fn cuckoo(u: &mut Unstructured) -> Result<Vec<Field>> {
    use Field::{String, Unsigned};
    let numbers = Numbers::mostly_valid(u)?;
    let mut fields = vec![
        Unsigned(numbers.tables),
        Unsigned(numbers.buckets),
        Unsigned(numbers.items),
        Unsigned(numbers.deletes),
        Unsigned(numbers.bucket_size),
        Unsigned(numbers.iterations),
        Unsigned(numbers.expansion),
    ];
    for buckets in numbers.buckets() {
        let bytes = buckets.saturating_mul(numbers.bucket_size).min(MADE_UP) as usize;
        let table = if u.arbitrary()? { vec![0; bytes] } else { vec![u.arbitrary()?; bytes] };
        fields.extend([Unsigned(buckets), String(table)]);
    }
    Ok(fields)
}

/// A payload to restore: a real one, damaged by field or by byte, or a generated one. The checksum
/// is correct.
pub fn any(u: &mut Unstructured, real: &[Payload]) -> Result<Vec<u8>> {
    let mut payload = u.choose(real)?.clone();
    match u.int_in_range(0..=7u8)? {
        0..=2 => payload.damage(u)?,
        3..=6 if payload.is_cuckoo() => {
            payload.fields = cuckoo(u)?;
            if u.ratio(1, 4)? {
                payload.damage(u)?;
            }
        }
        3 => payload.fields = own(u)?,
        4 | 5 => payload.fields = foreign(u)?,
        6 => {
            payload.fields = foreign(u)?;
            payload.damage(u)?;
        }
        _ => {}
    }
    let mut body = payload.body();
    if u.int_in_range(0..=3u8)? == 0 {
        for _ in 0..u.int_in_range(1..=4u8)? {
            // The first byte selects the server's own types, which are not under test.
            let at = u.int_in_range(1..=body.len() - 3)?;
            body[at] = u.arbitrary()?;
        }
    }
    Ok(seal_dump(&body))
}
