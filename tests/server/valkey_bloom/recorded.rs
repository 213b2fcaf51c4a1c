//! Recorded filters: what a server restores is what valkey-bloom reported, and it is written back
//! as the same bytes. The core's tests fill equal filters; those of [`crate::filters`] pass every
//! entry point.

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
        let expected = match filter.info(name) {
            Some(number) => format!("*[:{number}]"),
            None => "-Invalid information value".to_owned(),
        };
        assert_eq!(client.ask(&format!("BF.INFO {key} {field}")), expected, "{key}: {name}");
    }
    let (items, answers): (Vec<_>, Vec<_>) = filter.absent().into_iter().unzip();
    let expected: Vec<_> = answers.iter().map(|&answer| format!(":{}", u8::from(answer))).collect();
    let found = show(&client.items("BF.MEXISTS", key, &items));
    assert_eq!(found, format!("*[{}]", expected.join(" ")), "{key}");
    let dump = client.call(&format!("DUMP {key}"));
    assert_eq!(Payload::parse(bulk(&dump)).fields, filter.fields, "{key}");
}

/// The limit that valkey-bloom has by default, on which the largest capacities depend.
fn setup() -> Setup {
    Setup::new().module_args("bf-max-filter-bytes 128mb").debug()
}

#[test]
fn restored_filters_equal_the_recorded_ones() {
    setup().on_shared_servers(|mut client, _| {
        for filter in &recorded() {
            let dump = file(&format!("{}.dump", filter.name));
            assert_eq!(restore(&mut client, "restored", &dump), "+OK", "{}", filter.name);
            assert_recorded(&mut client, "restored", filter);
            client.ok("FLUSHALL");
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
        let written = server.read_append_file();
        for (name, payload) in &payloads {
            let is_in = written.windows(payload.len()).any(|part| part == payload);
            assert!(is_in, "{name} is not in the file");
        }
    });
}

/// `core/tests/families/headers/valkey.rs` has the damages that are found.
#[test]
fn damaged_payloads_are_refused_with_the_reason() {
    setup().on_each_server(|mut client, server| {
        let (name, payload) = load_payloads().remove(0);
        let damaged = [&payload[..payload.len() - 1], &[&payload[..], &[0]].concat(), b""];
        for damaged in damaged {
            let reply = show(&client.run(&[&b"BF.LOAD"[..], name.as_bytes(), damaged]));
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
