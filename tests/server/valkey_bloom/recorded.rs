//! Recorded filters: what a server restores is what valkey-bloom reported, it is written back as
//! the same bytes, and filters that are made here become equal to them.

use bloomline_harness::{Client, Setup, bulk, show};
use bloomline_reference::payload::Payload;
use bloomline_reference::valkey_fixture::{Recorded, file, load_payloads, recorded};

use crate::redisbloom::seen::restore;

/// Asserts that the key holds the recorded filter.
fn assert_recorded(client: &mut Client, key: &str, filter: &Recorded) {
    assert_eq!(client.ask(&format!("TYPE {key}")), "+bloomfltr", "{key}");
    assert_eq!(client.ask(&format!("BF.INFO {key} LAYOUT")), "*[$12 valkey-bloom]", "{key}");
    for (field, name) in [
        ("CAPACITY", "Capacity"),
        ("SIZE", "Size"),
        ("FILTERS", "Number of filters"),
        ("ITEMS", "Number of items inserted"),
        ("MAXSCALEDCAPACITY", "Max scaled capacity"),
    ] {
        let expected = filter.info(name).map_or("_".to_owned(), |number| format!(":{number}"));
        let found = client.ask(&format!("BF.INFO {key} {field}"));
        assert_eq!(found, format!("*[{expected}]"), "{key}: {name}");
    }
    let (items, answers): (Vec<_>, Vec<_>) = filter.absent().into_iter().unzip();
    let expected: Vec<_> = answers.iter().map(|&answer| format!(":{}", u8::from(answer))).collect();
    let found = show(&client.items("BF.MEXISTS", key, &items));
    assert_eq!(found, format!("*[{}]", expected.join(" ")), "{key}");
    let dump = client.call(&format!("DUMP {key}"));
    assert_eq!(Payload::parse(bulk(&dump)).fields, filter.fields, "{key}");
}

/// Fills a filter with the recorded items; returns a digit or a minus sign for each reply.
fn fill(client: &mut Client, key: &str, filter: &Recorded) -> String {
    let digits = |reply: String| {
        let words = reply.trim_matches(['*', '[', ']']).split(' ').map(str::to_owned);
        words
            .filter_map(|word| match &*word {
                ":1" => Some('1'),
                ":0" => Some('0'),
                "-ERR" => Some('-'),
                _ => None,
            })
            .collect::<String>()
    };
    let items = filter.items();
    let replies = items.chunks(1000).map(|items| show(&client.items("BF.MADD", key, items)));
    replies.map(digits).collect()
}

/// The limit that valkey-bloom has by default, on which the largest capacities depend.
fn setup() -> Setup {
    Setup::new().module_args("bf-max-filter-bytes 128mb").debug()
}

#[test]
fn restored_filters_equal_the_recorded_ones_and_survive_everything() {
    setup().append_only().on_each_server(|mut client, _| {
        let filters = recorded();
        for filter in &filters {
            let dump = file(&format!("{}.dump", filter.name));
            assert_eq!(restore(&mut client, &filter.name, &dump), "+OK", "{}", filter.name);
        }
        let assert_all = |client: &mut Client| {
            for filter in &filters {
                assert_recorded(client, &filter.name, filter);
            }
        };
        assert_all(&mut client);
        for step in ["DEBUG RELOAD", "DEBUG LOADAOF", "BGREWRITEAOF", "DEBUG LOADAOF"] {
            match step {
                "BGREWRITEAOF" => client.rewrite_append_only_file(),
                _ => client.ok(step),
            }
            assert_all(&mut client);
        }
        for filter in &filters {
            let copy = format!("{}:copy", filter.name);
            assert_eq!(client.ask(&format!("COPY {} {copy}", filter.name)), ":1");
            assert_recorded(&mut client, &copy, filter);
            client.copy_by_chunks(&filter.name, &format!("{}:chunks", filter.name));
            assert_recorded(&mut client, &format!("{}:chunks", filter.name), filter);
        }
    });
}

#[test]
fn filters_that_are_filled_here_become_the_recorded_ones() {
    setup().on_each_server(|mut client, _| {
        for filter in &recorded() {
            let (_, expansion, rate, tightening, _) = filter.head();
            let (capacity, seed) = filter.first_layer();
            let growth = if expansion == 0 { "NONSCALING" } else { "EXPANSION" };
            let numbers = [capacity.to_string(), rate.to_string(), tightening.to_string()];
            let mut call: Vec<&[u8]> = vec![b"BF.INSERT", filter.name.as_bytes()];
            for (name, value) in ["CAPACITY", "ERROR", "TIGHTENING"].iter().zip(&numbers) {
                call.extend([name.as_bytes(), value.as_bytes()]);
            }
            let expansion = expansion.to_string();
            call.extend([b"SEED", &seed[..], growth.as_bytes()]);
            if growth == "EXPANSION" {
                call.push(expansion.as_bytes());
            }
            assert_eq!(show(&client.run(&call)), "*[]", "{}", filter.name);
            let replies = fill(&mut client, &filter.name, filter);
            assert_eq!(replies, filter.replies(), "{}", filter.name);
            let dump = client.call(&format!("DUMP {}", filter.name));
            assert_eq!(Payload::parse(bulk(&dump)).fields, filter.fields, "{}", filter.name);
        }
    });
}

#[test]
fn payloads_of_bf_load_are_loaded_and_written_to_append_only_files() {
    setup().append_only().line("aof-use-rdb-preamble no").on_each_server(|mut client, server| {
        let payloads = load_payloads();
        for (name, payload) in &payloads {
            let load = [b"BF.LOAD", name.as_bytes(), payload];
            assert_eq!(show(&client.run(&load)), "+OK", "{name}");
            assert_eq!(client.ask(&format!("TYPE {name}")), "+bloomfltr");
            let again = show(&client.run(&load));
            assert_eq!(again, "-BUSYKEY Target key name already exists.", "{name}");
        }
        client.rewrite_append_only_file();
        let files = std::fs::read_dir(server.file("appendonlydir"))
            .map(|folder| folder.map(|entry| entry.expect("a file").path()).collect())
            .unwrap_or_else(|_| vec![server.file("appendonly.aof")]);
        let written: Vec<u8> =
            files.iter().flat_map(|path| std::fs::read(path).expect("a file")).collect();
        for (name, payload) in &payloads {
            let is_in = written.windows(payload.len()).any(|part| part == payload);
            assert!(is_in, "{name} is not in the file");
        }
    });
}

#[test]
fn bytes_that_end_valkey_bloom_are_refused() {
    setup().on_each_server(|mut client, _| {
        let (name, payload) = load_payloads().remove(0);
        for length in (0..100).chain([payload.len() - 1]) {
            let reply = show(&client.run(&[b"BF.LOAD", name.as_bytes(), &payload[..length]]));
            assert!(reply.starts_with("-ERR bloom object decoding failed"), "{length}: {reply}");
        }
        let with = |at: usize, bytes: &[u8]| {
            let mut payload = payload.clone();
            payload[at..at + bytes.len()].copy_from_slice(bytes);
            payload
        };
        let last = payload.len() - 8;
        for (what, payload) in [
            ("another version", with(0, &[2])),
            ("a rate of 1", with(5, &1f64.to_le_bytes())),
            ("a rate that is no number", with(5, &f64::NAN.to_le_bytes())),
            ("a tightening ratio of 2", with(13, &2f64.to_le_bytes())),
            ("no layer", with(22, &0u64.to_le_bytes())),
            ("2^40 layers", with(22, &(1u64 << 40).to_le_bytes())),
            ("4,097 layers", with(22, &4_097u64.to_le_bytes())),
            ("a tightening ratio of 0", with(13, &0f64.to_le_bytes())),
            ("2 for a random seed", with(21, &[2])),
            ("a byte after the end", [&payload[..], &[0]].concat()),
            ("a blob of another version", with(38, &[2])),
            ("a blob of another length", with(39, &7u64.to_le_bytes())),
            ("no hash", with(47, &0u32.to_le_bytes())),
            ("2^32 - 1 hashes", with(47, &u32::MAX.to_le_bytes())),
            ("more items than the capacity", with(last - 8, &(1u64 << 40).to_le_bytes())),
            ("no capacity", with(last, &0u64.to_le_bytes())),
            ("a negative capacity", with(last, &u64::MAX.to_le_bytes())),
        ] {
            let reply = show(&client.run(&[b"BF.LOAD", name.as_bytes(), &payload]));
            assert!(reply.starts_with("-ERR bloom object decoding failed"), "{what}: {reply}");
        }
        assert_eq!(client.ask("DBSIZE"), ":0");
        client.assert_answers_ping("all payloads");
    });
}

#[test]
fn damaged_payloads_of_dump_are_refused_with_the_reason_in_the_log() {
    setup().on_each_server(|mut client, server| {
        let dump = file("annotated.dump");
        for (what, at, bytes) in [
            ("no layer", 11, &[0][..]),
            ("a rate of 1", 15, &1f64.to_le_bytes()),
            ("a tightening ratio of 2", 24, &2f64.to_le_bytes()),
            ("2 for a random seed", 33, &[2]),
            ("no capacity", 35, &[0]),
            ("a layer of another version", 38, &[2]),
            ("a layer of another length", 39, &[4]),
            ("no hash", 47, &[0]),
            ("another seed than the fixed one", 51, &[0]),
            ("more items than the capacity", 89, &[5]),
        ] {
            let mut damaged = dump.clone();
            damaged[at..at + bytes.len()].copy_from_slice(bytes);
            let reply = restore(&mut client, "k", &damaged);
            assert_eq!(reply, "-ERR Bad data format", "{what}");
        }
        assert!(server.log().contains("bloom filter: not loaded: "), "{}", server.log());
        assert_eq!(restore(&mut client, "k", &dump), "+OK");
    });
}
