//! DUMP payloads of filters: damaged by field or by byte, or generated.

use arbitrary::{Result, Unstructured};
use bloomline_core::host::{AnyFilter, Demand};
use bloomline_harness::seal_dump;

use crate::cuckoo_calls::Numbers;
use bloomline_reference::checks::header;
use bloomline_reference::checks::number::{double, whole};
use bloomline_reference::payload::{Field, Payload};

/// The most bytes of a generated layer.
const MADE_UP: u64 = 64 << 10;

/// Changes one to four fields.
fn damage(payload: &mut Payload, u: &mut Unstructured) -> Result<()> {
    for _ in 0..u.int_in_range(1..=4u8)? {
        if payload.fields.is_empty() {
            return Ok(());
        }
        let at = u.choose_index(payload.fields.len())?;
        match u.int_in_range(0..=15u8)? {
            0 => drop(payload.fields.remove(at)),
            1 => payload.fields.insert(at, payload.fields[at].clone()),
            2 => {
                let other = u.choose_index(payload.fields.len())?;
                payload.fields.swap(at, other);
            }
            3 => payload.id = payload.id & !0x3ff | u64::from(u.int_in_range(0..=6u16)?),
            4 => payload.fields.truncate(at),
            _ => damage_field(u, &mut payload.fields[at])?,
        }
    }
    Ok(())
}

fn damage_field(u: &mut Unstructured, field: &mut Field) -> Result<()> {
    match field {
        Field::Unsigned(number) => *number = whole(u)?,
        Field::Number(number) => *number = double(u)?,
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
    let numbers = header::Classic::mostly_valid(u)?;
    let mut bits = Vec::new();
    for link in &numbers.links {
        bits.push(vec![u.arbitrary()?; link.bytes.min(MADE_UP) as usize]);
    }
    Ok(numbers.fields(bits))
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
        0..=2 => damage(&mut payload, u)?,
        3..=6 if payload.is_cuckoo() => {
            payload.fields = cuckoo(u)?;
            if u.ratio(1, 4)? {
                damage(&mut payload, u)?;
            }
        }
        3 => payload.fields = own(u)?,
        4 | 5 => payload.fields = foreign(u)?,
        6 => {
            payload.fields = foreign(u)?;
            damage(&mut payload, u)?;
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
