//! The headers and the test vectors in docs/format.md are what the core writes and reads.

use std::fmt::Write;
use std::path::Path;

use bloomline_core::bloom::window::{Window, WindowSpec, WindowedFilter};
use bloomline_core::host::cuckoo::{AnyCuckoo, CuckooOptions, CuckooSpec};
use bloomline_core::host::valkey::{FIXED_SEED, ValkeyFilter, ValkeyParams};
use bloomline_core::host::{AnyFilter, Filter, Growth, Spec};

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

/// The folded filter of the page: 3 pages are stored, and its bits begin at 4 MiB.
fn folded() -> Filter {
    let growth = Growth::Scaling { expansion: 2 };
    let spec = Spec { capacity: 20_000, error_rate: 0.01, growth };
    let whole = Filter::new(spec, 0x0123_4567_89ab_cdef, &mut |_| true).expect("a filter");
    let mut header = whole.encode_header();
    header[8] = 2;
    header.resize(128, 0);
    header[64..72].copy_from_slice(&(4u64 << 20).to_le_bytes());
    let (index, pages, capacity) = (0u32, 3u32, 6_000u64);
    header[80..84].copy_from_slice(&index.to_le_bytes());
    header[84..88].copy_from_slice(&pages.to_le_bytes());
    header[88..96].copy_from_slice(&capacity.to_le_bytes());
    let mut filter = Filter::decode_header(&header, &mut |_| true).expect("a header");
    for item in [b"user1", b"user2", b"user3"] {
        filter.insert(item, &mut |_| true).expect("an item");
    }
    filter
}

#[test]
fn header_of_a_folded_filter_in_the_docs_is_written_and_read() {
    let filter = folded();
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
        AnyFilter::bloomline(spec, 0x0123_4567_89ab_cdef, 1, &mut |_| true).expect("a filter");
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
    for item in [b"a", b"a", b"a", b"a", b"b"] {
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
