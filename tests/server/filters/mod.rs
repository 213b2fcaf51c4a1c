//! One filter of each kind, as data: its options, and the steps that make it.
//!
//! A test that must hold for every kind of filter runs over [`all`]. A new kind is one more row.
//! The kinds are of two families, Bloom filters and cuckoo filters, whose commands differ:
//! [`Family`].
//!
//! Every filter of our own layout has a seed, so that equal commands give equal replies on every
//! server.

mod cuckoo;
mod family;

use std::ops::Range;

use bloomline_harness::{Client, Random, int, numbered, show};
use bloomline_reference::fixture::fixtures;
use redis::Value;

use crate::inspect::info_field;
use crate::packed::{FORMS, send};
use crate::redisbloom::seen;
use crate::windowed::{DROPPED_BYTES, age, header, number_at};
pub use cuckoo::{classic_setup as classic_cuckoo, number as cuckoo_number};
pub use family::{Family, change, observe};

/// An item that is reported as present in these tests was added.
const SURE: &str = "0.000000001";

/// The seed of all filters, which needs all 64 bits.
const SEED: &str = "SEED 11234567890123456789";

/// The seed of filters in valkey-bloom's layout, of 32 bytes.
const VALKEY_SEED: &str = "SEED abcdefghijklmnopqrstuvwxyz012345";

/// Milliseconds of a slot of `WINDOW 8000000` with 8 generations, and of `WINDOW 4000000` with 4.
const SLOT: u64 = 1_000_000_000;

/// What happens to a filter after its creation.
#[derive(Debug, Clone)]
enum Step {
    /// Additions of the items with these numbers.
    Add(Range<usize>),
    /// Additions of items of any bytes, of 0 to 299 bytes.
    AddBinary,
    /// This many additions of one item, to a cuckoo filter.
    Repeat(usize),
    /// CF.MDEL of the items with these numbers.
    Delete(Range<usize>),
    /// BF.BULKADD of these items in all forms, a third of which are repeated in the next call.
    AddPacked(Range<usize>),
    /// Additions of this many items, each followed by a rotation where the kind of window has one
    /// between calls. Half of the items of an addition are those of the addition before.
    Slide { times: usize, items: usize },
    /// BF.COMPACT, which must make the filter smaller, or CF.COMPACT.
    Compact,
    /// BF.MERGE with two copies that have these items, half of them each.
    Merge(Range<usize>),
    /// The filter is replaced by one that was loaded from its header: its bits are missing.
    KeepHeader,
    /// RESTORE of a payload that was recorded from RedisBloom, instead of a creation.
    Restore(Vec<u8>),
}

/// A kind of filter.
#[derive(Debug, Clone)]
pub struct Filter {
    /// Its key.
    pub key: String,
    family: Family,
    /// The arguments of BF.RESERVE or CF.RESERVE after the key.
    options: String,
    /// Numbers of items that must be found in the end.
    present: Range<usize>,
    steps: Vec<Step>,
}

fn filter(key: &str, options: &str, present: Range<usize>, steps: &[Step]) -> Filter {
    let seed = match options {
        _ if options.contains("LAYOUT REDISBLOOM") => "",
        _ if options.contains("LAYOUT VALKEY-BLOOM") => VALKEY_SEED,
        _ => SEED,
    };
    let options = format!("{options} {seed}");
    Filter { key: key.to_owned(), family: Family::Bloom, options, present, steps: steps.to_vec() }
}

/// All kinds of filters.
pub fn all() -> Vec<Filter> {
    let bloom = [
        growing(),
        in_redisbloom_layout(),
        in_valkey_layout(),
        windowed(),
        compacted(),
        merged(),
        recorded(),
    ];
    [bloom.concat(), cuckoo::all()].concat()
}

/// All kinds of filters, under keys in the slot of `{k}`.
pub fn in_one_slot() -> Vec<Filter> {
    let moved = |filter: Filter| Filter { key: format!("{{k}}{}", filter.key), ..filter };
    all().into_iter().map(moved).collect()
}

/// Filters without a window, in our own layout.
fn growing() -> Vec<Filter> {
    use Step::{Add, AddBinary, AddPacked, KeepHeader};
    vec![
        filter("empty", "0.01 100", 0..0, &[]),
        filter("few", "0.01 100", 0..5, &[Add(0..5)]),
        filter("few:full", "0.01 100", 0..16, &[Add(0..16)]),
        filter("one:layer", "0.01 100", 0..60, &[Add(0..60)]),
        filter("many:layers", "0.01 100", 0..13_000, &[Add(0..13_000)]),
        filter("sixty:layers", "0.01 10 EXPANSION 1", 0..600, &[Add(0..600)]),
        filter("fixed", "0.001 1000 NONSCALING", 0..400, &[Add(0..400)]),
        filter("fixed:full", "0.0000001 50 NONSCALING", 0..50, &[Add(0..60)]),
        filter("binary", "0.0001 200", 0..0, &[AddBinary]),
        filter("packed", "0.001 100", 1000..3000, &[AddPacked(1000..3000)]),
        filter("packed:full", "0.001 400 NONSCALING", 1000..1350, &[AddPacked(1000..3000)]),
        filter("half:loaded", "0.01 100", 0..0, &[Add(0..1000), KeepHeader]),
    ]
}

/// New filters in RedisBloom's layout.
fn in_redisbloom_layout() -> Vec<Filter> {
    use Step::{Add, AddPacked};
    let packed = [AddPacked(1000..3000)];
    vec![
        filter("classic:packed", "0.001 100 LAYOUT REDISBLOOM", 1000..3000, &packed),
        filter(
            "classic:packed:full",
            "0.001 400 NONSCALING LAYOUT REDISBLOOM",
            1000..1350,
            &packed,
        ),
        filter("classic", "0.01 1000 LAYOUT REDISBLOOM", 0..500, &[Add(0..500)]),
        filter("classic:grown", "0.01 100 LAYOUT REDISBLOOM", 0..3000, &[Add(0..3000)]),
        filter("classic:full", "0.0001 50 NONSCALING LAYOUT REDISBLOOM", 0..40, &[Add(0..60)]),
    ]
}

/// Filters in valkey-bloom's layout.
fn in_valkey_layout() -> Vec<Filter> {
    use Step::{Add, AddBinary, AddPacked, KeepHeader};
    let row = |key: &str, options: &str, present, steps: &[Step]| {
        filter(&format!("valkey{key}"), &format!("{options} LAYOUT VALKEY-BLOOM"), present, steps)
    };
    vec![
        row("", "0.01 1000", 0..500, &[Add(0..500)]),
        row(":empty", "0.5 100", 0..0, &[]),
        row(":grown", "0.01 100", 0..3000, &[Add(0..3000)]),
        row(":one", "0.0001 1 EXPANSION 1", 0..9, &[Add(0..9)]),
        row(":full", "0.0001 50 NONSCALING", 0..40, &[Add(0..60)]),
        row(":tightening", "0.01 30 EXPANSION 3 TIGHTENING 0.9", 0..400, &[Add(0..400)]),
        row(":binary", "0.0001 200", 0..0, &[AddBinary]),
        row(":packed", "0.001 100", 1000..3000, &[AddPacked(1000..3000)]),
        row(":loaded", "0.01 100", 0..0, &[Add(0..1000), KeepHeader]),
    ]
}

/// Windowed filters, with dropped generations, refreshed items and overflow layers.
fn windowed() -> Vec<Filter> {
    let slide = Step::Slide { times: 12, items: 40 };
    let burst = Step::Add(300..600);
    let few = Step::Slide { times: 5, items: 6 };
    let sure = [
        ("window:empty", "80 WINDOW 8000000", 0..0, &[][..]),
        ("window", "80 WINDOW 8000000", 300..600, &[slide.clone(), burst.clone()]),
        (
            "window:once",
            "80 WINDOW 4000000 GENERATIONS 4 NOREFRESH",
            220..260,
            std::slice::from_ref(&slide),
        ),
        ("window:fixed", "80 WINDOW 8000000 NONSCALING", 0..0, std::slice::from_ref(&slide)),
        ("last", "80 LAST", 220..260, std::slice::from_ref(&slide)),
        ("last:once", "80 LAST GENERATIONS 3 NOREFRESH", 240..260, std::slice::from_ref(&slide)),
        (
            "last:many",
            "6400 LAST GENERATIONS 64",
            12_000..18_000,
            &[slide.clone(), Step::Add(10_000..18_000)],
        ),
        ("hand", "80 GENERATIONS 4 EXPANSION 1", 300..600, &[slide.clone(), burst]),
        ("hand:once", "80 GENERATIONS 2 NOREFRESH", 240..260, std::slice::from_ref(&slide)),
        ("hand:fixed", "80 GENERATIONS 8 NONSCALING", 0..0, std::slice::from_ref(&slide)),
    ]
    .map(|(key, options, present, steps)| {
        filter(key, &format!("{SURE} {options}"), present, steps)
    });
    // As they are with usual rates: in one allocation, and with few bits per generation.
    let usual = [
        ("window:few", "0.01 50 WINDOW 8000000", 0..18, std::slice::from_ref(&few)),
        ("last:few", "0.05 100 LAST GENERATIONS 2", 0..18, std::slice::from_ref(&few)),
        ("hand:burst", "0.01 50 GENERATIONS 3", 400..500, &[few.clone(), Step::Add(400..500)]),
    ]
    .map(|(key, options, present, steps)| filter(key, options, present, steps));
    [sure.to_vec(), usual.to_vec()].concat()
}

/// Filters of each kind that were compacted, some of them grown before or after.
///
/// In RedisBloom's layout the bits are 10,080 words, a number with many divisors.
fn compacted() -> Vec<Filter> {
    use Step::{Add, Compact};
    vec![
        filter("compacted", "0.001 50000", 0..5000, &[Add(0..5000), Compact]),
        filter("compacted:empty", "0.001 50000", 0..0, &[Compact]),
        filter("compacted:scaling", "0.001 1000", 0..4000, &[Add(0..4000), Compact]),
        filter("compacted:fixed", "0.001 50000 NONSCALING", 0..9000, &[Add(0..9000), Compact]),
        filter(
            "compacted:grown",
            "0.01 20000 EXPANSION 4",
            0..4000,
            &[Add(0..1500), Compact, Add(1500..4000), Compact],
        ),
        filter(
            "classic:compacted",
            "0.001 40778 LAYOUT REDISBLOOM",
            0..5000,
            &[Add(0..5000), Compact],
        ),
        filter(
            "classic:scaling:compacted",
            "0.001 1000 LAYOUT REDISBLOOM",
            0..4000,
            &[Add(0..4000), Compact],
        ),
        filter(
            "classic:fixed:compacted",
            "0.001 44869 NONSCALING LAYOUT REDISBLOOM",
            0..5000,
            &[Add(0..5000), Compact],
        ),
        filter(
            "classic:compacted:grown",
            "0.001 40778 EXPANSION 16 LAYOUT REDISBLOOM",
            0..4500,
            &[Add(0..1500), Compact, Add(1500..4500), Compact],
        ),
    ]
}

/// Filters of each kind that were merged from three.
fn merged() -> Vec<Filter> {
    use Step::{Add, Merge};
    let two = [Add(0..200), Merge(100..400)];
    vec![
        filter("merged", "0.000001 1000", 0..400, &two),
        filter("merged:fixed", "0.000001 1000 NONSCALING", 0..400, &two),
        // Only the second copy has another layer.
        filter("merged:layers", "0.000001 100", 0..200, &[Add(0..100), Merge(0..200)]),
        // The sum of the items exceeds the capacity.
        filter("merged:above", "0.001 1000", 0..600, &[Add(0..600), Merge(1000..1420)]),
        filter("merged:classic", "0.000001 1000 LAYOUT REDISBLOOM", 0..400, &two),
        filter("merged:classic:fixed", "0.000001 1000 NONSCALING LAYOUT REDISBLOOM", 0..400, &two),
    ]
}

/// Filters that were recorded from RedisBloom, of several versions.
fn recorded() -> Vec<Filter> {
    let filter = |fixture: bloomline_reference::fixture::Fixture| Filter {
        key: format!("recorded:{}", fixture.name),
        family: Family::Bloom,
        options: String::new(),
        present: 0..0,
        steps: vec![Step::Restore(fixture.dump())],
    };
    fixtures().into_iter().map(filter).collect()
}

/// Filters whose bits need several chunks, of one generation and of three.
pub fn large() -> Vec<Filter> {
    let slide = Step::Slide { times: 4, items: 1000 };
    let bloom = vec![
        filter("large", "0.01 15000000", 0..5000, &[Step::Add(0..5000)]),
        filter("large:hand", "0.01 30000000 GENERATIONS 2", 1000..2500, &[slide]),
    ];
    [bloom, cuckoo::large()].concat()
}

/// Filters that BF.COMPACT makes smaller, before it does.
pub fn compactable() -> Vec<Filter> {
    let before = |mut filter: Filter| {
        let end = filter.steps.iter().position(|step| matches!(step, Step::Compact))?;
        filter.steps.truncate(end);
        filter.present = filter.present.start..filter.present.end.min(1500);
        filter.key = filter.key.replace("compacted", "roomy");
        Some(filter)
    };
    compacted().into_iter().filter_map(before).collect()
}

fn items(numbers: Range<usize>) -> Vec<Vec<u8>> {
    numbered("item", numbers.end).split_off(numbers.start)
}

fn binary() -> Vec<Vec<u8>> {
    let mut random = Random(7);
    (0..300).map(|length| random.bytes(length)).collect()
}

impl Filter {
    /// True if the filter refuses items when it is full.
    fn is_fixed(&self) -> bool {
        self.options.contains("NONSCALING") || self.options.contains("EXPANSION 0")
    }

    /// Makes the filter.
    pub fn build(&self, client: &mut Client) {
        let key = &self.key;
        if !self.options.is_empty() {
            client.ok(&format!("{}.RESERVE {key} {}", self.family.prefix(), self.options));
        }
        for step in &self.steps {
            match step {
                Step::Add(numbers) => self.add(client, key, &items(numbers.clone())),
                Step::AddBinary => self.add(client, key, &binary()),
                Step::Repeat(times) => self.add(client, key, &vec![b"item:0".to_vec(); *times]),
                Step::Delete(numbers) => cuckoo::delete(client, key, &items(numbers.clone())),
                Step::AddPacked(numbers) => self.add_packed(client, &items(numbers.clone())),
                Step::Slide { times, items: count } => {
                    for time in 0..*times {
                        let start = time * count / 2;
                        self.add(client, key, &items(start..start + count));
                        self.rotate(client);
                    }
                }
                Step::Compact if self.family == Family::Cuckoo => {
                    client.ok(&format!("CF.COMPACT {key}"));
                }
                Step::Compact => {
                    let freed = compact(client, key);
                    assert!(freed > 0, "{key} was not compacted");
                }
                Step::Merge(numbers) => self.merge(client, numbers),
                Step::KeepHeader => {
                    let family = self.family.prefix();
                    let header = client.scandump_of(family, key, 0).1;
                    assert_eq!(client.ask(&format!("DEL {key}")), ":1");
                    assert_eq!(client.loadchunk_of(family, key, 1, &header), "+OK");
                }
                Step::Restore(dump) => assert_eq!(seen::restore(client, key, dump), "+OK"),
            }
        }
    }

    fn add(&self, client: &mut Client, key: &str, items: &[Vec<u8>]) {
        for batch in items.chunks(1000) {
            let reply = show(&self.family.add(client, key, batch));
            assert!(self.is_fixed() || !reply.contains('-'), "{key}: {reply}");
        }
    }

    fn add_packed(&self, client: &mut Client, items: &[Vec<u8>]) {
        for (call, start) in (0..items.len()).step_by(100).enumerate() {
            let part = &items[start..items.len().min(start + 150)];
            let tail: &[&str] = if call % 2 == 0 { &["COUNT"] } else { &[] };
            let reply = send(client, "BF.BULKADD", &self.key, FORMS[call % 3], part, tail);
            let is_done = matches!(&reply, Value::Array(parts) if parts.len() == 2);
            assert!(is_done || self.is_fixed(), "{}: {}", self.key, show(&reply));
        }
    }

    fn rotate(&self, client: &mut Client) {
        if self.options.contains("WINDOW") {
            age(client, &self.key, SLOT);
        } else if self.options.contains("GENERATIONS") && !self.options.contains("LAST") {
            client.ok(&format!("BF.ROTATE {}", self.key));
        }
    }

    /// Merges two copies into a new filter, and that and both copies into this one.
    fn merge(&self, client: &mut Client, numbers: &Range<usize>) {
        let key = &self.key;
        let middle = numbers.start.midpoint(numbers.end);
        let [left, right, both] = ["left", "right", "both"].map(|name| format!("{key}:{name}"));
        for (copy, numbers) in [(&left, numbers.start..middle), (&right, middle..numbers.end)] {
            assert_eq!(client.ask(&format!("COPY {key} {copy}")), ":1");
            self.add(client, copy, &items(numbers));
        }
        client.ok(&format!("BF.MERGE {both} {left} {right}"));
        client.ok(&format!("BF.MERGE {key} {both} {left}"));
        // Nothing is new.
        client.ok(&format!("BF.MERGE {key} {right} {both}"));
        assert_eq!(client.ask(&format!("DEL {left} {right} {both}")), ":3");
    }

    /// Asserts that the filter has the items that it must have.
    pub fn assert_has_items(&self, client: &mut Client) {
        for batch in items(self.present.clone()).chunks(1000) {
            let found = show(&self.family.contains(client, &self.key, batch));
            assert!(!found.contains(":0"), "{} lost an item", self.key);
        }
    }
}

/// Builds filters, and asserts that they have their items.
pub fn build(client: &mut Client, filters: &[Filter]) {
    for filter in filters {
        filter.build(client);
        filter.assert_has_items(client);
    }
}

/// Builds all filters, and asserts that each has what its name says.
pub fn build_all(client: &mut Client) -> Vec<Filter> {
    let filters = all();
    build(client, &filters);
    for (key, least) in [
        ("many:layers", 8),
        ("sixty:layers", 58),
        ("classic:grown", 4),
        ("window", 10),
        ("compacted:grown", 2),
        ("classic:compacted:grown", 2),
        ("merged:layers", 2),
    ] {
        let layers = info_field(client, key, "FILTERS");
        assert!(layers >= least, "{key} has {layers} layers");
    }
    for key in ["fixed:full", "classic:full", "packed:full", "classic:packed:full"] {
        assert_eq!(client.ask(&format!("BF.ADD {key} more")), "-ERR non scaling filter is full");
    }
    for key in ["window", "window:once", "last", "last:many", "hand"] {
        let dropped = number_at(&header(client, key), DROPPED_BYTES);
        assert!(dropped > 0, "{key} has dropped nothing");
    }
    let items = info_field(client, "merged:above", "ITEMS");
    assert!(items > 1000, "{items} items");
    cuckoo::assert_as_named(client);
    filters
}

/// Runs BF.COMPACT, and returns by how many bytes the filter has become smaller.
pub fn compact(client: &mut Client, key: &str) -> u64 {
    int(&client.call(&format!("BF.COMPACT {key}"))).try_into().expect("bytes")
}

/// What [`observe`] returns for each filter.
pub fn observe_all(client: &mut Client, filters: &[Filter]) -> Vec<Vec<String>> {
    filters.iter().map(|filter| observe(client, &filter.key)).collect()
}

/// Asserts that the filters are what they were.
pub fn assert_observed(
    client: &mut Client,
    filters: &[Filter],
    expected: &[Vec<String>],
    after: &str,
) {
    for (filter, expected) in filters.iter().zip(expected) {
        assert_eq!(&observe(client, &filter.key), expected, "{} after {after}", filter.key);
    }
}

/// What [`change`] returns for each filter.
pub fn change_all(client: &mut Client, filters: &[Filter]) -> Vec<Vec<String>> {
    filters.iter().map(|filter| change(client, &filter.key)).collect()
}
