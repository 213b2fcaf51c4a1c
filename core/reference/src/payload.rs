//! The fields in a DUMP payload, read and written.

use bloomline_core::Error;
use bloomline_core::host::valkey::{ReadFields, WriteFields};

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
    type Text = Vec<u8>;
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

/// The fields of the payload.
pub fn fields_of_dump(dump: &[u8]) -> Vec<Field> {
    let mut bytes = Bytes(dump);
    assert_eq!(bytes.take(1), [7], "a module's value");
    bytes.length().unwrap();
    let mut fields = Vec::new();
    loop {
        fields.push(match bytes.length().unwrap() {
            0 => return fields,
            2 => Field::Unsigned(bytes.length().unwrap()),
            4 => Field::Number(f64::from_le_bytes(bytes.take(8).try_into().unwrap())),
            5 => Field::String(bytes.string()),
            other => panic!("opcode {other}"),
        });
    }
}

/// A payload with the type and the RDB version of another one, which a server made, and with these
/// fields. The checksum is missing.
pub fn body_with_fields(dump: &[u8], fields: &[Field]) -> Vec<u8> {
    /// Bytes before the fields: that of a module's value, and the type in nine bytes.
    const HEAD: usize = 10;
    /// Bytes after them: the RDB version and the checksum.
    const FOOTER: usize = 10;
    let (mut body, footer) = (dump[..HEAD].to_vec(), &dump[dump.len() - FOOTER..]);
    for field in fields {
        match field {
            Field::Unsigned(number) => {
                body.extend([2, 0x81]);
                body.extend(number.to_be_bytes());
            }
            Field::Number(number) => {
                body.push(4);
                body.extend(number.to_le_bytes());
            }
            Field::String(bytes) => {
                body.extend([5, 0x80]);
                body.extend((bytes.len() as u32).to_be_bytes());
                body.extend(bytes);
            }
        }
    }
    body.push(0);
    body.extend(&footer[..2]);
    body
}

/// The strings of the payload: the bits of each layer, oldest first.
pub fn bits_of_dump(dump: &[u8]) -> Vec<Vec<u8>> {
    let string = |field| match field {
        Field::String(bytes) => Some(bytes),
        Field::Unsigned(_) | Field::Number(_) => None,
    };
    fields_of_dump(dump).into_iter().filter_map(string).collect()
}
