//! The fields in a DUMP payload, read and written.

use bloomline_core::host::cuckoo::{AnyCuckoo, CuckooOptions};
use bloomline_core::host::stream::{ReadFields, VERSION, WriteFields};
use bloomline_core::host::valkey::ValkeyFilter;
use bloomline_core::host::{AnyFilter, Permit};
use bloomline_core::{Error, Layout};

/// A reader of the bytes of an RDB value.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (first, rest) = self.0.split_at(count);
        self.0 = rest;
        first
    }

    /// A length, or the encoding of a string that is not stored as plain bytes.
    fn length(&mut self) -> Result<u64, u8> {
        let first = self.take(1)[0];
        Ok(match first >> 6 {
            0 => u64::from(first & 63),
            1 => u64::from(first & 63) << 8 | u64::from(self.take(1)[0]),
            2 => self
                .take(if first == 0x81 { 8 } else { 4 })
                .iter()
                .fold(0, |n, &b| n << 8 | u64::from(b)),
            _ => return Err(first & 63),
        })
    }

    fn string(&mut self) -> Vec<u8> {
        match self.length() {
            Ok(length) => self.take(length as usize).to_vec(),
            Err(3) => {
                let (packed, length) = (self.length().unwrap(), self.length().unwrap());
                let unpacked = unpack(self.take(packed as usize));
                assert_eq!(unpacked.len() as u64, length);
                unpacked
            }
            Err(encoding) => panic!("unexpected string encoding {encoding}"),
        }
    }
}

/// Decompresses LZF: runs of literal bytes, and references to earlier output.
fn unpack(packed: &[u8]) -> Vec<u8> {
    let mut from = Bytes(packed);
    let mut to: Vec<u8> = Vec::new();
    while !from.0.is_empty() {
        let control = usize::from(from.take(1)[0]);
        if control < 32 {
            to.extend(from.take(control + 1));
            continue;
        }
        let mut length = control >> 5;
        if length == 7 {
            length += usize::from(from.take(1)[0]);
        }
        let back = ((control & 31) << 8 | usize::from(from.take(1)[0])) + 1;
        for _ in 0..length + 2 {
            to.push(to[to.len() - back]);
        }
    }
    to
}

/// A field of a module's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Field {
    Unsigned(u64),
    Number(f64),
    String(Vec<u8>),
}

/// Why a list of fields is no filter.
#[derive(Debug, PartialEq)]
pub enum FieldError {
    /// There is no next field, or it is of another kind.
    Missing,
    /// What the core says.
    Core(Error),
}

impl From<Error> for FieldError {
    fn from(error: Error) -> Self {
        Self::Core(error)
    }
}

/// Reads fields from a list.
pub struct FieldReader<'a>(pub &'a [Field]);

impl ReadFields for FieldReader<'_> {
    type Bytes = Vec<u8>;
    type Error = FieldError;

    fn unsigned(&mut self) -> Result<u64, FieldError> {
        match self.0.split_off_first() {
            Some(Field::Unsigned(value)) => Ok(*value),
            _ => Err(FieldError::Missing),
        }
    }

    fn number(&mut self) -> Result<f64, FieldError> {
        match self.0.split_off_first() {
            Some(Field::Number(value)) => Ok(*value),
            _ => Err(FieldError::Missing),
        }
    }

    fn string(&mut self) -> Result<Vec<u8>, FieldError> {
        match self.0.split_off_first() {
            Some(Field::String(value)) => Ok(value.clone()),
            _ => Err(FieldError::Missing),
        }
    }
}

/// The options of cuckoo filters of encoding versions that do not store them: RedisBloom's
/// defaults.
pub const OLD_OPTIONS: CuckooOptions =
    CuckooOptions { bucket_size: 2, max_iterations: 20, expansion: 1 };

/// The Bloom filter of the fields of a value of its layout's type, none of which may be left.
///
/// # Errors
///
/// Those of the core; [`FieldError::Missing`] also if there are more fields.
pub fn bloom_of(layout: Layout, fields: &[Field], permit: Permit) -> Result<AnyFilter, FieldError> {
    let mut reader = FieldReader(fields);
    let filter = match layout {
        Layout::ValkeyBloom => ValkeyFilter::decode_fields(&mut reader, permit)?.into(),
        _ => AnyFilter::decode_fields(&mut reader, VERSION, permit)?,
    };
    reader.0.is_empty().then_some(filter).ok_or(FieldError::Missing)
}

/// The cuckoo filter of the fields of a value, none of which may be left.
///
/// # Errors
///
/// Those of [`bloom_of`].
pub fn cuckoo_of(fields: &[Field], permit: Permit) -> Result<AnyCuckoo, FieldError> {
    let mut reader = FieldReader(fields);
    let filter = AnyCuckoo::decode_fields(&mut reader, VERSION, OLD_OPTIONS, permit)?;
    reader.0.is_empty().then_some(filter).ok_or(FieldError::Missing)
}

/// Writes fields to a list.
#[derive(Default)]
pub struct FieldWriter(pub Vec<Field>);

impl WriteFields for FieldWriter {
    fn unsigned(&mut self, value: u64) {
        self.0.push(Field::Unsigned(value));
    }

    fn number(&mut self, value: f64) {
        self.0.push(Field::Number(value));
    }

    fn string(&mut self, bytes: &[u8]) {
        self.0.push(Field::String(bytes.to_vec()));
    }
}

/// The server's number for a value of a module.
pub const MODULE: u8 = 7;
/// Bytes after the value: RDB version and checksum.
const FOOTER: usize = 10;

/// A payload as a list of fields.
///
/// ```text
/// 7, the type's id (10 bits of encoding version at its end), fields, 0       RDB version, checksum
/// field   2 unsigned | 4 double | 5 string
/// ```
#[derive(Clone, Debug)]
pub struct Payload {
    pub id: u64,
    pub fields: Vec<Field>,
    /// The RDB version.
    pub version: [u8; 2],
}

impl Payload {
    /// Parses a payload that a server has made.
    pub fn parse(dump: &[u8]) -> Self {
        let (body, footer) = dump.split_at(dump.len() - FOOTER);
        let mut bytes = Bytes(body);
        assert_eq!(bytes.take(1), [MODULE], "a module's value");
        let id = bytes.length().unwrap();
        let mut fields = Vec::new();
        loop {
            fields.push(match bytes.length().unwrap() {
                0 => break,
                2 => Field::Unsigned(bytes.length().unwrap()),
                4 => Field::Number(f64::from_le_bytes(bytes.take(8).try_into().unwrap())),
                5 => Field::String(bytes.string()),
                other => panic!("opcode {other}"),
            });
        }
        assert!(bytes.0.is_empty());
        Self { id, fields, version: [footer[0], footer[1]] }
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
                Field::Number(number) => {
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

/// The strings of the payload: the bits of each layer, oldest first.
pub fn bits_of_dump(dump: &[u8]) -> Vec<Vec<u8>> {
    let string = |field| match field {
        Field::String(bytes) => Some(bytes),
        Field::Unsigned(_) | Field::Number(_) => None,
    };
    Payload::parse(dump).fields.into_iter().filter_map(string).collect()
}
