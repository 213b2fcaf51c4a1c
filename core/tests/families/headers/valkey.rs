//! Filters in valkey-bloom's layout: headers, the fields of values, and payloads of BF.LOAD. Some
//! of these bytes end valkey-bloom's server.

use bloomline_core::error::HeaderError::{Length, Reserved, Version};
use bloomline_core::host::AnyFilter;
use bloomline_core::host::valkey::{ValkeyError, ValkeyFilter};
use bloomline_core::{Error, Layout};
use bloomline_reference::calls::Calls;
use bloomline_reference::edges::{Forged, Valkey};
use bloomline_reference::payload::Field::{self, Unsigned};
use bloomline_reference::payload::{FieldError, bloom_of};
use bloomline_reference::valkey_fixture::file;

use super::{Table, changed, row};

/// Three layers of 2, 4 and 8 items, the newest of which holds two.
fn numbers() -> Valkey {
    Valkey { newest_len: 2, ..Valkey::of(&[2, 4, 8], 2, 0.01, 0.5) }
}

fn header(numbers: Valkey) -> Vec<u8> {
    Forged::ValkeyBloom(numbers).header()
}

fn decode(fields: &[Field]) -> Result<AnyFilter, FieldError> {
    bloom_of(Layout::ValkeyBloom, fields, &mut |_| true)
}

/// The fields of the filter after a change.
fn fields(change: impl FnOnce(&mut Vec<Field>)) -> Vec<Field> {
    let mut fields = Forged::ValkeyBloom(numbers()).fields();
    change(&mut fields);
    fields
}

fn refusal(fields: &[Field]) -> Error {
    match decode(fields) {
        Err(FieldError::Core(error)) => error,
        other => panic!("{other:?}"),
    }
}

/// The refusal of the bytes of a layer after a change.
fn layer(at: usize, change: impl FnOnce(&mut Vec<u8>)) -> Error {
    refusal(&fields(|fields| match &mut fields[at] {
        Field::String(bytes) => change(bytes),
        other => panic!("{other:?}"),
    }))
}

pub(super) fn table() -> Table {
    let valid = header(numbers());
    // The offset of a field of a layer, and of the count of items.
    let at = |layer: usize, field| 80 + 24 * layer + field;
    let rates = [0.0, -0.0, -1.0, 1.0, f64::INFINITY, f64::NAN];
    let most = i64::MAX as u64;
    let items = |layer, items, capacity| ValkeyError::Items { layer, items, capacity };
    let hashes = |hashes| ValkeyError::Hashes { layer: 0, hashes, needed: 8 };
    let bytes = |bytes| ValkeyError::Bytes { layer: 0, bytes, needed: 3 };
    let mut invalid = vec![
        row(&valid, 8, 2u16, Version(2)),
        row(&valid, 10, 2u8, ValkeyError::SeedFlag(2)),
        row(&valid, 11, 1u8, Reserved),
        row(&valid, 12, 0u32, ValkeyError::Layers(0)),
        row(&valid, 12, 4_097u32, ValkeyError::Layers(4_097)),
        row(&valid, 12, 2u32, Length(valid.len())),
        row(&valid, 12, 5u32, Length(valid.len())),
        row(&valid, 20, 1u8, Reserved),
        // Only later layers have a smallest rate.
        row(&valid, 24, 5e-324, ValkeyError::Bytes { layer: 0, bytes: 3, needed: 388 }),
        row(&valid, 32, 1e-307, Error::ErrorRateTooSmall(0.01 * 1e-307)),
        row(&valid, 40, 1u8, ValkeyError::FixedSeed),
        row(&valid, 72, 9u64, items(2, 9, 8)),
        row(&valid, at(0, 0), 0u64, ValkeyError::Capacity(0)),
        row(&valid, at(0, 0), 1u64 << 63, ValkeyError::Capacity(1 << 63)),
        // Capacities that need more bits than the layer has.
        row(&valid, at(0, 0), 3u64, ValkeyError::Bytes { layer: 0, bytes: 3, needed: 4 }),
        // The sum of the capacities is above 2^63 - 1.
        row(&valid, at(2, 0), most, ValkeyError::Capacity(most)),
        row(&valid, at(0, 20), 1u8, Reserved),
        row(&valid, at(3, 0), 1u8, Reserved),
    ];
    for rate in rates {
        invalid.push(row(&valid, 24, rate, ValkeyError::ErrorRate(rate)));
        invalid.push(row(&valid, 32, rate, ValkeyError::Tightening(rate)));
    }
    invalid.extend([0, 7, 9, u32::MAX].map(|given| row(&valid, at(0, 16), given, hashes(given))));
    invalid.extend([0, 1, 2, 4, u64::MAX].map(|given| row(&valid, at(0, 8), given, bytes(given))));
    Table {
        layout: Layout::ValkeyBloom,
        is_cuckoo: false,
        invalid,
        huge: vec![header(Valkey::of(&[1 << 42], 2, 0.01, 0.5))],
        valid: vec![
            // A filter that does not grow and has several layers; a random seed that is the fixed
            // one; the largest expansion.
            changed(&changed(&valid, 16, &0u32), 10, &1u8),
            changed(&valid, 16, &u32::MAX),
            // 3,200 bytes would be the length of a header in RedisBloom's layout.
            header(Valkey::of(&[1; 128], 1, 0.01, 0.99)),
            header(Valkey::of(&[1; 130], 1, 0.01, 0.99)),
            valid,
        ],
    }
}

/// Numbers of 64 bits that a header does not have, and the bytes of layers.
#[test]
fn fields_that_no_filter_has_are_refused() {
    let set = |at: usize, field: Field| refusal(&fields(|fields| fields[at] = field));
    assert_eq!(set(0, Unsigned(u64::MAX)), ValkeyError::Layers(u64::MAX).into());
    assert_eq!(set(0, Unsigned(1 << 32)), ValkeyError::Layers(1 << 32).into());
    assert_eq!(set(1, Unsigned(1 << 32)), ValkeyError::Expansion(1 << 32).into());
    assert_eq!(set(4, Unsigned(256)), ValkeyError::SeedFlag(256).into());
    // A capacity whose bits cannot be counted.
    assert!(matches!(set(5, Unsigned(i64::MAX as u64 - 100)), Error::Valkey(_)));
    let length = |bytes| Error::from(ValkeyError::Length(bytes));
    for bytes in [0, 44, 47, 49] {
        assert_eq!(layer(6, |blob| blob.resize(bytes, 0)), length(bytes as u64));
    }
    assert_eq!(layer(6, |blob| blob[0] = 2), ValkeyError::LayerVersion(2).into());
    assert_eq!(layer(6, |blob| blob[1] = 4), length(48));
    for bytes in [0, 1, 2, 4, 200] {
        let error = layer(6, |blob| {
            blob[1] = bytes;
            blob.resize(45 + usize::from(bytes), 0);
        });
        let bytes = ValkeyError::Bytes { layer: 0, bytes: bytes.into(), needed: 3 };
        assert_eq!(error, bytes.into());
    }
    assert_eq!(layer(6, |blob| blob[13] ^= 1), ValkeyError::FixedSeed.into());
    assert_eq!(layer(8, |blob| blob[44] ^= 1), ValkeyError::Seed(1).into());
}

/// The next layer would be too large, but the newest one is not full.
#[test]
fn a_filter_of_the_largest_expansion_fills_its_layer() {
    let large = fields(|fields| fields[1] = Unsigned(u32::MAX.into()));
    let mut large = decode(&large).expect("a filter");
    let results: Vec<_> = (0..100u32)
        .map(|n| large.insert_item(&n.to_be_bytes(), 0, &mut |it| it.new_bytes < 99))
        .collect();
    assert!(results.iter().flatten().any(|it| it.is_new()), "{results:?}");
    assert!(results.iter().any(|it| matches!(it, Err(Error::Refused(_)))), "{results:?}");
}

#[test]
fn payloads_of_bf_load_are_checked_to_the_end() {
    let payload = file("annotated.load");
    let refusal = |bytes: &[u8]| match ValkeyFilter::decode_payload(bytes, &mut |_| true) {
        Err(error) => error,
        Ok(filter) => panic!("{filter:?}"),
    };
    for length in (0..payload.len()).chain([payload.len() + 1]) {
        let mut bytes = payload.clone();
        bytes.resize(length, 0);
        let error = refusal(&bytes);
        assert!(matches!(error, Error::Valkey(_)), "{length}: {error}");
    }
    let items = |items| ValkeyError::Items { layer: 0, items, capacity: 2 };
    for (bytes, error) in [
        row(&payload, 0, 2u8, ValkeyError::PayloadVersion(2)),
        row(&payload, 21, 2u8, ValkeyError::SeedFlag(2)),
        row(&payload, 22, 0u64, ValkeyError::Layers(0)),
        row(&payload, 22, 1u64 << 40, ValkeyError::Layers(1 << 40)),
        row(&payload, 30, u64::MAX, ValkeyError::Length(177)),
        // Items and capacity of the first layer.
        row(&payload, 86, 1u64, items(1)),
        row(&payload, 86, 3u64, items(3)),
        row(&payload, 94, 0u64, ValkeyError::Capacity(0)),
    ] {
        assert_eq!(refusal(&bytes), error);
    }
}
