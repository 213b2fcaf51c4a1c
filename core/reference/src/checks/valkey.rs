//! Filters of valkey-bloom from anywhere: fields of RDB files, payloads of BF.LOAD and headers.
//! Each is refused, or gives a filter that passes all checks, and goes on doing so whatever is
//! done.

use arbitrary::{Result, Unstructured};
use bloomline_core::Error;
use bloomline_core::host::valkey::ValkeyFilter;

use super::accepted::accepted;
use super::decode::assert_stays_valid;
use super::values::{damage, damage_bytes};
use crate::life::filter::Filter;
use crate::payload::{Field, FieldReader};
use crate::valkey::{FIXED_SEED, Model};

/// Reads a filter from the first bytes, and operations on it from the rest. True if a filter was
/// accepted.
pub fn run(bytes: &[u8]) -> bool {
    // It is no error if the bytes end too early.
    program(&mut Unstructured::new(bytes)).unwrap_or(false)
}

fn program(u: &mut Unstructured) -> Result<bool> {
    let Some(Filter::Bloom(filter)) = decoded(u)? else { return Ok(false) };
    assert_stays_valid(filter, &[], u)?;
    Ok(true)
}

/// A filter of bytes that may be damaged. None if they are refused.
fn decoded(u: &mut Unstructured) -> Result<Option<Filter>> {
    let of = |decoded: std::result::Result<ValkeyFilter, Error>| decoded.map(Filter::from);
    Ok(match u.int_in_range(0..=3u8)? {
        0 => {
            let payload = u.bytes(u.len())?;
            accepted(|permit| of(ValkeyFilter::decode_payload(payload, permit)))
        }
        1 => {
            let mut payload = model(u)?.load_payload();
            damage_bytes(&mut payload, u)?;
            accepted(|permit| of(ValkeyFilter::decode_payload(&payload, permit)))
        }
        2 => {
            let fields = model(u)?.fields();
            let mut header = of_fields(&fields).encode_header();
            damage_bytes(&mut header, u)?;
            accepted(|permit| of(ValkeyFilter::decode_header(&header, permit)))
        }
        _ => {
            let mut fields = model(u)?.fields();
            damage(&mut fields, u)?;
            accepted(|permit| {
                ValkeyFilter::decode_fields(&mut FieldReader(&fields), permit).map(Filter::from)
            })
        }
    })
}

/// A valid filter.
fn model(u: &mut Unstructured) -> Result<Model> {
    let capacity = u.int_in_range(1..=40)?;
    let rate = *u.choose(&[0.01, 0.5, 1e-3, 0.9999999, 1e-12])?;
    let expansion = *u.choose(&[2, 1, 0, 3, u32::MAX])?;
    let tightening = *u.choose(&[0.5, 0.9, 0.01])?;
    let seed = if u.arbitrary()? { FIXED_SEED } else { [u.arbitrary()?; 32] };
    let mut model = Model::new(capacity, rate, expansion, tightening, seed);
    let items =
        u.int_in_range(0..=60u32)?.min(if expansion > 3 { capacity as u32 / 2 } else { 60 });
    for item in 0..items {
        model.insert(&item.to_le_bytes());
    }
    Ok(model)
}

fn of_fields(fields: &[Field]) -> ValkeyFilter {
    ValkeyFilter::decode_fields(&mut FieldReader(fields), &mut |_| true).expect("valid fields")
}
