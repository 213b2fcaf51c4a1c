//! The filters of these tests, and everything that a client can see of them.

use bloomline_harness::{Client, Random, int, numbered, show};

/// A filter: its key, and the items that were added to it.
pub struct Made {
    /// The key.
    pub key: &'static str,
    /// The items.
    pub items: Vec<Vec<u8>>,
}

/// Builds one filter of each kind that an entry point could handle wrongly.
pub fn build(client: &mut Client) -> Vec<Made> {
    let mut made = Vec::new();
    let mut keep = |key, items: Vec<Vec<u8>>| made.push(Made { key, items });

    client.ok("BF.RESERVE empty 0.01 100");
    keep("empty", Vec::new());

    keep("one:layer", add(client, "one:layer", numbered("one", 60)));

    // With default settings: growth from 100 items to eight layers.
    keep("many:layers", add(client, "many:layers", numbered("many", 20_000)));

    client.ok("BF.RESERVE partly:full 0.001 1000 NONSCALING");
    keep("partly:full", add(client, "partly:full", numbered("partly", 400)));

    // The error rate is so small that an item that must be refused is never a false positive.
    client.ok("BF.RESERVE entirely:full 0.0000001 50 NONSCALING");
    let mut inside = numbered("entirely", 60);
    for item in &inside {
        client.run(&[b"BF.ADD", b"entirely:full".as_slice(), item]);
    }
    assert_eq!(client.ask("BF.ADD entirely:full yet:another"), "-ERR non scaling filter is full");
    inside.truncate(50);
    keep("entirely:full", inside);

    // One layer per ten items.
    client.ok("BF.RESERVE sixty:layers 0.01 10 EXPANSION 1");
    keep("sixty:layers", add(client, "sixty:layers", numbered("sixty", 600)));
    let layers = client.ask("BF.INFO sixty:layers FILTERS");
    assert!(["*[:58]", "*[:59]", "*[:60]"].contains(&layers.as_str()), "{layers}");

    let mut random = Random(7);
    let binary: Vec<Vec<u8>> = (0..300).map(|length| random.bytes(length)).collect();
    client.ok("BF.RESERVE binary 0.0001 200");
    keep("binary", add(client, "binary", binary));

    // Folded, and the second one grown and folded again. In RedisBloom's layout a link of fewer bits.
    for (key, capacity, options) in [
        ("compacted", 20_000, ""),
        ("compacted:twice", 20_000, "EXPANSION 4"),
        ("compacted:redisbloom", 20_000, "LAYOUT REDISBLOOM"),
    ] {
        client.ok(&format!("BF.RESERVE {key} 0.01 {capacity} {options}"));
        let mut items = add(client, key, numbered(key, 1_500));
        compact(client, key);
        if key == "compacted:twice" {
            items.extend(add(client, key, numbered("more", 2_500)));
            compact(client, key);
            let layers = client.ask(&format!("BF.INFO {key} FILTERS"));
            assert_eq!(layers, "*[:2]");
        }
        keep(key, items);
    }

    // Only the header was loaded: the items are counted, but their bits are missing.
    let (_, header) = client.scandump("many:layers", 0);
    assert_eq!(client.loadchunk("half:loaded", 1, &header), "+OK");
    keep("half:loaded", numbered("many", 1000));

    made
}

/// A filter whose bits need several chunks.
pub fn build_large(client: &mut Client) -> Vec<Made> {
    client.ok("BF.RESERVE large 0.01 15000000");
    vec![Made { key: "large", items: add(client, "large", numbered("large", 5000)) }]
}

fn compact(client: &mut Client, key: &str) {
    assert_ne!(client.ask(&format!("BF.COMPACT {key}")), ":0", "{key}");
}

fn add(client: &mut Client, key: &str, items: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    for batch in items.chunks(1000) {
        client.items("BF.MADD", key, batch);
    }
    items
}

/// Everything that a client can see of a filter.
#[derive(Debug, PartialEq)]
pub struct Seen {
    kind: String,
    info: String,
    debug: String,
    card: i64,
    absent: String,
    added: String,
}

/// Reads everything about the filter under a key.
pub fn observe(client: &mut Client, key: &str, items: &[Vec<u8>]) -> Seen {
    let mut answers = |items: &[Vec<u8>]| match items {
        [] => String::new(),
        items => show(&client.items("BF.MEXISTS", key, items)),
    };
    let absent = answers(&numbered("absent", 1000));
    let added = answers(items);
    Seen {
        kind: client.ask(&format!("TYPE {key}")),
        info: client.ask(&format!("BF.INFO {key}")),
        debug: client.ask(&format!("BF.DEBUG {key}")),
        card: int(&client.call(&format!("BF.CARD {key}"))),
        absent,
        added,
    }
}

/// Reads everything about all filters.
pub fn observe_all(client: &mut Client, made: &[Made]) -> Vec<Seen> {
    made.iter().map(|filter| observe(client, filter.key, &filter.items)).collect()
}

/// Asserts that every filter is the same as before the entry point.
pub fn assert_same(client: &mut Client, made: &[Made], before: &[Seen]) {
    for (filter, before) in made.iter().zip(before) {
        assert_eq!(&observe(client, filter.key, &filter.items), before, "{}", filter.key);
    }
}

/// Asserts that all items are present, so that the filters are not merely equally wrong on both
/// sides.
pub fn assert_nothing_lost(made: &[Made], seen: &[Seen]) {
    for (filter, seen) in made.iter().zip(seen) {
        assert_eq!(seen.kind, "+MBbloom--", "{}", filter.key);
        if filter.key != "half:loaded" {
            assert!(!seen.added.contains(":0"), "{} lost an item", filter.key);
        }
    }
}

/// Adds items to every filter after the entry point: it must still grow, refuse and count.
pub fn assert_usable(client: &mut Client, made: &[Made]) {
    for filter in made {
        let more = numbered("after:the:entry:point", 200);
        let reply = show(&client.items("BF.MADD", filter.key, &more));
        let is_full = reply.ends_with("-ERR non scaling filter is full]");
        assert!(is_full == (filter.key == "entirely:full"), "{}: {reply}", filter.key);
        if !is_full {
            let found = show(&client.items("BF.MEXISTS", filter.key, &more));
            assert!(!found.contains(":0"), "{}: {found}", filter.key);
        }
    }
}
