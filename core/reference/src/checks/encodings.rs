//! A filter through every encoding of its layout and back.
//!
//! | way | what has the encoding |
//! |---|---|
//! | header and chunks | LOADCHUNK, append-only files, replication |
//! | RDB value | RDB files, DUMP and RESTORE, full synchronisation |
//! | payload | BF.LOAD, in valkey-bloom's layout |
//! | copy | COPY |
//!
//! What one of them accepts, all accept, and under the same limit of memory: that of
//! [`demand_of`].

use std::fmt::Debug;

use bloomline_core::Error;
use bloomline_core::host::cuckoo::AnyCuckoo;
use bloomline_core::host::valkey::ValkeyFilter;
use bloomline_core::host::{AnyFilter, AnyRef, Demand, Permit};

use crate::calls::Calls;
use crate::payload::{FieldError, FieldWriter, bloom_of, cuckoo_of};
use crate::valkey::list_room;

/// An encoding, there and back. The permit is asked before memory is allocated.
type Way<F> = (&'static str, fn(&F, Permit) -> Result<F, Error>);

/// The encodings of a Bloom filter.
const WAYS: [Way<AnyFilter>; 3] = [
    ("header and chunks", chunks),
    ("copy", |filter, permit| filter.try_clone(permit)),
    ("RDB value", value),
];

/// The encodings of a cuckoo filter.
const CUCKOO_WAYS: [Way<AnyCuckoo>; 3] = [
    ("header and chunks", cuckoo_chunks),
    ("copy", |filter, permit| filter.try_clone(permit)),
    ("RDB value", cuckoo_value),
];

/// Asserts that each encoding of the filter gives a filter that is equal, and needs the memory of
/// the filter, dense if it is sparse, and no more.
pub fn assert_carried(filter: &AnyFilter) {
    let now = time_of(filter);
    let answers =
        |filter: &AnyFilter| items().map(|item| filter.contains_item(&item, now)).to_vec();
    let expected = answers(filter);
    let is_equal = |copy: &AnyFilter| {
        copy.check().expect("a valid filter");
        copy == filter && answers(copy) == expected
    };
    assert_each(&WAYS, filter, demand_of(filter), is_equal);
    if filter.valkey().is_some() {
        assert_each(&[("payload", payload)], filter, demand_of(filter), is_equal);
    }
}

/// The bytes that are requested for a copy of the filter: of a list, those of the bits in its
/// place; of a windowed one, those with all its generations.
pub fn demand_of(filter: &AnyFilter) -> u64 {
    match filter.view() {
        AnyRef::Small(filter) => {
            let grown = filter.to_filter().expect("memory");
            AnyFilter::from(grown).size_bytes()
        }
        AnyRef::Windowed(filter) => {
            let complete = filter.spec().complete_bytes().expect("valid numbers");
            complete.max(filter.size_bytes())
        }
        // Limits count the list of layers as it was before the newest one.
        AnyRef::ValkeyBloom(filter) => {
            let layers = u64::from(filter.layer_count());
            filter.size_bytes() - 8 * (list_room(layers) - list_room((layers - 1).max(1)))
        }
        _ => filter.size_bytes(),
    }
}

/// [`assert_carried`] for a cuckoo filter.
pub fn assert_cuckoo_carried(filter: &AnyCuckoo) {
    let answers = |filter: &AnyCuckoo| items().map(|item| filter.count(&item)).to_vec();
    let expected = answers(filter);
    assert_each(&CUCKOO_WAYS, filter, filter.size_bytes(), |copy| {
        copy.check().expect("a valid filter");
        copy == filter && answers(copy) == expected
    });
}

fn assert_each<F: Debug>(ways: &[Way<F>], filter: &F, size: u64, is_equal: impl Fn(&F) -> bool) {
    for (way, carry) in ways {
        let mut permit = |demand: Demand| {
            demand.filter_bytes <= size
                && demand.new_bytes <= size
                && demand.largest_layer <= demand.new_bytes
        };
        match carry(filter, &mut permit) {
            Ok(copy) => assert!(is_equal(&copy), "{way}: {copy:?} is not {filter:?}"),
            Err(why) => panic!("{way}: {why}: {filter:?}"),
        }
        let refused = carry(filter, &mut |demand: Demand| demand.filter_bytes < size);
        assert!(matches!(refused, Err(Error::Refused(_))), "{way}: {refused:?} is not refused");
    }
}

/// A time at which the newest generation answers.
pub fn time_of(filter: &AnyFilter) -> u64 {
    // The end of time is the only moment at which a generation that opened then does not answer.
    filter.windowed().map_or(0, |filter| filter.newest().opened()).min(u64::MAX - 1)
}

/// Some items, of which a filter may contain any.
fn items() -> [[u8; 4]; 40] {
    std::array::from_fn(|number| (number as u32).to_le_bytes())
}

fn chunks(filter: &AnyFilter, permit: Permit) -> Result<AnyFilter, Error> {
    let mut copy = AnyFilter::decode_header(&filter.encode_header(), permit)?;
    let mut offset = filter.first_byte();
    while let Some(chunk) = filter.chunk(offset) {
        copy.write_chunk(offset, chunk)?;
        offset += chunk.len() as u64;
    }
    Ok(copy)
}

fn value(filter: &AnyFilter, permit: Permit) -> Result<AnyFilter, Error> {
    let mut fields = FieldWriter::default();
    filter.encode_fields(&mut fields)?;
    whole(bloom_of(filter.layout(), &fields.0, permit))
}

/// The payload of BF.LOAD of a filter in valkey-bloom's layout.
fn payload(filter: &AnyFilter, permit: Permit) -> Result<AnyFilter, Error> {
    let payload = filter.valkey().expect("the layout").encode_payload()?;
    ValkeyFilter::decode_payload(&payload, permit).map(Into::into)
}

fn cuckoo_value(filter: &AnyCuckoo, permit: Permit) -> Result<AnyCuckoo, Error> {
    let mut fields = FieldWriter::default();
    filter.encode_fields(&mut fields);
    whole(cuckoo_of(&fields.0, permit))
}

/// The result of fields that are complete.
fn whole<F>(result: Result<F, FieldError>) -> Result<F, Error> {
    result.map_err(|error| match error {
        FieldError::Core(why) => why,
        FieldError::Missing => panic!("fields are missing"),
    })
}

fn cuckoo_chunks(filter: &AnyCuckoo, permit: Permit) -> Result<AnyCuckoo, Error> {
    let mut copy = AnyCuckoo::decode_header(&filter.encode_header(), permit)?;
    let mut iterator = 1;
    while let Some((next, chunk)) = filter.scan_dump(iterator) {
        copy.load_chunk(next, chunk)?;
        iterator = next;
    }
    Ok(copy)
}
