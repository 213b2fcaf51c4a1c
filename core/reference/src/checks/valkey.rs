//! Filters of valkey-bloom from anywhere: fields of RDB files, payloads of BF.LOAD and headers.
//! Each is refused, or gives a filter that passes all checks, and goes on doing so whatever is
//! done.

use arbitrary::{Result, Unstructured};
use bloomline_core::Error;
use bloomline_core::host::valkey::ValkeyFilter;
use bloomline_core::host::{AnyFilter, Demand};

use super::check::{assert_consistent, assert_grows, assert_reloads, small};
use super::values::{damage, damage_bytes};
use crate::calls::Calls;
use crate::payload::{Field, FieldError, FieldReader};
use crate::valkey::{FIXED_SEED, Model};

/// Reads a filter from the first bytes, and operations on it from the rest. True if a filter was
/// accepted.
pub fn run(bytes: &[u8]) -> bool {
    // It is no error if the bytes end too early.
    program(&mut Unstructured::new(bytes)).unwrap_or(false)
}

fn program(u: &mut Unstructured) -> Result<bool> {
    let Some(mut filter) = decoded(u)? else { return Ok(false) };
    assert_valid(&filter);
    assert_grows(&mut filter.try_clone(&mut small).expect("its own size is allowed"));
    for _ in 0..u.int_in_range(0..=6u8)? {
        operate(&mut filter, u)?;
        assert_valid(&filter);
    }
    assert_grows(&mut filter);
    Ok(true)
}

/// A filter of bytes that may be damaged. None if they are refused.
fn decoded(u: &mut Unstructured) -> Result<Option<AnyFilter>> {
    let mut demands = Vec::new();
    let mut permit = |demand: Demand| {
        demands.push(demand);
        small(demand)
    };
    let result = match u.int_in_range(0..=3u8)? {
        0 => ValkeyFilter::decode_payload(u.bytes(u.len())?, &mut permit),
        1 => {
            let mut payload = model(u)?.load_payload();
            damage_bytes(&mut payload, u)?;
            ValkeyFilter::decode_payload(&payload, &mut permit)
        }
        2 => {
            let fields = model(u)?.fields();
            let mut header = of_fields(&fields).encode_header();
            damage_bytes(&mut header, u)?;
            ValkeyFilter::decode_header(&header, &mut permit)
        }
        _ => {
            let mut fields = model(u)?.fields();
            damage(&mut fields, u)?;
            match ValkeyFilter::decode_fields(&mut FieldReader(&fields), &mut permit) {
                Ok(filter) => Ok(filter),
                Err(FieldError::Core(error)) => Err(error),
                Err(FieldError::Missing) => return Ok(None),
            }
        }
    };
    match result {
        Ok(filter) => Ok(Some(filter.into())),
        Err(error) => {
            let is_granted = demands.iter().all(|&demand| small(demand));
            assert!(is_granted || matches!(error, Error::Refused(_)), "{error}");
            assert!(!error.to_string().is_empty());
            Ok(None)
        }
    }
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

/// Checks that a filter is valid, and is the same after each way of saving and loading it.
fn assert_valid(filter: &AnyFilter) {
    filter.check().expect("a valid filter");
    assert_consistent(filter);
    assert_reloads(filter);
}

/// Does one operation that a client could do.
fn operate(filter: &mut AnyFilter, u: &mut Unstructured) -> Result<()> {
    let first = u.int_in_range(0..=1_000u32)?;
    let items: Vec<[u8; 4]> =
        (first..=first + u.int_in_range(0..=100u32)?).map(u32::to_le_bytes).collect();
    match u.int_in_range(0..=3u8)? {
        0 => {
            let (mut offset, mut lengths) = (0, Vec::new());
            filter.each_layer(|words| lengths.push(words.bytes()));
            let byte = u.arbitrary()?;
            for length in lengths {
                filter.write_chunk(offset, &vec![byte; length as usize]).expect("a whole layer");
                offset += length;
            }
            assert!(byte != 0xff || filter.contains_item(b"anything", 0));
        }
        1 => {
            let copy = filter.try_clone(&mut |_| true).expect("memory");
            assert_eq!(filter.union(&[&copy], &mut small), Err(Error::OfValkeyBloom));
            assert_eq!(filter.compact(), Err(Error::OfValkeyBloom));
        }
        _ => {
            let (before, mut new, mut answers) = (filter.len(), 0, Vec::new());
            filter.insert_each(
                &mut items.iter().map(AsRef::as_ref),
                0,
                &mut small,
                &mut |answer| answers.push(answer),
            );
            for (item, answer) in items.iter().zip(&answers) {
                new += u64::from(answer.is_ok_and(|insertion| insertion.is_new()));
                assert!(answer.is_err() || filter.contains_item(item, 0));
            }
            assert_eq!(filter.len(), before + new);
        }
    }
    Ok(())
}
