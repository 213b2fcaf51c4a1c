//! Payloads of older releases, which no module writes any more. Those of the present ones are
//! restored and loaded by [`crate::redisbloom_live`], among them the recorded filters. The core's
//! tests make these by the recorded commands, and let them grow.

use bloomline_harness::Setup;
use bloomline_reference::fixture::fixtures;

use super::seen::{debug, dumped, restore};

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
