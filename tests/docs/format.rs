//! The header of version 2 in docs/format.md is what the core writes and reads.

use std::fmt::Write;
use std::fs;

use bloomline_core::Growth;
use bloomline_core::window::{Window, WindowSpec, WindowedFilter};

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
    filter.insert(b"user1", &mut |_| true).expect("an item");
    filter.advance(OPENED + SLOT + 5, &mut |_| true).expect("a rotation");
    for item in [b"user2", b"user1"] {
        filter.insert(item, &mut |_| true).expect("an item");
    }
    filter
}

/// Lines of 16 bytes in hexadecimal.
fn hex(bytes: &[u8]) -> String {
    let mut text = String::new();
    for (index, line) in bytes.chunks(16).enumerate() {
        write!(text, "{:>4} ", index * 16).expect("a line");
        for (index, byte) in line.iter().enumerate() {
            let blank = if index == 8 { "  " } else { " " };
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

#[test]
fn header_of_version_2_in_the_docs_is_written_and_read() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/format.md"))
        .expect("docs/format.md");
    let filter = example();
    let header = filter.encode_header();
    let mut shown = vec![hex(&header)];
    for layer in filter.layers() {
        shown.push(set_bytes(layer.as_bytes()));
    }
    for text in shown {
        assert!(page.contains(&text), "docs/format.md does not show:\n{text}");
    }
    let read = WindowedFilter::decode_header(&header, &mut |_| true).expect("a header");
    assert_eq!(read.encode_header(), header);
}
