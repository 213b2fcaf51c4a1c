//! The headers and the test vectors in docs/format.md are what the core writes and reads.

use std::fmt::Write;
use std::fs::{self, File};
use std::io::{ErrorKind, Write as _, stderr};
use std::path::Path;
use std::process::Command;

use bloomline_core::bloom::bloomline::fold::Fold;
use bloomline_core::bloom::bloomline::geometry::Geometry;
use bloomline_core::bloom::bloomline::rate::fp_rate;
use bloomline_core::bloom::bloomline::sizing::{ROWS, Row};
use bloomline_core::bloom::window::{Window, WindowSpec, WindowedFilter};
use bloomline_core::hash::murmur2;
use bloomline_core::host::cuckoo::{AnyCuckoo, CuckooOptions, CuckooSpec};
use bloomline_core::host::valkey::{FIXED_SEED, ValkeyFilter, ValkeyParams};
use bloomline_core::host::{AnyFilter, Filter, Growth, Spec};
use bloomline_harness::{Setup, body_of_dump, numbered, seal_dump};

use crate::pages;

const OPENED: u64 = 1_700_000_000_000;
const SLOT: u64 = 200_000;

/// The filter of the page: `user1` in the first generation, `user2` and then `user1` again in the
/// second one.
fn example() -> WindowedFilter {
    let spec = WindowSpec {
        capacity: 400,
        error_rate: 0.01,
        growth: Growth::Scaling { expansion: 2 },
        window: Window::Time { millis: 4 * SLOT },
        generations: 4,
        refreshes: true,
    };
    let mut filter =
        WindowedFilter::new(spec, 0x0123_4567_89ab_cdef, OPENED, &mut |_| true).expect("a filter");
    filter.insert(b"user1", 0, &mut |_| true).expect("an item");
    filter.advance(OPENED + SLOT + 5, &mut |_| true).expect("a rotation");
    for item in [b"user2", b"user1"] {
        filter.insert(item, 0, &mut |_| true).expect("an item");
    }
    filter
}

/// Lines of 16 bytes in hexadecimal, in groups of four.
fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for (index, line) in bytes.chunks(16).enumerate() {
        write!(text, "{:>4} ", index * 16).expect("a line");
        for (index, byte) in line.iter().enumerate() {
            let blank = match index {
                0 | 4 | 12 => " ",
                8 => "  ",
                _ => "",
            };
            write!(text, "{blank}{byte:02x}").expect("a byte");
        }
        text += "\n";
    }
    text
}

/// The bytes that are set, each as `offset:value`.
fn set_bytes(bytes: &[u8]) -> String {
    let set = bytes.iter().enumerate().filter(|&(_, &byte)| byte != 0);
    set.map(|(offset, byte)| format!("{offset}:{byte:02x}")).collect::<Vec<_>>().join(" ")
}

fn page() -> String {
    pages::read(Path::new("docs/format.md"))
}

#[test]
fn header_of_version_2_in_the_docs_is_written_and_read() {
    let page = page();
    let filter = example();
    let header = filter.encode_header();
    let mut shown = vec![hex(&header)];
    for layer in filter.layers() {
        shown.push(set_bytes(layer.words().as_bytes()));
    }
    for text in shown {
        assert!(page.contains(&text), "docs/format.md does not show:\n{text}");
    }
    let read = WindowedFilter::decode_header(&header, &mut |_| true).expect("a header");
    assert_eq!(read.encode_header(), header);
}

/// The folded filter of the page: 3 pages are stored, and its bits begin at 4 MiB. It may have
/// layers after the folded one.
fn folded(layers: u32) -> Filter {
    let growth = Growth::Scaling { expansion: 2 };
    let spec = Spec { capacity: 20_000, error_rate: 0.01, growth };
    let whole = Filter::new(spec, 0x0123_4567_89ab_cdef, &mut |_| true).expect("a filter");
    let mut header = whole.encode_header();
    header[8] = 2;
    header[20..24].copy_from_slice(&layers.to_le_bytes());
    header.resize(128, 0);
    header[64..72].copy_from_slice(&(4u64 << 20).to_le_bytes());
    let (index, pages, capacity) = (0u32, 3u32, 6_000u64);
    header[80..84].copy_from_slice(&index.to_le_bytes());
    header[84..88].copy_from_slice(&pages.to_le_bytes());
    header[88..96].copy_from_slice(&capacity.to_le_bytes());
    Filter::decode_header(&header, &mut |_| true).expect("a header")
}

#[test]
fn header_of_a_folded_filter_in_the_docs_is_written_and_read() {
    let mut filter = folded(1);
    for item in [b"user1", b"user2", b"user3"] {
        filter.insert(item, &mut |_| true).expect("an item");
    }
    let (header, layer) = (filter.encode_header(), filter.layers().next().expect("a layer"));
    let geometry = layer.geometry();
    let mut shown = vec![hex(&header), set_bytes(layer.words().as_bytes())];
    shown.push(format!(
        "{} pages of {} blocks, {} blocks per item, {} bits in each",
        geometry.pages(),
        geometry.blocks_per_page(),
        geometry.blocks_per_item(),
        geometry.bits_per_block(),
    ));
    let fold = layer.fold();
    let stored: Vec<_> = (0..geometry.pages()).map(|page| fold.stored_page(page)).collect();
    shown.push(stored.iter().map(u64::to_string).collect::<Vec<_>>().join(" "));
    let page = page();
    for text in shown {
        assert!(page.contains(&text), "docs/format.md does not show:\n{text}");
    }
    let read = Filter::decode_header(&header, &mut |_| true).expect("a header");
    assert_eq!(read.encode_header(), header);
}

/// The end of a row about a layer: its size, what an item sets in it, and its rate when it is full.
fn layer_cells(geometry: &Geometry, rate: f64) -> String {
    format!(
        "{} × {} | {}, {} | {rate:.3e} |",
        geometry.pages(),
        geometry.blocks_per_page(),
        geometry.blocks_per_item(),
        geometry.bits_per_block(),
    )
}

#[test]
fn layers_of_the_example_in_the_docs_are_the_cores() {
    let growth = Growth::Scaling { expansion: 2 };
    let spec = Spec { capacity: 400, error_rate: 0.01, growth };
    let (page, mut spent) = (page(), 0.0);
    for (index, layer) in spec.layers().take(3).enumerate() {
        let layer = layer.expect("a layer");
        let target = (spec.error_rate - spent) / (index + 2) as f64;
        let (capacity, rate) = (layer.capacity(), layer.fp_rate(layer.capacity()));
        assert_eq!(*layer.geometry(), Geometry::new(capacity, target).expect("a layer"));
        let cells = layer_cells(layer.geometry(), rate);
        let row = format!("| {index} | {} | {target:.3e} | {cells}", grouped(capacity));
        assert!(page.contains(&row), "docs/format.md does not show:\n{row}");
        spent += rate;
    }
}

/// A number with commas.
fn grouped(number: u64) -> String {
    if number < 1000 {
        return number.to_string();
    }
    format!("{},{:03}", grouped(number / 1000), number % 1000)
}

#[test]
fn layers_after_a_folded_one_in_the_docs_are_the_cores() {
    let (page, filter) = (page(), folded(3));
    let (mut spent, mut older, mut last) = (0.0, 0, 0);
    for (index, layer) in filter.layers().enumerate() {
        let (capacity, rate) = (layer.capacity(), layer.fp_rate(layer.capacity()));
        if index == 0 {
            let shown = format!("The rate of the full layer is\n{rate:.3e}.");
            assert!(page.contains(&shown), "docs/format.md does not show:\n{shown}");
        } else {
            assert_eq!(capacity, (2 * last).max(20_000).max(older / 4));
            let (of, all) = (capacity as f64, older as f64);
            let target = (0.01 - spent) * of / (2.0 * of + 6.0 * all);
            assert_eq!(*layer.geometry(), Geometry::new(capacity, target).expect("a layer"));
            let cells = layer_cells(layer.geometry(), rate);
            let row = format!("| {index} | {} | {target:.3e} | {cells}", grouped(capacity));
            assert!(page.contains(&row), "docs/format.md does not show:\n{row}");
        }
        (spent, older, last) = (spent + rate, older + capacity, capacity);
    }
}

#[test]
fn sizing_table_beside_the_page_is_the_cores() {
    let mut table = "from,L,g,bits 0,bits 1,bits 2,bits 3,bits 4\n".to_owned();
    let mut from = 0.1875_f64;
    for (index, row) in ROWS.iter().enumerate() {
        let [a, b, c, d, e] = row.milli_bits;
        let (blocks, bits) = (row.blocks_per_item, row.bits_per_block);
        writeln!(table, "{from:?},{blocks},{bits},{a},{b},{c},{d},{e}").expect("a line");
        // The row begins there, and ends below the row before it.
        let end = if index % 2 == 0 { from / 3.0 * 4.0 } else { from * 1.5 };
        for inside in [from, from.midpoint(end), end.next_down()] {
            assert!(std::ptr::eq(Row::of(inside), row), "{inside:e}");
        }
        from = if index % 2 == 0 { from / 1.5 } else { from * 0.75 };
    }
    assert!(std::ptr::eq(Row::of(0.25), &ROWS[0]));
    for (shown, expected) in pages::read(Path::new("docs/sizing.csv")).lines().zip(table.lines()) {
        assert_eq!(shown, expected, "docs/sizing.csv");
    }
    assert_eq!(pages::read(Path::new("docs/sizing.csv")).len(), table.len());
}

/// The blocks of Python on the page.
fn python_of_the_page() -> String {
    let (page, mut program, mut is_python) = (page(), String::new(), false);
    for line in page.lines() {
        match line {
            "```python" => is_python = true,
            "```" => is_python = false,
            line if is_python => program += &format!("{line}\n"),
            _ => {}
        }
    }
    program
}

/// Prints a rate for each line of arguments.
const PRINT_RATES: &str = "
import sys
for line in sys.stdin:
    *parts, items, P, n, L, g, s = map(int, line.split())
    if parts:
        print(folded(items, list(zip(parts[::2], parts[1::2])), P, n, L, g))
    else:
        print(rate(items, P, n, L, g, s))
";

#[test]
fn program_of_the_page_computes_the_rates_of_the_core() {
    let (mut lines, mut expected) = (String::new(), Vec::new());
    for exponent in (1..=28).step_by(2) {
        let error = 10f64.powf(-f64::from(exponent) / 2.0);
        for capacity in [1, 7, 50, 100, 300, 1_000, 3_000, 30_000, 1_000_000] {
            let Ok(geometry) = Geometry::new(capacity, error) else { continue };
            let (pages, sectors) = (geometry.pages(), geometry.sectors());
            let shape = format!(
                "{pages} {} {} {} {sectors}",
                geometry.blocks_per_page(),
                geometry.blocks_per_item(),
                geometry.bits_per_block(),
            );
            for items in [capacity.div_ceil(3), capacity] {
                writeln!(lines, "{items} {shape}").expect("a line");
                expected.push((fp_rate(&geometry, items), geometry));
            }
            for stored in [1, 2, 3, pages / 3, pages / 2 + 1, pages - 1] {
                if !(1..pages).contains(&stored) {
                    continue;
                }
                // The parts, counted: equal numbers of hashed pages, in the order of the memory.
                let (fold, mut parts) = (Fold::new(pages, stored), Vec::<(u64, u64)>::new());
                let mut hashed = vec![0; stored as usize];
                for page in 0..pages {
                    hashed[fold.stored_page(page) as usize] += 1;
                }
                for sharing in hashed {
                    match parts.last_mut() {
                        Some((pages, of)) if *of == sharing => *pages += 1,
                        _ => parts.push((1, sharing)),
                    }
                }
                assert!(parts.len() <= 3, "{parts:?}");
                for (pages, of) in parts {
                    write!(lines, "{pages} {of} ").expect("a part");
                }
                let items = (capacity * stored / pages).max(1);
                writeln!(lines, "{items} {shape}").expect("a line");
                expected.push((fold.fp_rate(&geometry, items), geometry));
            }
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    let input = folder.path().join("input");
    fs::write(&input, lines).expect("the input");
    let program = python_of_the_page() + PRINT_RATES;
    let output = Command::new("python3")
        .args(["-c", &program])
        .stdin(File::open(input).expect("the input"))
        .output();
    let output = match output {
        Err(why) if why.kind() == ErrorKind::NotFound => {
            let _ = writeln!(stderr(), "NOT TESTED, since it is not on PATH: python3");
            return;
        }
        output => output.expect("python3"),
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("numbers");
    let rates: Vec<f64> = text.lines().map(|line| line.parse().expect("a rate")).collect();
    assert_eq!(rates.len(), expected.len());
    for (rate, (expected, geometry)) in rates.into_iter().zip(expected) {
        // Of one block, the rate is the sum that cancels.
        let margin = if geometry.blocks_per_item() == 1 { 1e-14 } else { 0.0 };
        let difference = (rate - expected).abs();
        assert!(
            difference <= expected * 1e-8 + margin,
            "{rate:e} on the page, {expected:e}: {geometry:?}"
        );
    }
}

/// What stands before a number in a value, and the numbers and strings of a value.
#[derive(Debug, PartialEq)]
enum Part {
    Unsigned(u64),
    Text(Vec<u8>),
}

/// Reads a payload of DUMP by the rules of the page.
struct Payload<'a>(&'a [u8]);

impl Payload<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (first, rest) = self.0.split_first_chunk().expect("bytes");
        self.0 = rest;
        *first
    }

    fn number(&mut self) -> u64 {
        match self.take::<1>()[0] {
            0b1000_0000 => u32::from_be_bytes(self.take()).into(),
            0b1000_0001 => u64::from_be_bytes(self.take()),
            first if first < 0b0100_0000 => first.into(),
            first if first < 0b1000_0000 => {
                u64::from(first & 0b11_1111) << 8 | u64::from(self.take::<1>()[0])
            }
            other => panic!("{other:x} begins no number"),
        }
    }

    fn bytes(&mut self, count: u64) -> Vec<u8> {
        let (first, rest) = self.0.split_at(count as usize);
        self.0 = rest;
        first.to_vec()
    }

    fn string(&mut self) -> Vec<u8> {
        if self.0[0] != 0xc3 {
            let length = self.number();
            return self.bytes(length);
        }
        self.take::<1>();
        let (compressed, whole) = (self.number(), self.number());
        let compressed = self.bytes(compressed);
        let (mut rest, mut result) = (Payload(&compressed), Vec::new());
        while !rest.0.is_empty() {
            let first = rest.take::<1>()[0];
            if first < 32 {
                result.extend(rest.bytes(u64::from(first) + 1));
                continue;
            }
            let mut length = usize::from(first >> 5);
            if length == 7 {
                length += usize::from(rest.take::<1>()[0]);
            }
            let distance = usize::from(first & 31) << 8 | usize::from(rest.take::<1>()[0]);
            for _ in 0..length + 2 {
                result.push(result[result.len() - distance - 1]);
            }
        }
        assert_eq!(result.len() as u64, whole);
        result
    }

    /// The type, the encoding version, and the parts of the value.
    fn value(mut self) -> (String, u64, Vec<Part>) {
        const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        assert_eq!(self.take(), [7]);
        let id = self.number();
        let letter = |at: u64| LETTERS[(id >> (10 + 6 * at)) as usize % 64] as char;
        let (name, mut parts) = ((0..9).rev().map(letter).collect(), Vec::new());
        loop {
            parts.push(match self.number() {
                0 => break,
                2 => Part::Unsigned(self.number()),
                5 => Part::Text(self.string()),
                other => panic!("{other} begins no part"),
            });
        }
        assert_eq!(self.0.len(), 10, "the RDB version and the checksum");
        (name, id % 1024, parts)
    }
}

#[test]
fn payloads_are_what_the_page_says() {
    Setup::new().on_each_server(|mut client, _| {
        client.ok("BF.RESERVE few 0.01 100 SEED 81985529216486895");
        client.ok("BF.RESERVE grown 0.01 400");
        client.ok("BF.RESERVE zeros 0.01 10000000");
        for (key, items) in [("few", 1), ("grown", 1000)] {
            client.items("BF.MADD", key, &numbered("user", items));
        }
        for key in ["few", "grown", "zeros"] {
            let payload = client.dump(key);
            let body = body_of_dump(&payload);
            assert_eq!(payload, seal_dump(body), "{key} has another checksum");
            let (name, version, parts) = Payload(&payload).value();
            assert_eq!((name.as_str(), version), ("MBbloom--", 4), "{key}");
            let chunks = client.chunks(key);
            let (header, layers) = chunks.split_first().expect("a header");
            let strings = layers.iter().flat_map(|(_, bits)| bits.chunks(2 << 20));
            let strings = strings.map(|bits| if key == "zeros" { &[] } else { bits });
            let strings = [&header.1[..]].into_iter().chain(strings);
            let expected = strings.map(|string| Part::Text(string.to_vec()));
            let expected: Vec<_> = [Part::Unsigned(u64::MAX)].into_iter().chain(expected).collect();
            // Strings: the header, and the bits of no layer, of two, and of 14 MB.
            let count = [("few", 1), ("grown", 3), ("zeros", 8)].iter().find(|it| it.0 == key);
            assert_eq!(Some(parts.len()), count.map(|it| 1 + it.1), "{key}");
            assert!(parts == expected, "{key} has other parts");
        }
    });
}

#[test]
fn example_in_the_docs_is_the_header_and_the_bits_of_a_filter() {
    let growth = Growth::Scaling { expansion: 2 };
    let spec = Spec { capacity: 400, error_rate: 0.01, growth };
    let mut filter = Filter::new(spec, 0x0123_4567_89ab_cdef, &mut |_| true).expect("a filter");
    filter.insert(b"user1", &mut |_| true).expect("an item");
    let layer = filter.layers().next().expect("a layer");
    let (bits, geometry) = (set_bytes(layer.words().as_bytes()), layer.geometry());
    let counts = format!(
        "{} page of {} blocks, and an item {} blocks with {} bits in",
        geometry.pages(),
        geometry.blocks_per_page(),
        geometry.blocks_per_item(),
        geometry.bits_per_block(),
    );
    let page = page();
    for text in [&hex(&filter.encode_header()), &bits, &counts] {
        assert!(page.contains(text), "docs/format.md does not show:\n{text}");
    }

    // From the words that the page shows, its rules give the same bits.
    let shown = |name: &str| {
        let (_, rest) = page.split_once(&format!("\n{name:<12}")).expect(name);
        u64::from_str_radix(&rest[..16], 16).expect(name)
    };
    let [block_hash, pattern, further] = ["block_hash", "pattern", "pattern 1"].map(shown);
    let fold = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        product as u64 ^ (product >> 64) as u64
    };
    assert_eq!(pattern, fold(block_hash, 0x9e37_79b9_7f4a_7c15));
    assert_eq!(further, fold(pattern, 0x6a09_e667_f3bc_c909));
    let mut bytes = [0; 576];
    for (pattern, block) in [(pattern, 4), (further, 8)] {
        assert!(page.contains(&format!("{pattern:016x}     block {block}")), "block {block}");
        for i in 0..4 {
            let sector = ((pattern >> 48) + i) % 8;
            let bit = (block * 512 + sector * 64 + (pattern >> (6 * i)) % 64) as usize;
            bytes[bit / 8] |= 1u8 << (bit % 8);
        }
    }
    assert_eq!(set_bytes(&bytes), bits);

    let small = Spec { capacity: 100, ..spec };
    let mut filter = Filter::new(small, 0x0123_4567_89ab_cdef, &mut |_| true).expect("a filter");
    filter.insert(b"user1", &mut |_| true).expect("an item");
    let layer = filter.layers().next().expect("a layer");
    let (sectors, per_item) = (layer.geometry().sectors(), layer.geometry().bits_per_block());
    let counts = format!("{} bytes, {sectors} sectors with {per_item}", layer.bytes());
    let bits = set_bytes(layer.words().as_bytes());
    for text in [&counts, &bits] {
        assert!(page.contains(text), "docs/format.md does not show:\n{text}");
    }
    let first = ((u128::from(block_hash) * u128::from(sectors)) >> 64) as u64;
    let mut bytes = [0; 160];
    for i in 0..u64::from(per_item) {
        let bit = (first + i) % u64::from(sectors) * 64 + (pattern >> (6 * i)) % 64;
        bytes[bit as usize / 8] |= 1u8 << (bit % 8);
    }
    assert_eq!(set_bytes(&bytes), bits);
}

#[test]
fn sparse_filter_in_the_docs_is_written_and_read() {
    let growth = Growth::Scaling { expansion: 2 };
    let spec = Spec { capacity: 100, error_rate: 0.01, growth };
    let mut filter =
        AnyFilter::bloomline(spec, 0x0123_4567_89ab_cdef, &mut |_| true).expect("a filter");
    filter.insert(b"user1", 0, &mut |_| true).expect("an item");
    let header = filter.encode_header();
    let (page, shown) = (page(), hex(&header));
    assert!(page.contains(&shown), "docs/format.md does not show:\n{shown}");
    let read = AnyFilter::decode_header(&header, &mut |_| true).expect("a header");
    assert_eq!((read.encode_header(), read.len()), (header, 1));
    assert!(read.contains(b"user1", 0) && filter.chunk(0).is_none());
}

#[test]
fn cuckoo_filter_in_the_docs_is_written_and_read() {
    let options = CuckooOptions { bucket_size: 2, max_iterations: 20, expansion: 1 };
    let mut filter = AnyCuckoo::redisbloom(8, options, &mut |_| true).expect("a filter");
    for item in [b"a", b"b"] {
        filter.insert(item, &mut |_| true).expect("an item");
    }
    let header = filter.encode_header();
    let (end, table) = filter.scan_dump(1).expect("the table");
    let page = page();
    for text in [hex(&header), hex(table)] {
        assert!(page.contains(&text), "docs/format.md does not show:\n{text}");
    }
    let mut read = AnyCuckoo::decode_header(&header, &mut |_| true).expect("a header");
    read.load_chunk(end, table).expect("a chunk");
    assert_eq!(read, filter);
}

#[test]
fn own_cuckoo_filter_in_the_docs_is_written_and_read() {
    let options = CuckooOptions { bucket_size: 2, max_iterations: 20, expansion: 1 };
    let spec = CuckooSpec { capacity: 6, error_rate: 0.01, options };
    let mut filter =
        AnyCuckoo::bloomline(spec, 0x0123_4567_89ab_cdef, &mut |_| true).expect("a filter");
    for item in [b"a", b"a", b"a", b"a", b"a", b"b"] {
        filter.insert(item, &mut |_| true).expect("an item");
    }
    let header = filter.encode_header();
    let (end, table) = filter.scan_dump(1).expect("the table");
    let page = page();
    for text in [hex(&header), hex(table)] {
        assert!(page.contains(&text), "docs/format.md does not show:\n{text}");
    }
    let mut read = AnyCuckoo::decode_header(&header, &mut |_| true).expect("a header");
    read.load_chunk(end, table).expect("a chunk");
    assert_eq!(read, filter);
}

#[test]
fn the_payload_of_valkey_bloom_is_that_of_the_page() {
    let params = ValkeyParams {
        expansion: 2,
        error_rate: 0.01,
        tightening: 0.5,
        seed: FIXED_SEED,
        is_random: false,
    };
    let mut filter = ValkeyFilter::new(2, params, &mut |_| true).expect("a filter");
    for item in [b"a", b"b", b"c"] {
        assert_eq!(filter.insert(item, &mut |_| true), Ok(true));
    }
    let payload = filter.encode_payload().expect("memory");
    let hex: String = payload.iter().map(|byte| format!("{byte:02x}")).collect();
    let page: String = page().split_whitespace().collect();
    assert!(page.contains(&hex), "{hex}");
    let pair = bloomline_core::hash::siphash::pair(&FIXED_SEED, b"a");
    assert!(page.contains(&format!("{:016x}`and`{:016x}", pair.a, pair.b)), "{pair:x?}");
    // The first layer has 24 bits.
    let further = (2..8).map(|i| pair.b.wrapping_mul(i).wrapping_add(pair.a) % (u64::MAX - 58));
    let bits = [pair.a, pair.b].into_iter().chain(further).map(|bit| (bit % 24).to_string());
    let bits = bits.collect::<String>();
    assert!(page.contains(&format!("firstlayer{bits}.")), "{bits}");
    let header = filter.encode_header();
    assert_eq!((&header[..8], header.len()), (&b"valkeybf"[..], 128));
    assert_eq!(header[40..72], FIXED_SEED);
    assert_eq!(header[72..80], 1u64.to_le_bytes());
    assert_eq!(
        header[80..100],
        [&[2u8, 0, 0, 0, 0, 0, 0, 0, 3][..], &[0; 7], &[8, 0, 0, 0]].concat()
    );
}

#[test]
fn hashes_in_the_docs_are_those_of_redisblooms_layout() {
    let (wide, narrow) = (murmur2::pair_64(b"user1"), murmur2::pair_32(b"user1"));
    let page = page().replace('\n', " ");
    for text in [
        format!("`{:016x}` and `{:016x}`", wide.a, wide.b),
        format!("`{:08x}` and `{:08x}`", narrow.a, narrow.b),
    ] {
        assert!(page.contains(&text), "docs/format.md does not show:\n{text}");
    }
}
