//! Scripts that a server replicates by their text (Redis 6.2): what depends on a clock is refused
//! on all servers alike.

use bloomline_harness::{Clock, Stop, for_each_server, report_missing};

use crate::cluster::equal::catch_up;
use crate::timed::{RESERVE, SLOT, Timed, assert_equal, digest, setup};

const REFUSED: &str = "ERR WINDOW, LAST, GENERATIONS and TTL read the clock: a script needs lua-replicate-commands yes";

/// Calls that would differ on a replica, each in a script that goes on and writes something else.
const CALLS: [&str; 6] = [
    "'BF.ADD', 'k', KEYS[1]",
    "'BF.MADD', 'k', KEYS[1], 'b'",
    "'BF.INSERT', 'k', 'ITEMS', KEYS[1]",
    "'BF.ROTATE', 'hand'",
    "'BF.ROTATE', 'hand', 'AT', '9000000000000'",
    "'BF.ROTATE', 'k', 'AT', '9000000000000'",
];

#[test]
fn scripts_by_text_refuse_the_same_calls_on_a_replica() {
    for_each_server(|kind| {
        if !kind.is_before_7() {
            return report_missing(kind, "lua-replicate-commands no");
        }
        let lines = ["lua-replicate-commands no", "appendonly yes", "aof-use-rdb-preamble no"];
        let Timed { mut server, clock } = Timed::start(kind, &lines);
        let (mut client, other) = (server.resp2(), Clock::new());
        let replica = setup(&other).follows(&server).start(kind);
        let mut follower = replica.resp2();
        catch_up(&mut client, &mut follower);
        client.ok(RESERVE);
        client.ok("BF.RESERVE hand 0.0000001 1000 GENERATIONS 3");
        client.ok("BF.RESERVE last 0.0000001 64 LAST GENERATIONS 8");
        // The last round is due on the primary, but not on the replica.
        for round in 0..3 {
            for (index, call) in CALLS.iter().enumerate() {
                let script = format!(
                    "local reply = redis.pcall({call}) redis.call('SET', 'done', KEYS[1]) \
                     return reply.err"
                );
                let reply = client.ask(&format!("EVAL \"{script}\" 1 {round}:{index}"));
                assert_eq!(reply, format!("${} {REFUSED}", REFUSED.len()), "{call}");
            }
            // Without a clock: a filter that is rotated by hand, and one that does not rotate now.
            for (key, items) in [("hand", 50), ("last", 2)] {
                let script = format!(
                    "for i = 1, {items} do redis.call('BF.ADD', KEYS[1], ARGV[1] .. i) end"
                );
                let reply = client.ask(&format!("EVAL \"{script}\" 1 {key} {round}:"));
                assert_eq!(reply, "_", "{key}");
            }
            // Refused as soon as the generation of eight items is full.
            if round == 2 {
                let script = "for i = 1, 20 do redis.pcall('BF.ADD', KEYS[1], i) end";
                assert_eq!(client.ask(&format!("EVAL \"{script}\" 1 last")), "_");
                assert_eq!(client.ask("BF.CARD last"), ":8");
            }
            catch_up(&mut client, &mut follower);
            assert_equal(&mut client, &mut follower, &["k", "hand", "last"]);
            clock.advance(SLOT);
        }
        assert_eq!(client.ask("BF.CARD k"), ":0");
        let before = digest(&mut client);
        server.restart(Stop::NoSave);
        let mut client = server.resp2();
        assert_eq!(digest(&mut client), before);
        assert_equal(&mut client, &mut follower, &["k", "hand", "last"]);
    });
}
