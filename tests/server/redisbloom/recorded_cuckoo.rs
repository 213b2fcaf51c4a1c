//! Payloads of older releases of cuckoo filters, which no module writes any more. Those of the
//! present ones are restored and loaded by [`crate::redisbloom_live`].

use bloomline_reference::fixture::cuckoo_fixtures;

use crate::filters::classic_cuckoo as classic;

use super::seen::{dumped, restore, value_of};

#[test]
fn payloads_of_older_releases_are_restored() {
    classic().on_shared_servers(|mut client, _| {
        let mut restored = 0;
        for fixture in cuckoo_fixtures() {
            let Some(old) = fixture.old_payload() else { continue };
            let (name, debug) = (&fixture.name, fixture.debug());
            assert_eq!(restore(&mut client, "k", &old), "+OK", "{name}");
            let expected = format!("${} {debug}", debug.len());
            assert_eq!(client.ask("CF.DEBUG k"), expected, "{name}");
            assert!(dumped(&mut client, "k") == value_of(&fixture.dump()), "{name}: other bytes");
            client.ok("FLUSHALL");
            restored += 1;
        }
        assert!(restored > 0, "no payload of an older release is recorded");
    });
}
