//! DUMP payloads of every kind of filter that are truncated or damaged: refused, or a filter that
//! works. A payload has the header of the filter in it. The core's tests damage headers alone.

use std::ops::Range;

use bloomline_harness::{
    Client, DUMP_FOOTER, Setup, body_of_dump, for_each_server, numbered, seal_dump, truncate_dump,
};

use bloomline_reference::payload::{Field, Payload};

use super::assert_works;
use crate::windowed::RATE;

/// The family and the options of each filter, and how many items are added one call after the
/// other. The first ones have one layer, several layers, and no room.
const FILTERS: [(&str, &str, usize); 10] = [
    ("BF", "0.01 100", 3),
    ("BF", "0.01 3 EXPANSION 1", 7),
    ("BF", "0.1 2 NONSCALING", 3),
    ("BF", "8 GENERATIONS 2", 60),
    ("BF", "8 LAST GENERATIONS 2", 60),
    ("BF", "8 WINDOW 500 GENERATIONS 4 NOREFRESH", 60),
    ("CF", "30", 20),
    ("CF", "8 EXPANSION 2", 20),
    ("CF", "20 BUCKETSIZE 4 EXPANSION 0", 20),
    ("CF", "8 EXPANSION 2 LAYOUT REDISBLOOM", 20),
];

/// Those without a window.
const PLAIN: usize = 3;

/// A filter of [`FILTERS`].
struct Made {
    options: &'static str,
    dump: Vec<u8>,
}

impl Made {
    fn new(
        client: &mut Client,
        (family, options, count): (&'static str, &'static str, usize),
    ) -> Self {
        let is_windowed = options.contains("GENERATIONS");
        let rate = if is_windowed { RATE } else { "" };
        client.ok(&format!("{family}.RESERVE k {rate} {options}"));
        for batch in numbered("item", count).chunks(if is_windowed { 6 } else { count }) {
            match family {
                "BF" => client.items("BF.MADD", "k", batch),
                _ => client.items("CF.INSERT", "k", &[&[b"ITEMS".to_vec()], batch].concat()),
            };
            if options.starts_with("8 GENERATIONS") {
                client.ok("BF.ROTATE k");
            }
        }
        if is_windowed {
            // Overflow layers.
            client.items("BF.MADD", "k", &numbered("burst", 30));
        }
        if family == "CF" {
            assert_eq!(client.ask("CF.DEL k item:7"), ":1", "{options}");
        }
        let dump = client.dump("k");
        client.ok("FLUSHALL SYNC");
        Self { options, dump }
    }

    /// Restores a payload; true if it made a filter, which must work.
    fn restore(&self, client: &mut Client, payload: &[u8], case: &str) -> bool {
        let reply = client.restore("k", payload);
        let case = format!("{}: {case}", self.options);
        client.assert_answers_ping(&case);
        // No error is about version or checksum, so the decoder was reached.
        if reply != "+OK" {
            assert_eq!(reply, "-ERR Bad data format", "{case}");
            assert_eq!(client.ask("EXISTS k"), ":0", "{case}");
            return false;
        }
        assert_works(client, "k", &case);
        true
    }
}

/// Where the bits are in a payload: in its strings but the first, which is the header. Compressed
/// ones are not found.
fn bits(dump: &[u8]) -> Vec<Range<usize>> {
    let mut end = 0;
    let strings = Payload::parse(dump).fields.into_iter().filter_map(|field| match field {
        Field::String(bytes) => Some(bytes),
        _ => None,
    });
    let found = strings.skip(1).filter_map(|string| {
        let start = end + dump[end..].windows(string.len()).position(|bytes| bytes == string)?;
        end = start + string.len();
        Some(start..end)
    });
    found.collect()
}

/// A byte damaged in three ways of seven, other ones for each place: lowest bit, highest bit, all
/// bits, and values with a meaning in many formats.
fn damaged(byte: u8, at: usize) -> impl Iterator<Item = u8> {
    let damages = [byte ^ 1, byte ^ 0x80, !byte, 0, 2, 0x7f, 0xff];
    let some = damages.into_iter().cycle().skip(at * 3 % damages.len()).take(3);
    some.filter(move |damage| *damage != byte)
}

#[test]
fn damaged_payloads_are_refused_or_make_usable_filters() {
    for_each_server(|kind| {
        // The server stores strings verbatim, so that damage hits the bits, or compressed, so that
        // it hits lengths.
        for (compression, filters) in
            [("rdbcompression no", &FILTERS[..]), ("rdbcompression yes", &FILTERS[..PLAIN])]
        {
            let setup = Setup::new().debug().module_args("bf-max-filter-bytes 16mb");
            let server = setup.line(compression).start(kind);
            let mut client = server.resp2();
            for filter in filters {
                let made = Made::new(&mut client, *filter);
                let dump = &made.dump;
                let value = dump.len() - DUMP_FOOTER;
                for length in 0..dump.len() {
                    let reply = client.restore("k", &dump[..length]);
                    assert!(reply.starts_with("-ERR"), "cut to {length}: {reply}");
                }
                for length in 1..value {
                    let cut = truncate_dump(dump, length);
                    let is_made = made.restore(&mut client, &cut, &format!("cut to {length}"));
                    // The footer, of up to ten bytes, can replace the end of the value where it
                    // happens to fit: bits may have any value, and one checksum in 256 ends in the
                    // zero that ends a value.
                    assert!(!is_made || length + DUMP_FOOTER >= value, "value cut to {length}");
                }
                // The first byte selects the server's own types, which are not under test. Bits may
                // have any value, so they are damaged only here and there.
                let bits = bits(dump);
                let is_bits = |at: usize| bits.iter().any(|range| range.contains(&at));
                let mut accepted = 0;
                for at in (1..value).filter(|at| !is_bits(*at) || at % 64 == 0) {
                    for damage in damaged(dump[at], at) {
                        let mut body = body_of_dump(dump).to_vec();
                        body[at] = damage;
                        let case = format!("byte {at} of {} turned to {damage:#04x}", dump.len());
                        let payload = seal_dump(&body);
                        accepted += usize::from(made.restore(&mut client, &payload, &case));
                    }
                }
                // Damaged bits are accepted. If no payload was accepted, the decoder was not
                // reached.
                let is_windowed = made.options.contains("GENERATIONS");
                assert!(accepted > if is_windowed { 20 } else { 0 }, "{accepted}");
                assert!(made.restore(&mut client, dump, "the whole payload"));
            }
            assert_eq!(client.ask("DBSIZE"), ":0");
        }
    });
}

#[test]
fn refused_payloads_leak_no_memory() {
    Setup::new().line("rdbcompression no").on_each_server(|mut client, _| {
        client.ok("BF.RESERVE k 0.01 100000");
        // An empty filter's payload has no bits that could be truncated.
        client.call("BF.ADD k a");
        let dump = client.dump("k");
        client.ok("FLUSHALL");
        let used = |client: &mut Client| client.info_number("used_memory");
        let cut = truncate_dump(&dump, dump.len() - DUMP_FOOTER - 100);
        client.restore("k", &cut);
        let before = used(&mut client);
        for _ in 0..100 {
            assert_eq!(client.restore("k", &cut), "-ERR Bad data format");
        }
        // 100 filters of 140 kB would be 14 MB.
        let grown = used(&mut client).saturating_sub(before);
        assert!(grown < 2 << 20, "{grown} bytes");
    });
}
