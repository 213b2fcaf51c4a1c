//! Headers from anywhere: for each layout a table of those that are accepted, and of those that are
//! refused, with the error. An invalid header is refused before memory is requested.

use std::fmt::Debug;

use bloomline_core::host::cuckoo::AnyCuckoo;
use bloomline_core::host::{AnyFilter, Demand};
use bloomline_core::{Error, Layout};
use bloomline_reference::checks::accepted::{accepted, assert_valid, assert_works};
use bloomline_reference::checks::check::bits;
use bloomline_reference::checks::encodings::demand_of;
use bloomline_reference::life::filter::Filter;

mod bloomline;
mod cuckoo;
mod redisbloom;
mod valkey;
mod window;

/// The headers of one layout, or of one version of it.
struct Table {
    layout: Layout,
    is_cuckoo: bool,
    valid: Vec<Vec<u8>>,
    /// Valid ones of filters of a terabyte or more.
    huge: Vec<Vec<u8>>,
    invalid: Vec<(Vec<u8>, Error)>,
}

fn tables() -> [Table; 8] {
    let [plain, extended, sparse] = bloomline::tables();
    let [cuckoo, classic] = cuckoo::tables();
    [
        plain,
        extended,
        sparse,
        window::table(),
        redisbloom::table(),
        valkey::table(),
        cuckoo,
        classic,
    ]
}

/// A number, or bytes, in a header.
trait Value {
    fn bytes(&self) -> Vec<u8>;
}

macro_rules! value {
    ($($number:ty)*) => {
        $(impl Value for $number {
            fn bytes(&self) -> Vec<u8> {
                self.to_le_bytes().into()
            }
        })*
    };
}

value!(u8 u16 u32 u64 f64);

impl Value for [u8] {
    fn bytes(&self) -> Vec<u8> {
        self.into()
    }
}

/// A header with another value at an offset.
fn changed(header: &[u8], at: usize, value: &(impl Value + ?Sized)) -> Vec<u8> {
    let (mut header, value) = (header.to_vec(), value.bytes());
    header[at..at + value.len()].copy_from_slice(&value);
    header
}

/// A row of what is refused: [`changed`], and the error.
fn row<V: Value>(valid: &[u8], at: usize, value: V, error: impl Into<Error>) -> (Vec<u8>, Error) {
    (changed(valid, at, &value), error.into())
}

impl Table {
    fn decode(
        &self,
        header: &[u8],
        permit: &mut dyn FnMut(Demand) -> bool,
    ) -> Result<Filter, Error> {
        if self.is_cuckoo {
            AnyCuckoo::decode_header(header, permit).map(Filter::Cuckoo)
        } else {
            AnyFilter::decode_header(header, permit).map(Filter::Bloom)
        }
    }

    /// The error of a header that is refused before memory is requested.
    fn refusal(&self, header: &[u8], case: &dyn Debug) -> Error {
        let permit = &mut |_| panic!("memory is requested for {:?}, {case:?}", self.layout);
        match self.decode(header, permit) {
            Err(error) => error,
            Ok(filter) => panic!("{:?}, {case:?}: {filter:?}", self.layout),
        }
    }
}

/// The demand for a filter: exactly the bytes of its bits. RedisBloom's tables are whole words.
fn demand(table: &Table, filter: &Filter) -> Demand {
    let bytes: Vec<u64> = match filter {
        Filter::Bloom(filter) => bits(filter).iter().map(|bits| bits.len() as u64).collect(),
        Filter::Cuckoo(_) => {
            let chunks = filter.dump().chunks;
            chunks.iter().map(|(_, it)| it.len().next_multiple_of(8) as u64).collect()
        }
    };
    let (filter_bytes, tables) = match filter {
        Filter::Bloom(filter) => (demand_of(filter), 0),
        Filter::Cuckoo(filter) => (filter.size_bytes(), filter.table_count()),
    };
    Demand {
        new_bytes: bytes.iter().sum(),
        largest_layer: bytes.into_iter().max().expect("a layer"),
        filter_bytes,
        layout: table.layout,
        tables,
    }
}

#[test]
fn valid_headers_make_one_demand_and_are_encoded_again() {
    for table in tables() {
        for header in &table.valid {
            let mut demands = Vec::new();
            let decoded = table.decode(header, &mut |demand| {
                demands.push(demand);
                true
            });
            let filter = decoded.unwrap_or_else(|why| panic!("{why}: {header:02x?}"));
            assert_eq!(filter.dump().header, *header);
            let expected = demand(&table, &filter);
            assert_eq!(demands, [expected], "{filter:?}");
            let refused = table.decode(header, &mut |_| false).err();
            assert_eq!(refused, Some(Error::Refused(expected.filter_bytes)));
            assert_valid(&filter);
        }
    }
}

#[test]
fn each_invalid_field_is_refused_with_its_own_error() {
    for table in tables() {
        for (index, (header, error)) in table.invalid.iter().enumerate() {
            let refusal = table.refusal(header, &(index, error));
            // Compared as texts, because NaN is not equal to itself.
            let (refusal, error) = (format!("{refusal:?}"), format!("{error:?}"));
            assert_eq!(refusal, error, "{:?}, {index}: {header:02x?}", table.layout);
        }
    }
}

#[test]
fn shorter_and_longer_headers_are_refused() {
    for table in tables() {
        for header in &table.valid {
            for length in header.len() + 1..header.len() + 200 {
                let mut longer = header.clone();
                longer.resize(length, 0);
                table.refusal(&longer, &length);
            }
        }
        // Others may be valid without their last records.
        let valid = table.valid.last().expect("a valid header");
        for length in 0..valid.len() {
            table.refusal(&valid[..length], &length);
        }
    }
}

/// Filters of terabytes are refused by the permit alone, and nothing is allocated before.
#[test]
fn huge_filters_make_one_demand() {
    for table in tables() {
        for header in &table.huge {
            let mut demands = Vec::new();
            let refused = table.decode(header, &mut |demand| {
                demands.push(demand);
                false
            });
            let [Demand { new_bytes, largest_layer, filter_bytes, .. }] = demands[..] else {
                panic!("{demands:?}")
            };
            assert_eq!(refused.err(), Some(Error::Refused(filter_bytes)));
            assert!(filter_bytes >= new_bytes && new_bytes >= largest_layer, "{demands:?}");
            assert!(new_bytes > 1 << 40, "{demands:?}");
        }
    }
}

/// Each byte of the last valid header of each table, with values at the edges and near its own.
#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn any_changed_byte_is_refused_or_gives_a_valid_filter() {
    let (mut works, mut refused) = (0, 0);
    for table in tables() {
        let valid = table.valid.last().expect("a valid header");
        for (at, &old) in valid.iter().enumerate() {
            let bits = (0..8).map(|bit| old ^ 1 << bit);
            for value in bits.chain([0, 1, old.wrapping_add(1), old.wrapping_sub(1), 255]) {
                let header = changed(valid, at, &value);
                let Some(filter) = accepted(|permit| table.decode(&header, permit)) else {
                    refused += 1;
                    continue;
                };
                works += 1;
                assert_eq!(filter.dump().header, header, "byte {at} is {value}");
                assert_works(filter);
            }
        }
    }
    assert!(works > 1_000 && refused > 1_000, "{works} accepted, {refused} refused");
}
