//! Filters recorded from RedisBloom: equal headers, bits and answers.

use bloomline_core::Layout;
use bloomline_core::hash::Pair;
use bloomline_core::hash::murmur2::{pair_32, pair_64};
use bloomline_core::host::{AnyFilter, Growth, Spec};

use bloomline_reference::calls::Calls;
use bloomline_reference::fixture::{Fixture, absent_items, fixtures};
use bloomline_reference::payload::bits_of_dump;

fn granted(_: bloomline_core::host::Demand) -> bool {
    true
}

fn decoded(header: &[u8]) -> AnyFilter {
    AnyFilter::decode_header(header, &mut granted).expect("a header")
}

/// The filter before any item was inserted.
fn empty(fixture: &Fixture) -> AnyFilter {
    if let Some(header) = fixture.created_from_header() {
        return decoded(&header);
    }
    // Without a command, RedisBloom's defaults for a first BF.MADD apply.
    let arguments =
        fixture.create().unwrap_or_else(|| ["", "", "0.01", "100"].map(String::from).into());
    let expansion = arguments
        .iter()
        .position(|argument| argument == "EXPANSION")
        .map_or(2, |at| arguments[at + 1].parse().unwrap());
    let is_fixed = expansion == 0 || arguments.iter().any(|argument| argument == "NONSCALING");
    let spec = Spec {
        capacity: arguments[3].parse().unwrap(),
        error_rate: arguments[2].parse::<f64>().unwrap().min(0.25),
        growth: if is_fixed { Growth::Fixed } else { Growth::Scaling { expansion } },
    };
    AnyFilter::redisbloom(spec, expansion, &mut granted).unwrap()
}

/// The filter after the recorded calls, and its answers.
fn rebuilt(fixture: &Fixture) -> (AnyFilter, String) {
    let mut filter = empty(fixture);
    let mut answers = String::new();
    for group in fixture.items().chunks(100) {
        filter.insert_each(&mut group.iter().map(Vec::as_slice), 0, &mut granted, &mut |answer| {
            answers.push(if answer.unwrap().is_new() { '1' } else { '0' });
        });
    }
    (filter, answers)
}

fn answers(filter: &AnyFilter, items: &[Vec<u8>]) -> String {
    let mut answers = String::new();
    filter.contains_each(&mut items.iter().map(Vec::as_slice), 0, &mut |is| {
        answers.push(if is { '1' } else { '0' })
    });
    answers
}

fn bits(filter: &AnyFilter) -> Vec<Vec<u8>> {
    let mut bits = Vec::new();
    filter.each_layer(|words| bits.push(words.as_bytes().to_vec()));
    bits
}

#[test]
fn recorded_headers_are_decoded_and_encoded_unchanged() {
    for fixture in fixtures() {
        for header in [Some(fixture.header()), fixture.created_from_header()].into_iter().flatten()
        {
            let filter = decoded(&header);
            assert_eq!(filter.layout(), Layout::RedisBloom);
            assert_eq!(filter.encode_header(), header, "{}", fixture.name);
            assert!(bits(&filter).concat().iter().all(|&byte| byte == 0));
        }
    }
}

#[test]
fn recorded_calls_give_the_recorded_bits_and_answers() {
    let absent = absent_items();
    for fixture in fixtures() {
        let (filter, replies) = rebuilt(&fixture);
        let name = &fixture.name;
        assert_eq!(replies, fixture.replies(), "{name}");
        assert_eq!(filter.encode_header(), fixture.header(), "{name}");
        assert!(
            bits(&filter) == bits_of_dump(&fixture.dump()),
            "{name}: the bits differ from the payload"
        );
        if let Some(chunks) = fixture.chunks() {
            let recorded: Vec<Vec<u8>> =
                chunks.into_iter().skip(1).map(|(_, chunk)| chunk).collect();
            assert!(bits(&filter) == recorded, "{name}: the bits differ from the chunks");
        }
        assert_eq!(answers(&filter, &absent), fixture.absent_answers(), "{name}");
        let [capacity, size, layers, items, expansion] = fixture.info();
        assert_eq!(Some(filter.capacity() as i64), capacity, "{name}");
        assert_eq!(Some(filter.size_bytes() as i64), size, "{name}");
        assert_eq!(Some(i64::from(filter.layer_count())), layers, "{name}");
        assert_eq!(Some(filter.len() as i64), items, "{name}");
        let growth = expansion.map(|n| Growth::Scaling { expansion: n as u32 });
        assert_eq!(filter.growth(), growth.unwrap_or(Growth::Fixed), "{name}");
    }
}

#[test]
fn loaded_filters_grow_like_rebuilt_ones() {
    let more: Vec<Vec<u8>> = (0..5_000).map(|i| format!("more:{i}").into_bytes()).collect();
    for fixture in fixtures() {
        let (mut built, _) = rebuilt(&fixture);
        let mut loaded = decoded(&fixture.header());
        let mut offset = 0;
        for layer in bits_of_dump(&fixture.dump()) {
            loaded.write_chunk(offset, &layer).unwrap();
            offset += layer.len() as u64;
        }
        let mut answers = [Vec::new(), Vec::new()];
        for (filter, answers) in [&mut built, &mut loaded].into_iter().zip(&mut answers) {
            for item in &more {
                answers.push(filter.insert_item(item, 0, &mut granted));
            }
        }
        assert!(answers[0] == answers[1], "{}", fixture.name);
        assert_eq!(loaded.encode_header(), built.encode_header(), "{}", fixture.name);
        assert!(bits(&loaded) == bits(&built), "{}", fixture.name);
        assert!(built.growth() == Growth::Fixed || built.layer_count() > 2, "{}", fixture.name);
    }
}

#[test]
fn hashes_equal_an_independent_implementation() {
    let all: Vec<u8> = (0..=255).collect();
    let cases: [(&[u8], [u64; 4]); 7] = [
        (b"", [0x1ab11ea5a7b2c56e, 0xbbddcb5ab56dd547, 0x106e08d9, 0x456d9087]),
        (b"a", [0x4292cee227b9150a, 0x7e9b527031f50c11, 0xa2d0b27c, 0x2e36e8b4]),
        (b"item:0", [0xc8c94e90cedb5f9e, 0x101ebdd9ba342477, 0x414afa42, 0x3cbedf97]),
        (b"1234567", [0xe4cf1c6d15db29ff, 0x8e688fe4a3547f2b, 0xdbed38c6, 0xd910e5d2]),
        (b"12345678", [0x700bea34339441c4, 0x94ccce0994c5c064, 0x1430ce0e, 0x72bf120f]),
        (b"123456789", [0xb791da69f9d395e3, 0xabf3563d45e8173b, 0x9362de66, 0x752ddcb1]),
        (&all, [0x885162f1b7285214, 0xb4640bb94fbe8db9, 0x8bde9476, 0xd1048501]),
    ];
    for (item, [a, b, a_32, b_32]) in cases {
        assert_eq!(pair_64(item), Pair { a, b }, "{}", item.escape_ascii());
        assert_eq!(pair_32(item), Pair { a: a_32, b: b_32 }, "{}", item.escape_ascii());
    }
}
