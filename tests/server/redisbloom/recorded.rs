//! Recorded filters: restored and loaded they are what RedisBloom reported, and grow as its filters
//! do.
//!
//! They are kinds of [`crate::filters`] as well, which pass every entry point.

use bloomline_harness::{Setup, numbered, show};

use super::seen::{
    assert_all_recorded, assert_recorded, debug, digits, dumped, restore, restore_all, value_of,
};
use bloomline_reference::fixture::fixtures;

#[test]
fn restored_filters_equal_the_recorded_ones() {
    Setup::new().on_shared_servers(|mut client, _| {
        let fixtures = fixtures();
        restore_all(&mut client, &fixtures);
        assert_all_recorded(&mut client, &fixtures);
    });
}

#[test]
fn payloads_of_older_releases_load_or_fail_as_recorded() {
    Setup::new().on_shared_servers(|mut client, _| {
        let mut seen = 0;
        for fixture in fixtures() {
            for (version, dump, reply, lines) in fixture.reencoded() {
                let key = format!("{}:{version}", fixture.name);
                let answer = restore(&mut client, &key, &dump);
                assert_eq!(
                    answer.starts_with('+'),
                    reply == "OK",
                    "{key}: {answer}, recorded {reply}"
                );
                if let Some(lines) = lines {
                    assert_eq!(debug(&mut client, &key), lines, "{key}");
                    // DUMP writes the current version, which loads again.
                    let again = [dumped(&mut client, &key), vec![0; 10]].concat();
                    assert_eq!(restore(&mut client, &format!("{key}:again"), &again), "+OK");
                    assert_eq!(debug(&mut client, &format!("{key}:again")), lines, "{key}");
                }
                seen += 1;
            }
        }
        assert_eq!(seen, 12);
        client.assert_answers_ping("all payloads");
    });
}

#[test]
fn recorded_chunks_load_and_are_dumped_unchanged() {
    Setup::new().on_shared_servers(|mut client, _| {
        let mut seen = 0;
        for fixture in fixtures() {
            let Some(chunks) = fixture.chunks() else { continue };
            for (iterator, data) in &chunks {
                let reply = client.run(&[
                    b"BF.LOADCHUNK",
                    b"loaded".as_slice(),
                    iterator.to_string().as_bytes(),
                    data,
                ]);
                assert_eq!(show(&reply), "+OK", "{}", fixture.name);
            }
            assert_recorded(&mut client, "loaded", &fixture);
            let mut at = 0;
            for (iterator, data) in &chunks {
                let (next, dumped) = client.scandump("loaded", at);
                at = next;
                assert_eq!((at, &dumped), (*iterator, data), "{}", fixture.name);
            }
            assert_eq!(client.ask(&format!("BF.SCANDUMP loaded {at}")), "*[:0 $0 ]");
            client.ok("FLUSHALL");
            seen += 1;
        }
        assert!(seen >= 5, "{seen}");
    });
}

#[test]
fn restored_filters_grow_like_native_ones() {
    Setup::new().on_each_server(|mut client, _| {
        let more = numbered("more", 3_000);
        for fixture in fixtures() {
            let Some(create) = fixture.create() else { continue };
            if fixture.info()[4].is_none() {
                continue;
            }
            let words = [
                &["BF.RESERVE", "native"],
                &create[2..].iter().map(String::as_str).collect::<Vec<_>>()[..],
            ]
            .concat();
            let words = [&words[..], &["LAYOUT", "redisbloom"]].concat();
            assert_eq!(show(&client.run(&words)), "+OK");
            let mut replies = String::new();
            for group in fixture.items().chunks(100) {
                replies += &digits(&client.items("BF.MADD", "native", group));
            }
            assert_eq!(replies, fixture.replies());
            assert_recorded(&mut client, "native", &fixture);
            restore(&mut client, "restored", &fixture.dump());
            let native = digits(&client.items("BF.MADD", "native", &more));
            assert_eq!(digits(&client.items("BF.MADD", "restored", &more)), native);
            assert!(
                dumped(&mut client, "restored") == dumped(&mut client, "native"),
                "{}",
                fixture.name
            );
            assert!(dumped(&mut client, "restored") != value_of(&fixture.dump()));
            client.ok("FLUSHALL");
        }
    });
}
