//! Too few replicas (`min-replicas-to-write`): writes are refused, reads are answered.

use bloomline_harness::{Client, for_each_server, until};

use crate::cluster::equal::{assert_equal, catch_up, setup};
use crate::inspect::totals;

/// Writes that succeed where they are allowed, on the keys of [`prepare`].
const WRITES: [&str; 9] = [
    "BF.ADD k new",
    "BF.ADD missing a",
    "BF.MADD k a newer",
    "BF.MADD grown 1 2 3 4 5 6 7 8",
    "BF.INSERT k ITEMS newest",
    "BF.INSERT inserted CAPACITY 7 ITEMS a",
    "BF.RESERVE reserved 0.01 100",
    "BF.RESERVE stored 0.01 100 LAYOUT redisbloom",
    "COPY k copied",
];

const READS: [(&str, &str); 6] = [
    ("BF.EXISTS k a", ":1"),
    ("BF.MEXISTS k a x", "*[:1 :0]"),
    ("BF.MEXISTS full a b x", "*[:1 :1 :0]"),
    ("BF.CARD k", ":2"),
    ("BF.INFO k CAPACITY", "*[:100]"),
    ("EXISTS k grown full", ":3"),
];

fn prepare(client: &mut Client) {
    client.ok("BF.RESERVE k 0.0000001 100");
    client.ok("BF.RESERVE grown 0.0001 3");
    client.ok("BF.RESERVE full 0.0001 2 NONSCALING LAYOUT redisbloom");
    assert_eq!(client.ask("BF.MADD k a b"), "*[:1 :1]");
    assert_eq!(client.ask("BF.MADD full a b"), "*[:1 :1]");
}

/// Asserts that every write is refused and changes nothing.
fn assert_refuses_writes(client: &mut Client) {
    let state_of =
        |client: &mut Client| (client.ask("DEBUG DIGEST"), client.ask("DBSIZE"), totals(client));
    let before = state_of(client);
    let (next, header) = client.scandump("k", 0);
    let refused = client.loadchunk("loaded", next, &header);
    assert!(refused.starts_with("-NOREPLICAS"), "BF.LOADCHUNK: {refused}");
    // Calls that would change nothing are refused as well, because the server cannot know that.
    for line in WRITES.into_iter().chain(["BF.ADD k a", "BF.ADD full x", "DEL k"]) {
        let refused = client.ask(line);
        assert!(refused.starts_with("-NOREPLICAS"), "{line}: {refused}");
    }
    client.ok("MULTI");
    client.call("BF.EXISTS k a");
    client.call("BF.ADD k new");
    let refused = client.ask("EXEC");
    assert!(refused.starts_with("-"), "EXEC: {refused}");
    assert_eq!(state_of(client), before);
}

#[test]
fn too_few_replicas_refuse_writes_and_allow_reads() {
    for_each_server(|kind| {
        let primary = setup().start(kind);
        let mut client = primary.resp2();
        prepare(&mut client);
        client.ok("CONFIG SET min-replicas-to-write 1");
        for (line, reply) in READS {
            assert_eq!(client.ask(line), reply, "{line}");
        }
        assert_refuses_writes(&mut client);

        let replica = setup().follows(&primary).start(kind);
        let mut follower = replica.resp2();
        let good = |client: &mut Client, count: &str| {
            until("the replicas to be counted", || {
                (client.info("min_slaves_good_slaves") == count).then_some(())
            });
        };
        good(&mut client, "1");
        for line in WRITES {
            let reply = client.ask(line);
            assert!(!reply.contains('-'), "{line}: {reply}");
        }
        catch_up(&mut client, &mut follower);
        assert_equal(&mut client, &mut follower);
        assert_eq!(totals(&mut client), totals(&mut follower));

        drop(follower);
        drop(replica);
        good(&mut client, "0");
        assert_refuses_writes(&mut client);
    });
}
