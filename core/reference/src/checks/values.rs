//! Values of RDB files from anywhere: each is refused, or gives a filter that passes all checks.

use arbitrary::{Result, Unstructured};
use bloomline_core::host::AnyFilter;
use bloomline_core::host::cuckoo::{AnyCuckoo, CuckooOptions, CuckooSpec};
use bloomline_core::host::stream::VERSION;

use super::accepted::{accepted, assert_works};
use super::check::small;
use super::{header, number};
use crate::life::filter::Filter;
use crate::payload::{Field, FieldReader, FieldWriter, OLD_OPTIONS};

/// Most items of a cuckoo filter.
const MOST_ITEMS: u32 = 60;

/// Makes a value of the first bytes, and damages it by the rest. True if it is accepted.
pub fn run(bytes: &[u8]) -> bool {
    let mut u = Unstructured::new(bytes);
    // It is no error if the bytes end too early.
    program(&mut u).unwrap_or(false)
}

fn program(u: &mut Unstructured) -> Result<bool> {
    if u.arbitrary()? { bloom(u) } else { cuckoo(u) }
}

fn bloom(u: &mut Unstructured) -> Result<bool> {
    let Ok(filter) = AnyFilter::decode_header(&header::any(u)?, &mut small) else {
        return Ok(false);
    };
    let mut fields = FieldWriter::default();
    filter.encode_fields(&mut fields).expect("memory");
    damage(&mut fields.0, u)?;
    let version = u.int_in_range(0..=VERSION)?;
    let filter = accepted(|permit| {
        AnyFilter::decode_fields(&mut FieldReader(&fields.0), version, permit).map(Filter::Bloom)
    });
    Ok(filter.map(assert_works).is_some())
}

fn cuckoo(u: &mut Unstructured) -> Result<bool> {
    let mut fields = FieldWriter::default();
    new_cuckoo(u)?.encode_fields(&mut fields);
    damage(&mut fields.0, u)?;
    let version = u.int_in_range(0..=VERSION)?;
    let filter = accepted(|permit| {
        AnyCuckoo::decode_fields(&mut FieldReader(&fields.0), version, OLD_OPTIONS, permit)
            .map(Filter::Cuckoo)
    });
    Ok(filter.map(assert_works).is_some())
}

/// A valid cuckoo filter with some items.
fn new_cuckoo(u: &mut Unstructured) -> Result<AnyCuckoo> {
    let capacity = u.int_in_range(4..=200)?;
    let options = CuckooOptions {
        bucket_size: *u.choose(&[1, 2, 3, 4])?,
        max_iterations: u.int_in_range(1..=20)?,
        expansion: *u.choose(&[0, 1, 2, 4])?,
    };
    let created = if u.arbitrary()? {
        AnyCuckoo::redisbloom(capacity.max(8), options, &mut small)
    } else {
        let spec = CuckooSpec { capacity, error_rate: 0.01, options };
        AnyCuckoo::bloomline(spec, 7, &mut small)
    };
    let mut filter = created.expect("valid options");
    for item in 0..u.int_in_range(0..=MOST_ITEMS)? {
        let _ = filter.insert(&item.to_le_bytes(), &mut small);
    }
    Ok(filter)
}

/// Changes no to three fields.
pub(super) fn damage(fields: &mut Vec<Field>, u: &mut Unstructured) -> Result<()> {
    for _ in 0..u.int_in_range(0..=3u8)? {
        let at = u.int_in_range(0..=fields.len() - 1)?;
        if fields.len() > 1 && u.ratio(1, 16)? {
            fields.remove(at);
            continue;
        }
        damage_field(&mut fields[at], u)?;
    }
    Ok(())
}

/// Changes a field, or nothing.
pub fn damage_field(field: &mut Field, u: &mut Unstructured) -> Result<()> {
    match field {
        Field::Unsigned(value) => *value = number::whole(u)?,
        Field::Number(value) => *value = number::double(u)?,
        Field::String(bytes) => damage_bytes(bytes, u)?,
    }
    Ok(())
}

/// Changes no to three numbers of some bytes, or their length.
pub(super) fn damage_bytes(bytes: &mut Vec<u8>, u: &mut Unstructured) -> Result<()> {
    for _ in 0..u.int_in_range(0..=3u8)? {
        if u.ratio(1, 8)? {
            let length = u.int_in_range(0..=bytes.len() + 10)?;
            bytes.resize(length, 0);
        }
        if bytes.is_empty() {
            return Ok(());
        }
        // The first bytes are the numbers.
        let most = if u.arbitrary()? { bytes.len().min(128) } else { bytes.len() };
        let at = u.int_in_range(0..=most - 1)?;
        let number = match u.arbitrary()? {
            true => number::whole(u)?.to_le_bytes(),
            false => number::double(u)?.to_le_bytes(),
        };
        let width = (*u.choose(&[1, 4, 8, 8])?).min(bytes.len() - at);
        bytes[at..at + width].copy_from_slice(&number[..width]);
    }
    Ok(())
}
