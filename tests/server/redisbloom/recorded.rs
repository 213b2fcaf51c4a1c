//! Recorded filters are restored and loaded, and are dumped to the same bytes. They are kinds of
//! [`crate::filters`] as well, which pass every entry point. The core's tests make them by the
//! recorded commands, and let them grow.

use bloomline_harness::Setup;
use bloomline_reference::fixture::fixtures;

use super::seen::{assert_recorded, debug, dumped, restore};

#[test]
fn recorded_filters_are_restored_and_loaded() {
    Setup::new().on_shared_servers(|mut client, _| {
        for fixture in fixtures() {
            assert_eq!(restore(&mut client, "restored", &fixture.dump()), "+OK");
            assert_recorded(&mut client, "restored", &fixture);
            if let Some(chunks) = fixture.chunks() {
                client.load_chunks("BF", "loaded", &chunks);
                assert_recorded(&mut client, "loaded", &fixture);
                assert!(client.chunks("loaded") == chunks, "{}: other chunks", fixture.name);
            }
            client.ok("FLUSHALL");
        }
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
