//! RedisBloom's RDB value, built field by field: some values are refused, some are repaired because
//! a refused file would prevent the start of a server.

use bloomline_harness::{Client, Setup, body_of_dump, bulk, seal_dump};

use super::assert_works;

/// The value of `BF.RESERVE k .01 100` after one BF.ADD, in encoding version 4.
#[derive(Clone)]
struct Value {
    items: u64,
    links: u64,
    options: u64,
    growth: u64,
    capacity: u64,
    error: f64,
    hashes: u64,
    bits_per_item: f64,
    bits: u64,
    log2_bits: u64,
    bytes: usize,
    len: u64,
}

/// Bytes before the value of a module in a payload: the type, and the module's identifier in nine
/// bytes.
const HEAD: usize = 10;
/// Bytes of the RDB version, which follows the value in a body.
const VERSION: usize = 2;

impl Value {
    fn sound() -> Self {
        Self {
            items: 1,
            links: 1,
            options: 5,
            growth: 2,
            capacity: 100,
            error: 0.005,
            hashes: 8,
            bits_per_item: 11.027_754_391_170_62,
            bits: 1152,
            log2_bits: 0,
            bytes: 144,
            len: 1,
        }
    }

    /// The payload, with the identifier and the version that this server writes.
    fn payload(&self, client: &mut Client) -> Vec<u8> {
        self.payload_of(client, &[self])
    }

    /// The same with other links.
    fn payload_of(&self, client: &mut Client, links: &[&Self]) -> Vec<u8> {
        client.call("BF.ADD frame a");
        let dump = client.call("DUMP frame");
        client.call("DEL frame");
        let body = body_of_dump(bulk(&dump));
        let mut payload = body[..HEAD].to_vec();
        let unsigned = |payload: &mut Vec<u8>, number: u64| {
            payload.extend([2, 0x81]);
            payload.extend(number.to_be_bytes());
        };
        let double = |payload: &mut Vec<u8>, number: f64| {
            payload.push(4);
            payload.extend(number.to_le_bytes());
        };
        for number in [self.items, self.links, self.options, self.growth] {
            unsigned(&mut payload, number);
        }
        for link in links {
            unsigned(&mut payload, link.capacity);
            double(&mut payload, link.error);
            unsigned(&mut payload, link.hashes);
            double(&mut payload, link.bits_per_item);
            unsigned(&mut payload, link.bits);
            unsigned(&mut payload, link.log2_bits);
            payload.extend([5, 0x80]);
            payload.extend((link.bytes as u32).to_be_bytes());
            payload.extend(vec![0x55; link.bytes]);
            unsigned(&mut payload, link.len);
        }
        payload.push(0);
        payload.extend(&body[body.len() - VERSION..]);
        seal_dump(&payload)
    }

    fn restore(&self, client: &mut Client) -> String {
        let payload = self.payload(client);
        restore(client, &payload)
    }
}

/// The payload of a filter whose links hold these numbers of items, with another sum.
pub fn payload_of_links(client: &mut Client, lens: &[u64]) -> Vec<u8> {
    let links: Vec<Value> = lens.iter().map(|&len| Value { len, ..Value::sound() }).collect();
    let all: Vec<&Value> = links.iter().collect();
    Value { items: 7, links: lens.len() as u64, ..Value::sound() }.payload_of(client, &all)
}

/// Restores a payload under `k`; returns the reply as text.
pub fn restore(client: &mut Client, payload: &[u8]) -> String {
    client.restore("k", payload)
}

#[test]
fn foreign_values_that_contradict_themselves_are_refused() {
    let sound = Value::sound;
    let impossible = [
        ("no link", Value { links: 0, ..sound() }),
        ("more links than a filter has", Value { links: 4_097, ..sound() }),
        ("a second link that is not there", Value { links: 2, ..sound() }),
        ("no bits", Value { bits: 0, bytes: 0, ..sound() }),
        ("more bits than bytes hold", Value { bits: 1216, ..sound() }),
        ("fewer bits than bytes hold", Value { bits: 64, ..sound() }),
        ("bits that are no whole words", Value { bits: 1160, bytes: 145, ..sound() }),
        ("bytes that are no whole words", Value { bytes: 145, ..sound() }),
        ("the largest number of bits", Value { bits: u64::MAX - 63, ..sound() }),
        ("a power of two beyond 2^63", Value { log2_bits: 64, ..sound() }),
        ("a power of two beyond its bits", Value { log2_bits: 40, ..sound() }),
        ("an error rate of 1", Value { error: 1.0, ..sound() }),
        ("an error rate of 0", Value { error: 0.0, ..sound() }),
        ("an error rate of NaN", Value { error: f64::NAN, ..sound() }),
        ("NaN bits per item", Value { bits_per_item: f64::NAN, ..sound() }),
        ("infinite bits per item", Value { bits_per_item: f64::INFINITY, ..sound() }),
        // Of these, 32 or 8 bits are those of the sound value.
        ("a power of two of more than 8 bits", Value { log2_bits: 256, ..sound() }),
        ("hashes of more than 32 bits", Value { hashes: (1 << 32) + 8, ..sound() }),
        ("a growth of more than 32 bits", Value { growth: (1 << 32) + 2, ..sound() }),
        ("options of more than 32 bits", Value { options: (1 << 32) + 5, ..sound() }),
        ("no hashes", Value { hashes: 0, ..sound() }),
        ("hashes that do not match the bits per item", Value { hashes: 9, ..sound() }),
        (
            "two thousand million hashes",
            Value { bits_per_item: 2.9e9, hashes: 2_010_126_824, ..sound() },
        ),
    ];
    Setup::new().on_shared_servers(|mut client, _| {
        for (what, value) in &impossible {
            assert_eq!(value.restore(&mut client), "-ERR Bad data format", "{what}");
            client.assert_answers_ping(what);
        }
        assert_eq!(client.ask("DBSIZE"), ":0");
        assert_eq!(sound().restore(&mut client), "+OK");
        assert_works(&mut client, "k", "the sound value");
    });
}

#[test]
fn wrong_sums_and_options_are_repaired_and_logged() {
    let sound = Value::sound;
    let repaired = [
        (Value { items: 7, ..sound() }, "repaired: 1 items in the links, 7 in the sum"),
        (
            Value { options: 0x45, ..sound() },
            "repaired: options 0x40 without a meaning are dropped",
        ),
    ];
    Setup::new().on_each_server(|mut client, server| {
        assert_eq!(sound().restore(&mut client), "+OK");
        let expected = (client.ask("BF.DEBUG k"), client.call("DUMP k"));
        assert!(!server.log().contains("repaired"), "a sound value is not repaired");
        for (value, line) in &repaired {
            client.call("DEL k");
            assert_eq!(value.restore(&mut client), "+OK", "{line}");
            assert_eq!(client.ask("BF.CARD k"), ":1", "{line}");
            assert_eq!((client.ask("BF.DEBUG k"), client.call("DUMP k")), expected, "{line}");
            assert!(server.log().contains(line), "{line} is not in the log");
        }
    });
}

#[test]
fn redis_6_restores_no_layer_of_4_gib() {
    Setup::new().on_each_server(|mut client, server| {
        for bits in [1 << 35, (1 << 35) + 64] {
            let large = Value { bits, ..Value::sound() };
            assert_eq!(large.restore(&mut client), "-ERR Bad data format");
        }
        // Other servers refuse it because its 144 bytes are too few.
        let rule =
            "it needs a layer of 4294967296 bytes in RedisBloom's layout, and Redis before 7.0";
        assert_eq!(server.log().contains(rule), server.kind.is_before_7(), "{}", server.log());
        assert_eq!(client.ask("DBSIZE"), ":0");
    });
}
