//! A filter through every encoding of its layout and back.
//!
//! | way | what has the encoding |
//! |---|---|
//! | header and chunks | LOADCHUNK, append-only files, replication |
//! | RDB value | RDB files, DUMP and RESTORE, full synchronisation |
//! | payload | BF.LOAD, in valkey-bloom's layout |
//! | copy | COPY |
//!
//! What one of them accepts, all accept, and under the same limit of memory: that of the bytes of
//! the filter.

use std::fmt::Debug;
use std::ops::ControlFlow;

use bloomline_core::Error;
use bloomline_core::host::cuckoo::{AnyCuckoo, ClassicCuckoo, CuckooFilter};
use bloomline_core::host::redisbloom::{ClassicFilter, ClassicLayer};
use bloomline_core::host::valkey::ValkeyFilter;
use bloomline_core::host::{AnyFilter, Demand, Layer, Permit, Words, copy_to_zeros};

use crate::calls::Calls;
use crate::payload::{FieldError, FieldReader, FieldWriter};

/// Bytes of a string of bits in an RDB value. The module's are longer, so that they would be all of
/// a layer here.
const STRING: usize = 1 << 10;

/// An encoding, there and back. The permit is asked before memory is allocated.
type Way<F> = (&'static str, fn(&F, Permit) -> Result<F, Error>);

/// The encodings of a Bloom filter.
fn ways(filter: &AnyFilter) -> Vec<Way<AnyFilter>> {
    let mut ways: Vec<Way<AnyFilter>> = vec![("header and chunks", chunks), ("copy", copy)];
    match filter {
        AnyFilter::Bloomline(_) | AnyFilter::Windowed(_) => ways.push(("RDB value", strings)),
        AnyFilter::RedisBloom(_) => ways.push(("RDB value", links)),
        AnyFilter::ValkeyBloom(_) => ways.extend::<[Way<_>; 2]>([
            ("RDB value", |filter, permit| fields(valkey(filter), permit)),
            ("payload", |filter, permit| payload(valkey(filter), permit)),
        ]),
    }
    ways
}

/// The encodings of a cuckoo filter.
const CUCKOO_WAYS: [Way<AnyCuckoo>; 3] = [
    ("header and chunks", cuckoo_chunks),
    ("copy", |filter, permit| filter.try_clone(permit)),
    ("RDB value", |filter, permit| match filter {
        AnyCuckoo::Bloomline(filter) => cuckoo_strings(filter, permit).map(Into::into),
        AnyCuckoo::RedisBloom(filter) => cuckoo_tables(filter, permit).map(Into::into),
    }),
];

/// Asserts that each encoding of the filter gives a filter that is equal, and needs the memory of
/// the filter and no more.
pub fn assert_carried(filter: &AnyFilter) {
    let now = time_of(filter);
    let answers =
        |filter: &AnyFilter| items().map(|item| filter.contains_item(&item, now)).to_vec();
    let expected = answers(filter);
    assert_each(&ways(filter), filter, filter.size_bytes(), |copy| {
        copy.check().expect("a valid filter");
        copy == filter && answers(copy) == expected
    });
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

fn copy(filter: &AnyFilter, permit: Permit) -> Result<AnyFilter, Error> {
    filter.try_clone(permit)
}

/// The header, and the bits in strings, of which an empty one stands for zeros.
fn strings(filter: &AnyFilter, permit: Permit) -> Result<AnyFilter, Error> {
    let mut strings = Vec::new();
    filter.each_chunk(0, STRING, |chunk| {
        strings.push(chunk.set_bytes());
        ControlFlow::Continue(())
    });
    let mut copy = AnyFilter::decode_header(&filter.encode_header(), permit)?;
    let mut strings = strings.into_iter();
    copy.try_each_layer_mut(|bits| write_strings(bits, &mut strings))?;
    assert_eq!(strings.next(), None);
    Ok(copy)
}

fn write_strings<'s>(
    bits: &mut [u8],
    strings: &mut impl Iterator<Item = &'s [u8]>,
) -> Result<(), Error> {
    for part in bits.chunks_mut(STRING) {
        match strings.next().expect("a string for each part") {
            [] => {}
            string => copy_to_zeros(part, string),
        }
    }
    Ok(())
}

/// Link by link, whose bits are checked when they were read.
fn links(filter: &AnyFilter, permit: Permit) -> Result<AnyFilter, Error> {
    let AnyFilter::RedisBloom(filter) = filter else { panic!("{filter:?}") };
    let (mut links, mut bytes) = (Vec::new(), 0);
    for ((layer, len), count) in filter.layers_with_len().zip(1..) {
        let shape = layer.shape_with(len);
        let new_bytes = shape.bits / 8;
        bytes += new_bytes;
        let demand = Demand {
            new_bytes,
            largest_layer: new_bytes,
            filter_bytes: ClassicLayer::size_bytes(bytes, count),
            layout: ClassicLayer::LAYOUT,
            tables: 0,
        };
        if !permit(demand) {
            return Err(Error::Refused(demand.filter_bytes));
        }
        assert!(shape.is_sound(), "{shape:?}");
        let mut words = Words::zeroed(shape.bits / 64)?;
        copy_to_zeros(words.as_mut_bytes(), layer.as_bytes());
        links.push(ClassicLayer::with_words(shape, words).expect("the bits of its shape"));
    }
    Ok(ClassicFilter::from_links(*filter.common(), links).expect("a link").into())
}

/// The filter, which is in valkey-bloom's layout.
fn valkey(filter: &AnyFilter) -> &ValkeyFilter {
    filter.valkey().unwrap_or_else(|| panic!("{filter:?}"))
}

fn fields(filter: &ValkeyFilter, permit: Permit) -> Result<AnyFilter, Error> {
    let mut fields = FieldWriter::default();
    filter.encode_fields(&mut fields)?;
    match ValkeyFilter::decode_fields(&mut FieldReader(&fields.0), permit) {
        Ok(copy) => Ok(copy.into()),
        Err(FieldError::Core(why)) => Err(why),
        Err(FieldError::Missing) => panic!("fields are missing: {filter:?}"),
    }
}

fn payload(filter: &ValkeyFilter, permit: Permit) -> Result<AnyFilter, Error> {
    ValkeyFilter::decode_payload(&filter.encode_payload()?, permit).map(Into::into)
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

/// The header, and the slots in strings, of which an empty one stands for zeros.
fn cuckoo_strings(filter: &CuckooFilter, permit: Permit) -> Result<CuckooFilter, Error> {
    let mut copy = CuckooFilter::decode_header(&filter.encode_header(), permit)?;
    let mut strings = filter.parts(STRING);
    copy.try_each_table_mut(|slots| write_strings(slots, &mut strings))?;
    assert_eq!(strings.next(), None);
    Ok(copy)
}

/// The numbers, and table by table.
fn cuckoo_tables(filter: &ClassicCuckoo, permit: Permit) -> Result<ClassicCuckoo, Error> {
    let mut copy = ClassicCuckoo::with_numbers(&filter.numbers(), permit)?;
    for (slots, index) in filter.tables().zip(0..) {
        copy.load_table(index, slots)?;
    }
    Ok(copy)
}
