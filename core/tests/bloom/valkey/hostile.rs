//! Bytes that end valkey-bloom's server, and others that nothing writes: each is refused with its
//! reason.

use bloomline_core::Error;
use bloomline_core::host::valkey::{ValkeyError, ValkeyFilter};
use bloomline_reference::calls::Calls;
use bloomline_reference::payload::{Field, FieldError, FieldReader};
use bloomline_reference::valkey::{FIXED_SEED, Model};
use bloomline_reference::valkey_fixture::file;

/// Three layers of 2, 4 and 8 items, the newest of which holds two.
fn model() -> Model {
    let mut model = Model::new(2, 0.01, 2, 0.5, FIXED_SEED);
    let mut items = 0u32..;
    while model.len() < 8 {
        model.insert(&items.next().unwrap().to_le_bytes());
    }
    model
}

fn refusal(change: impl FnOnce(&mut Vec<Field>)) -> Error {
    let mut fields = model().fields();
    change(&mut fields);
    match ValkeyFilter::decode_fields(&mut FieldReader(&fields), &mut |_| true) {
        Err(FieldError::Core(error)) => error,
        other => panic!("{other:?}"),
    }
}

/// The refusal of the bytes of the first layer after a change.
fn layer(change: impl FnOnce(&mut Vec<u8>)) -> Error {
    refusal(|fields| match &mut fields[6] {
        Field::String(bytes) => change(bytes),
        other => panic!("{other:?}"),
    })
}

#[test]
fn fields_that_no_filter_has_are_refused() {
    use Field::{Number, Unsigned};
    let set = |at: usize, field: Field| refusal(|fields| fields[at] = field);
    assert_eq!(set(0, Unsigned(0)), ValkeyError::Layers(0).into());
    assert_eq!(set(0, Unsigned(4_097)), ValkeyError::Layers(4_097).into());
    assert_eq!(set(0, Unsigned(u64::MAX)), ValkeyError::Layers(u64::MAX).into());
    assert_eq!(set(1, Unsigned(1 << 32)), ValkeyError::Expansion(1 << 32).into());
    for rate in [0.0, -0.0, -1.0, 1.0, 1.5, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(set(2, Number(rate)), ValkeyError::ErrorRate(rate).into());
        assert_eq!(set(3, Number(rate)), ValkeyError::Tightening(rate).into());
    }
    for at in [2, 3] {
        let error = set(at, Number(f64::NAN));
        assert!(matches!(error, Error::Valkey(_)), "{error}");
    }
    // Only later layers have a smallest rate.
    for rate in [5e-324, f64::MIN_POSITIVE] {
        let error = set(2, Number(rate));
        assert!(matches!(error, Error::Valkey(ValkeyError::Bytes { layer: 0, .. })), "{error}");
    }
    assert_eq!(set(3, Number(1e-307)), Error::ErrorRateTooSmall(0.01 * 1e-307));
    assert_eq!(set(4, Unsigned(2)), ValkeyError::SeedFlag(2).into());
    assert_eq!(set(5, Unsigned(0)), ValkeyError::Capacity(0).into());
    assert_eq!(set(5, Unsigned(1 << 63)), ValkeyError::Capacity(1 << 63).into());
    assert_eq!(set(5, Unsigned(u64::MAX)), ValkeyError::Capacity(u64::MAX).into());
    assert_eq!(set(10, Unsigned(9)), ValkeyError::Items { layer: 2, items: 9, capacity: 8 }.into());
    // Capacities that need more bits than the layer has, up to ones whose bits cannot be counted.
    for capacity in [3, 1 << 20, 1 << 60, i64::MAX as u64 - 100] {
        let error = set(5, Unsigned(capacity));
        assert!(matches!(error, Error::Valkey(_)), "{error}");
    }
    // The sum of the capacities is above 2^63 - 1.
    let most = i64::MAX as u64;
    assert_eq!(set(9, Unsigned(most)), ValkeyError::Capacity(most).into());
}

#[test]
fn bytes_of_layers_that_no_filter_has_are_refused() {
    let length = |n| Error::from(ValkeyError::Length(n));
    assert_eq!(layer(Vec::clear), length(0));
    assert_eq!(layer(|bytes| bytes.truncate(44)), length(44));
    assert_eq!(layer(|bytes| bytes.push(0)), length(49));
    assert_eq!(layer(|bytes| bytes.truncate(47)), length(47));
    assert_eq!(layer(|bytes| bytes[0] = 2), ValkeyError::LayerVersion(2).into());
    assert_eq!(layer(|bytes| bytes[1] = 4), length(48));
    let hashes = |n: u32| layer(|bytes| bytes[9..13].copy_from_slice(&n.to_le_bytes()));
    for hashes_given in [0, 1, 7, 9, 1_026, 1_027, u32::MAX] {
        let needed = ValkeyError::Hashes { layer: 0, hashes: hashes_given, needed: 8 };
        assert_eq!(hashes(hashes_given), needed.into());
    }
    let empty = layer(|bytes| {
        bytes.truncate(45);
        bytes[1] = 0;
    });
    let bytes = |bytes| Error::from(ValkeyError::Bytes { layer: 0, bytes, needed: 3 });
    assert_eq!(empty, bytes(0));
    for given in [1, 2, 4, 200] {
        let other = layer(|blob| {
            blob[1] = given;
            blob.resize(45 + usize::from(given), 0);
        });
        assert_eq!(other, bytes(given.into()));
    }
    assert_eq!(layer(|bytes| bytes[13] ^= 1), ValkeyError::FixedSeed.into());
    let second = refusal(|fields| {
        fields[4] = Field::Unsigned(1);
        let Field::String(bytes) = &mut fields[8] else { panic!() };
        bytes[44] ^= 1;
    });
    assert_eq!(second, ValkeyError::Seed(1).into());
}

#[test]
fn what_valkey_bloom_loads_and_uses_is_loaded() {
    let loads = |change: fn(&mut Vec<Field>)| {
        let mut fields = model().fields();
        change(&mut fields);
        let filter = ValkeyFilter::decode_fields(&mut FieldReader(&fields), &mut |_| true);
        filter.expect("a filter")
    };
    // A filter that does not grow and has several layers, and a random seed that is the fixed one.
    let fixed = loads(|fields| {
        fields[1] = Field::Unsigned(0);
        fields[4] = Field::Unsigned(1);
    });
    assert!(fixed.common().is_random && fixed.common().expansion == 0);
    // The largest expansion: the next layer would be too large, but this one is not full.
    let mut large = loads(|fields| fields[1] = Field::Unsigned(u32::MAX.into()));
    let grown =
        (0..100u32).map(|n| large.insert_item(&n.to_be_bytes(), 0, &mut |it| it.new_bytes < 99));
    let results: Vec<_> = grown.collect();
    assert!(results.contains(&Ok(true)));
    assert!(matches!(results.last(), Some(Err(Error::Refused(_)) | Ok(false))), "{results:?}");
}

#[test]
fn payloads_of_bf_load_are_checked_to_the_end() {
    let payload = file("annotated.load");
    let refusal = |bytes: &[u8]| match ValkeyFilter::decode_payload(bytes, &mut |_| true) {
        Err(error) => error,
        Ok(filter) => panic!("{filter:?}"),
    };
    for length in 0..payload.len() {
        let error = refusal(&payload[..length]);
        assert!(matches!(error, Error::Valkey(_)), "{length}: {error}");
    }
    let longer = [&payload[..], &[0]].concat();
    assert_eq!(refusal(&longer), ValkeyError::Length(178).into());
    let with = |at: usize, bytes: &[u8]| {
        let mut changed = payload.clone();
        changed[at..at + bytes.len()].copy_from_slice(bytes);
        refusal(&changed)
    };
    assert_eq!(with(0, &[2]), ValkeyError::PayloadVersion(2).into());
    assert_eq!(with(21, &[2]), ValkeyError::SeedFlag(2).into());
    assert_eq!(with(22, &[0]), ValkeyError::Layers(0).into());
    assert_eq!(with(22, &(1u64 << 40).to_le_bytes()), ValkeyError::Layers(1 << 40).into());
    assert!(matches!(with(30, &u64::MAX.to_le_bytes()), Error::Valkey(ValkeyError::Length(177))));
    // Items and capacity of the first layer.
    assert_eq!(with(94, &[0]), ValkeyError::Capacity(0).into());
    let items = |items| Error::from(ValkeyError::Items { layer: 0, items, capacity: 2 });
    assert_eq!(with(86, &[1]), items(1));
    assert_eq!(with(86, &[3]), items(3));
}
