//! The findings of the fuzzers, each as a test with its bytes.

use bloomline_harness::{Client, Kind, Setup, bulk, for_each_server, numbered, seal_dump, show};
use redis::Value;

use bloomline_reference::payload::{Field, Payload};

/// The fields of a payload of a filter in RedisBloom's layout.
fn payload(client: &mut Client) -> Payload {
    client.ok("BF.RESERVE made 0.01 1000 NONSCALING LAYOUT REDISBLOOM");
    client.call("BF.ADD made a");
    let dump = client.call("DUMP made");
    client.call("DEL made");
    Payload::parse(bulk(&dump))
}

fn restore(client: &mut Client, key: &str, payload: &Payload) -> String {
    show(&client.run(&[&b"RESTORE"[..], key.as_bytes(), b"0", &seal_dump(&payload.body())]))
}

fn setup(kind: &Kind) -> Setup {
    let setup = Setup::new().line("rdbcompression no");
    if kind.is_before_7() { setup } else { setup.line("enable-debug-command yes") }
}

/// Found by `dump`: the server ended with a damaged heap. The block of the bits was freed twice, so
/// that two filters got the same block.
#[test]
fn bits_that_are_no_whole_words_are_freed_once() {
    for_each_server(|kind| {
        let server = setup(kind).start(kind);
        let mut client = server.resp2();
        let mut payload = payload(&mut client);
        let bits = payload.fields.iter_mut().find_map(|field| match field {
            Field::String(bits) => Some(bits),
            _ => None,
        });
        bits.expect("the bits").pop();
        for _ in 0..100 {
            assert_eq!(restore(&mut client, "k", &payload), "-ERR Bad data format");
        }
        for key in ["one", "other"] {
            client.ok(&format!("BF.RESERVE {key} 0.01 1000 NONSCALING LAYOUT REDISBLOOM"));
        }
        client.items("BF.MADD", "one", &numbered("item", 500));
        let found = show(&client.items("BF.MEXISTS", "other", &numbered("item", 500)));
        assert!(!found.contains(":1"), "two filters share their bits: {found}");
        assert_eq!(client.ask("DEL one other"), ":2");
        client.assert_answers_ping("the payloads");
    });
}

/// Found by reasoning from a finding of `decode`, a filter of 2^64 - 1 items: in an RDB value the
/// number of items has the same position as the mark of our own layout.
#[test]
fn filters_of_any_item_count_are_saved_and_load_again() {
    for_each_server(|kind| {
        let server = setup(kind).start(kind);
        let mut client = server.resp2();
        let payload = payload(&mut client);
        let last = payload.fields.len() - 1;
        assert_eq!(payload.fields[last], Field::Unsigned(1), "the number of items in the link");
        // The last number consists of the letters at the start of a header of our own layout.
        for items in
            [u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) - 1, u64::from_le_bytes(*b"bloomlin")]
        {
            let mut forged = payload.clone();
            for at in [0, last] {
                forged.fields[at] = Field::Unsigned(items);
            }
            // The capacity allows more items, so that the sum grows further.
            forged.fields[4] = Field::Unsigned(u64::MAX);
            // A sum of `u64::MAX` is the mark of our own layout. The links are authoritative.
            forged.fields[0] = Field::Unsigned(items.min(u64::MAX - 1));
            assert_eq!(restore(&mut client, "k", &forged), "+OK", "{items}");
            for item in ["b", "c", "d"] {
                client.call(&format!("BF.ADD k {item}"));
            }
            let Value::Array(piece) = client.call("BF.SCANDUMP k 0") else { panic!("no header") };
            let loaded =
                client.run(&[&b"BF.LOADCHUNK"[..], b"copy".as_slice(), b"1", bulk(&piece[1])]);
            assert_eq!(show(&loaded), "+OK", "{items}");
            let observe = |client: &mut Client| {
                [client.ask("BF.DEBUG k"), client.ask("BF.MEXISTS k a b c d")]
            };
            let before = observe(&mut client);
            client.ok("DEBUG RELOAD");
            assert_eq!(observe(&mut client), before, "{items}");
            assert_eq!(client.ask("DEL k copy"), ":2");
        }
    });
}

/// Found by `dump` under AddressSanitizer on Redis 6.2: the bits were eight blanks, and the server
/// read beyond them while it looked for a number.
#[test]
fn bits_that_look_like_a_number_are_saved_verbatim() {
    for_each_server(|kind| {
        let server = setup(kind).start(kind);
        let mut client = server.resp2();
        for bits in [*b"\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b", *b"       -", *b"12345678", *b"-1234567"]
        {
            client.ok("BF.RESERVE made 0.25 1 NONSCALING LAYOUT REDISBLOOM");
            let dump = client.call("DUMP made");
            let mut payload = Payload::parse(bulk(&dump));
            let stored = payload.fields.iter_mut().find_map(|field| match field {
                Field::String(stored) => Some(stored),
                _ => None,
            });
            *stored.expect("the bits") = bits.to_vec();
            for _ in 0..20 {
                assert_eq!(restore(&mut client, "k", &payload), "+OK");
                let again = client.call("DUMP k");
                let copy = client.run(&[&b"RESTORE"[..], b"copy".as_slice(), b"0", bulk(&again)]);
                assert_eq!(show(&copy), "+OK");
                for key in ["k", "copy"] {
                    let piece = client
                        .call(&format!("BF.SCANDUMP {key} 1"))
                        .into_sequence()
                        .expect("a pair");
                    assert_eq!(bulk(&piece[1]), bits, "{key}");
                }
                client.call("DEL k copy");
            }
            client.call("DEL made");
        }
    });
}
