//! Recorded filters: what a server restores is what valkey-bloom reported, it is written back as
//! the same bytes, and filters that are made here become equal to them.

use bloomline_harness::{Client, Setup, bulk, show};
use bloomline_reference::payload::Payload;
use bloomline_reference::valkey_fixture::{Recorded, file, load_payloads, recorded};

use crate::redisbloom::seen::restore;

/// Asserts that the key holds the recorded filter.
fn assert_recorded(client: &mut Client, key: &str, filter: &Recorded) {
    assert_eq!(client.ask(&format!("TYPE {key}")), "+bloomfltr", "{key}");
    assert_eq!(
        client.ask(&format!("BF.STATS {key} layout")),
        "*[$6 layout $12 valkey-bloom]",
        "{key}"
    );
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

/// `core/tests/bloom/valkey/hostile.rs` has the damages that are found.
#[test]
fn damaged_payloads_are_refused_with_the_reason() {
    setup().on_each_server(|mut client, server| {
        let (name, payload) = load_payloads().remove(0);
        let damaged = [&payload[..payload.len() - 1], &[&payload[..], &[0]].concat(), b""];
        for damaged in damaged {
            let reply = show(&client.run(&[b"BF.LOAD", name.as_bytes(), damaged]));
            assert!(reply.starts_with("-ERR bloom object decoding failed"), "{reply}");
        }
        let dump = file("annotated.dump");
        let mut damaged = dump.clone();
        // No hash.
        damaged[47] = 0;
        assert_eq!(restore(&mut client, "k", &damaged), "-ERR Bad data format");
        assert!(server.log().contains("bloom filter: not loaded: "), "{}", server.log());
        assert_eq!(client.ask("DBSIZE"), ":0");
        assert_eq!(restore(&mut client, "k", &dump), "+OK");
    });
}
