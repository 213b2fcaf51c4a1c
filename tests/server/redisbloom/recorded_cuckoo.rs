//! Recorded cuckoo filters are restored and loaded, and dumped to the same bytes. The core's tests
//! make them by the recorded commands.

use bloomline_reference::fixture::{CuckooFixture, cuckoo_fixtures};

use crate::filters::classic_cuckoo as classic;
use bloomline_harness::Client;

use super::seen::{dumped, restore, value_of};

/// Asserts that the key holds the filter: its numbers and bytes.
fn assert_recorded(client: &mut Client, key: &str, fixture: &CuckooFixture) {
    let (name, debug) = (&fixture.name, fixture.debug());
    let expected = format!("${} {debug}", debug.len());
    assert_eq!(client.ask(&format!("CF.DEBUG {key}")), expected, "{name}");
    assert!(dumped(client, key) == value_of(&fixture.dump()), "{name}: other bytes");
}

#[test]
fn recorded_cuckoo_filters_are_restored_and_loaded() {
    classic().on_shared_servers(|mut client, _| {
        for fixture in cuckoo_fixtures() {
            for dump in [Some(fixture.dump()), fixture.old_payload()].into_iter().flatten() {
                assert_eq!(restore(&mut client, "restored", &dump), "+OK", "{}", fixture.name);
                assert_recorded(&mut client, "restored", &fixture);
                client.ok("FLUSHALL");
            }
            let chunks = fixture.chunks();
            if !chunks.is_empty() {
                client.load_chunks("CF", "loaded", &chunks);
                assert_recorded(&mut client, "loaded", &fixture);
                assert!(client.chunks("loaded") == chunks, "{}: other chunks", fixture.name);
                client.ok("FLUSHALL");
            }
        }
    });
}
