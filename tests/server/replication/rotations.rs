//! What a primary replicates when a filter rotates or expires.

use bloomline_harness::Replica;

use crate::timed::{RESERVE, SLOT, Timed, WINDOW, time};

/// The lines of a replication link, without the frame of transactions. A time within a minute of
/// `now` is written as NOW.
fn lines(replica: &mut Replica, timed: &Timed) -> Vec<String> {
    let now = time(&mut timed.server.resp2());
    let word = |word: &str| match word.parse::<i64>() {
        Ok(millis) if (millis / 1000 - now).abs() < 60 => "NOW".to_owned(),
        _ => word.to_owned(),
    };
    let line = |line: String| line.split(' ').map(word).collect::<Vec<_>>().join(" ");
    replica.writes(&timed.server).into_iter().map(line).collect()
}

#[test]
fn a_rotation_is_replicated_before_the_items_that_caused_it() {
    Timed::on_each_server(&[], |mut client, timed| {
        let mut replica = Replica::attach(&timed.server);
        client.ok(RESERVE);
        assert_eq!(lines(&mut replica, &timed), ["BF.LOADCHUNK k 1 <data>"]);
        let mut writes = |line: &str| {
            client.call(line);
            lines(&mut replica, &timed)
        };
        assert_eq!(writes("BF.ADD k a"), ["BF.ADD k a"]);
        assert_eq!(writes("BF.ADD k a"), [""; 0]);
        timed.clock.advance(SLOT);
        assert_eq!(writes("BF.EXISTS k a"), [""; 0]);
        assert_eq!(writes("BF.ADD k b"), ["BF.ROTATE k AT NOW", "BF.ADD k b"]);
        assert_eq!(writes("BF.ADD k c"), ["BF.ADD k c"]);
        // A refreshed item is written.
        assert_eq!(writes("BF.MADD k a b c"), ["BF.ADD k a"]);
        timed.clock.advance(SLOT);
        assert_eq!(
            writes("BF.MADD k b c d"),
            ["BF.ROTATE k AT NOW", "BF.MADD k b c d"],
            "all were written"
        );
        timed.clock.advance(SLOT);
        assert_eq!(writes("BF.INSERT k ITEMS d e"), ["BF.ROTATE k AT NOW", "BF.MADD k d e"]);
        timed.clock.advance(50 * WINDOW);
        assert_eq!(writes("BF.INSERT k ITEMS d"), ["BF.ROTATE k AT NOW", "BF.ADD k d"]);
        // A clock before that of the newest generation rotates nothing.
        timed.clock.advance(-20 * WINDOW);
        assert_eq!(writes("BF.ADD k f"), ["BF.ADD k f"]);
    });
}

#[test]
fn without_refresh_a_rotation_may_be_all_that_is_replicated() {
    Timed::on_each_server(&[], |mut client, timed| {
        let mut replica = Replica::attach(&timed.server);
        client.ok(&format!("{RESERVE} NOREFRESH"));
        client.call("BF.ADD k a");
        lines(&mut replica, &timed);
        timed.clock.advance(SLOT);
        client.call("BF.ADD k a");
        assert_eq!(lines(&mut replica, &timed), ["BF.ROTATE k AT NOW"]);
    });
}

#[test]
fn rotations_in_transactions_and_scripts_keep_their_order() {
    Timed::on_each_server(&[], |mut client, timed| {
        let mut replica = Replica::attach(&timed.server);
        client.ok(RESERVE);
        client.call("BF.ADD k a");
        client.ok("BF.RESERVE m 0.001 100 GENERATIONS 3");
        lines(&mut replica, &timed);
        let expected = ["BF.ROTATE k AT NOW", "BF.ADD k b", "BF.ROTATE m AT NOW", "BF.ADD m b"];
        timed.clock.advance(SLOT);
        for line in ["MULTI", "BF.ADD k b", "BF.ROTATE m", "BF.ADD m b"] {
            client.call(line);
        }
        assert_eq!(client.ask("EXEC"), "*[:1 +OK :1]");
        assert_eq!(lines(&mut replica, &timed), expected);
        timed.clock.advance(SLOT);
        let script = "redis.call('BF.ADD', 'k', 'b') redis.call('BF.ROTATE', 'm') \
            return redis.call('BF.ADD', 'm', 'b')";
        assert_eq!(client.ask(&format!("EVAL \"{script}\" 2 k m")), ":0");
        assert_eq!(lines(&mut replica, &timed), expected);
    });
}

#[test]
fn a_time_to_live_is_replicated_as_a_time_after_the_header() {
    Timed::on_each_server(&[], |mut client, timed| {
        let mut replica = Replica::attach(&timed.server);
        for (line, items) in [
            ("BF.RESERVE k 0.01 100 TTL 10", None),
            ("BF.RESERVE k 0.01 100 WINDOW 60 TTL 10", None),
            ("BF.INSERT k WINDOW 60 TTL 10 ITEMS a b", Some("BF.MADD k a b")),
            ("BF.INSERT k TTL 10 ITEMS a", Some("BF.ADD k a")),
        ] {
            client.call(line);
            let mut expected = vec!["BF.LOADCHUNK k 1 <data>", "PEXPIREAT k NOW"];
            expected.extend(items);
            assert_eq!(lines(&mut replica, &timed), expected, "{line}");
            client.call("DEL k");
            lines(&mut replica, &timed);
        }
    });
}
