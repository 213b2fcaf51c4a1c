//! Headers, chunks and values of cuckoo filters with chosen numbers: refused, or a filter that
//! works.

use bloomline_harness::{Client, Setup, body_of_dump, bulk, numbered, seal_dump};

use crate::filters::Family;

/// A server with a limit, so that a damaged header cannot request gigabytes.
fn limited() -> Setup {
    Setup::new().module_args("bf-max-filter-bytes 16mb")
}

/// Runs every command on an accepted filter, and saves, loads and deletes it.
pub fn assert_works(client: &mut Client, key: &str, what: &str) {
    for line in [
        "CF.EXISTS KEY a",
        "CF.COUNT KEY a",
        "CF.INFO KEY",
        "CF.DEBUG KEY",
        "CF.SCANDUMP KEY 0",
        "CF.SCANDUMP KEY 1",
        "CF.DEL KEY a",
    ] {
        let reply = client.ask(&line.replace("KEY", key));
        assert!(!reply.starts_with('-'), "{what}: {line} returned {reply}");
    }
    assert_saves(client, key, what);
    // It may be full or unable to grow, but it must not break.
    Family::Cuckoo.add(client, key, &numbered("more", 50));
    assert_saves(client, key, what);
    client.items("CF.MDEL", key, &numbered("more", 30));
    assert_saves(client, key, what);
    client.ok(&format!("CF.COMPACT {key}"));
    assert_saves(client, key, what);
    assert_eq!(client.ask(&format!("DEL {key}")), ":1", "{what}");
}

fn assert_saves(client: &mut Client, key: &str, what: &str) {
    let dump = client.call(&format!("DUMP {key}"));
    let reply = client.restore("saved", bulk(&dump));
    assert_eq!(reply, "+OK", "{what}: the filter does not load from its own dump");
    let (debug, saved) = (client.ask(&format!("CF.DEBUG {key}")), client.ask("CF.DEBUG saved"));
    assert_eq!(debug, saved, "{what}");
    let header = client.scandump_of("CF", key, 0).1;
    assert_eq!(client.loadchunk_of("CF", "loaded", 1, &header), "+OK", "{what}");
    assert_eq!(client.ask("DEL saved loaded"), ":2");
}

/// A header, field by field.
#[derive(Clone, Copy)]
struct Header {
    items: u64,
    buckets: u64,
    deletes: u64,
    tables: u64,
    bucket_size: u16,
    max_iterations: u16,
    expansion: u16,
}

const SOUND: Header = Header {
    items: 3,
    buckets: 4,
    deletes: 1,
    tables: 2,
    bucket_size: 2,
    max_iterations: 20,
    expansion: 2,
};

impl Header {
    fn encode(&self) -> Vec<u8> {
        [
            &self.items.to_le_bytes()[..],
            &self.buckets.to_le_bytes(),
            &self.deletes.to_le_bytes(),
            &self.tables.to_le_bytes(),
            &self.bucket_size.to_le_bytes(),
            &self.max_iterations.to_le_bytes(),
            &self.expansion.to_le_bytes(),
        ]
        .concat()
    }
}

/// Loads any header. A filter that it makes must work.
fn assert_refused_or_works(client: &mut Client, header: &[u8], what: &str) -> bool {
    let reply = client.loadchunk_of("CF", "k", 1, header);
    client.assert_answers_ping(what);
    if reply == "+OK" {
        assert_works(client, "k", what);
        return true;
    }
    assert!(
        ["-Couldn't create filter!", "-Invalid header"].contains(&reply.as_str())
            || reply.starts_with("-ERR Insufficient memory to create filter")
            || reply.starts_with("-ERR could not create filter: it needs a layer of"),
        "{what}: {reply}"
    );
    assert_eq!(client.ask("EXISTS k"), ":0", "{what}");
    false
}

#[test]
fn headers_with_impossible_numbers_are_refused() {
    // The core's tests know all the numbers that are refused.
    let impossible = [
        ("no buckets", Header { buckets: 0, ..SOUND }),
        ("all tables", Header { tables: u64::MAX, ..SOUND }),
        ("256 slots", Header { bucket_size: 256, ..SOUND }),
        ("more items than slots", Header { items: 25, ..SOUND }),
    ];
    limited().on_each_server(|mut client, server| {
        for (what, header) in &impossible {
            let reply = client.loadchunk_of("CF", "k", 1, &header.encode());
            assert_eq!(reply, "-Couldn't create filter!", "{what}");
            client.assert_answers_ping(what);
        }
        for (what, header) in [
            ("2^55 buckets", Header { buckets: 1 << 55, tables: 1, ..SOUND }),
            ("65,535 tables", Header { buckets: 1 << 20, tables: 65_535, expansion: 1, ..SOUND }),
        ] {
            let reply = client.loadchunk_of("CF", "k", 1, &header.encode());
            // Redis 6.2 cannot save a table of 4 GiB.
            let is_unsavable =
                server.kind.is_before_7() && reply.starts_with("-ERR could not create filter");
            assert!(
                is_unsavable || reply.starts_with("-ERR Insufficient memory"),
                "{what}: {reply}"
            );
        }
        assert_eq!(client.ask("DBSIZE"), ":0");
        assert_eq!(client.loadchunk_of("CF", "k", 1, &SOUND.encode()), "+OK");
        // Tables of 8 and 16 bytes: a chunk of 9 bytes lies in both.
        for (iterator, length, expected) in
            [(9, 8, "+OK"), (9, 9, "-Couldn't load chunk!"), (25, 17, "-Couldn't load chunk!")]
        {
            let reply = client.loadchunk_of("CF", "k", iterator, &vec![0xaa; length]);
            assert_eq!(reply, expected, "{length} bytes at {iterator}");
        }
        assert_works(&mut client, "k", "any bytes");
        // Numbers at their limits.
        for (what, header) in [
            ("sound", SOUND),
            ("65,535 tables", Header { buckets: 1, tables: 65_535, expansion: 1, ..SOUND }),
        ] {
            assert!(assert_refused_or_works(&mut client, &header.encode(), what), "{what}");
        }
    });
}

fn restore(client: &mut Client, payload: &[u8]) -> String {
    client.restore("k", payload)
}

/// The value of a filter of two tables, field by field.
struct Value {
    numbers: [u64; 7],
    tables: [(u64, usize); 2],
}

/// Tables, buckets, items, deletions, bucket size, iterations, expansion; then each table's buckets
/// and bytes.
const VALUE: Value = Value { numbers: [2, 4, 3, 1, 2, 20, 2], tables: [(4, 8), (8, 16)] };

impl Value {
    /// A value with another number.
    fn with(at: usize, number: u64) -> Self {
        let mut value = VALUE;
        value.numbers[at] = number;
        value
    }

    /// The payload, with the identifier and the version that this server writes.
    fn payload(&self, client: &mut Client) -> Vec<u8> {
        /// Bytes before the value: the type, and the module's identifier in nine bytes.
        const HEAD: usize = 10;
        client.call("CF.ADD frame a");
        let dump = client.call("DUMP frame");
        client.call("DEL frame");
        let body = body_of_dump(bulk(&dump));
        let mut payload = body[..HEAD].to_vec();
        let unsigned = |payload: &mut Vec<u8>, number: u64| {
            payload.extend([2, 0x81]);
            payload.extend(number.to_be_bytes());
        };
        for number in self.numbers {
            unsigned(&mut payload, number);
        }
        for (buckets, bytes) in self.tables {
            unsigned(&mut payload, buckets);
            payload.extend([5, 0x80]);
            payload.extend((bytes as u32).to_be_bytes());
            payload.extend(std::iter::repeat_n(7, bytes));
        }
        payload.push(0);
        payload.extend(&body[body.len() - 2..]);
        seal_dump(&payload)
    }
}

#[test]
fn values_with_impossible_numbers_are_refused() {
    limited().on_each_server(|mut client, _| {
        let payload = VALUE.payload(&mut client);
        assert_eq!(restore(&mut client, &payload), "+OK");
        assert_works(&mut client, "k", "the sound value");
        for (at, numbers) in [
            (0, &[0, 1, 3, 65_536, 65_538, u64::MAX][..]),
            (1, &[0, 3, 8, 1 << 55, 1 << 56, u64::MAX]),
            (2, &[25, u64::MAX]),
            (4, &[0, 1, 3, 256, 258, u64::MAX]),
            (5, &[0, 65_536, u64::MAX]),
            (6, &[0, 1, 3, 4, 65_536, 65_538, u64::MAX]),
        ] {
            for number in numbers {
                let payload = Value::with(at, *number).payload(&mut client);
                let reply = restore(&mut client, &payload);
                assert_eq!(reply, "-ERR Bad data format", "number {at} is {number}");
                client.assert_answers_ping("the refused value");
            }
        }
        // RedisBloom ends the process for a string of another length.
        for tables in [
            [(4, 7), (8, 16)],
            [(4, 9), (8, 16)],
            [(4, 8), (8, 0)],
            [(4, 8), (8, 15)],
            [(4, 8), (8, 1 << 20)],
            [(3, 8), (8, 16)],
            [(0, 0), (8, 16)],
            [(4, 8), (u64::MAX, 16)],
        ] {
            let payload = Value { tables, ..VALUE }.payload(&mut client);
            let reply = restore(&mut client, &payload);
            assert_eq!(reply, "-ERR Bad data format", "{tables:?}");
            client.assert_answers_ping("the refused value");
        }
        // Deletions are any number.
        let payload = Value::with(3, u64::MAX).payload(&mut client);
        assert_eq!(restore(&mut client, &payload), "+OK");
        assert_works(&mut client, "k", "all deletions");
        let used = client.info_number("used_memory");
        assert!(used < 40 << 20, "{used} bytes are used");
    });
}
