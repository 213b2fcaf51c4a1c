//! CLIENT TRACKING: a change invalidates a cached reply, and nothing else does.

use bloomline_harness::{Client, Setup, for_each_server, show};
use redis::Value;

use crate::inspect::word;

use super::watch::{CALLS, prepare};

/// The invalidations that a connection received since the last call.
pub fn invalidations(client: &mut Client) -> Vec<String> {
    let fence = "all before";
    client.send(&["ECHO", fence]);
    let mut pushed = Vec::new();
    loop {
        match client.receive("ECHO") {
            Value::Push { data, .. } => pushed.extend(data.iter().map(show)),
            reply => {
                assert_eq!(show(&reply), format!("${} {fence}", fence.len()));
                return pushed;
            }
        }
    }
}

#[test]
fn only_changes_invalidate_a_cached_reply() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let (mut caching, mut client) = (server.resp3(), server.resp2());
        caching.ok("CLIENT TRACKING ON");
        let mut wrong = String::new();
        for (line, changes) in CALLS {
            prepare(&mut client);
            // Discards the invalidations of the previous call.
            invalidations(&mut caching);
            let key = word(line, 1);
            caching.call(&format!("BF.EXISTS {key} a"));
            let reply = client.ask(line);
            let received = invalidations(&mut caching);
            let expected = if *changes { vec![format!("*[${} {key}]", key.len())] } else { vec![] };
            if received != expected {
                wrong += &format!("\n{line} ({reply}): received {received:?}");
            }
        }
        assert!(wrong.is_empty(), "{wrong}");
    });
}

#[test]
fn every_reading_command_is_tracked() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let (mut caching, mut client) = (server.resp3(), server.resp2());
        caching.ok("CLIENT TRACKING ON");
        for line in [
            "BF.EXISTS k a",
            "BF.MEXISTS k a x",
            "BF.CARD k",
            "BF.INFO k",
            "BF.DEBUG k",
            "BF.SCANDUMP k 0",
        ] {
            prepare(&mut client);
            invalidations(&mut caching);
            caching.call(line);
            assert_eq!(client.ask("BF.ADD k new"), ":1");
            assert_eq!(invalidations(&mut caching), ["*[$1 k]"], "{line}");
        }
        for line in [
            "CF.EXISTS cuckoo a",
            "CF.MEXISTS cuckoo a x",
            "CF.COUNT cuckoo a",
            "CF.INFO cuckoo",
            "CF.DEBUG cuckoo",
            "CF.SCANDUMP cuckoo 0",
        ] {
            prepare(&mut client);
            invalidations(&mut caching);
            caching.call(line);
            assert_eq!(client.ask("CF.ADD cuckoo new"), ":1");
            assert_eq!(invalidations(&mut caching), ["*[$6 cuckoo]"], "{line}");
        }
    });
}

#[test]
fn trackers_of_a_prefix_receive_only_changes() {
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        let (mut caching, mut client) = (server.resp3(), server.resp2());
        prepare(&mut client);
        caching.ok("CLIENT TRACKING ON BCAST PREFIX k");
        for line in ["BF.ADD k a", "BF.MADD k a b", "BF.RESERVE k 0.01 100", "BF.EXISTS k a"] {
            client.call(line);
            assert_eq!(invalidations(&mut caching), [""; 0], "{line}");
        }
        assert_eq!(client.ask("BF.ADD k new"), ":1");
        assert_eq!(invalidations(&mut caching), ["*[$1 k]"]);
    });
}
