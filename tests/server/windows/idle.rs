//! Clocks that jump, and filters that were idle for long.

use bloomline_harness::{for_each_server, int, numbered};

use crate::cluster::equal;
use crate::inspect::{info_field, number};
use crate::timed::{RESERVE, SLOT, Timed, WINDOW, digest, setup, stat, time};

#[test]
fn an_idle_filter_drops_everything_in_one_step() {
    for_each_server(|kind| {
        for idle in [WINDOW + SLOT, 3 * WINDOW, 1000 * WINDOW] {
            let Timed { server, clock } = Timed::start(kind, &[]);
            let mut client = server.resp2();
            client.ok(RESERVE);
            for generation in 0..12 {
                assert_eq!(client.ask(&format!("BF.ADD k item:{generation}")), ":1");
                clock.advance(SLOT);
            }
            assert_eq!(stat(&mut client, "layers"), 9, "layers");
            clock.advance(idle);
            // Reading changes nothing.
            let before = digest(&mut client);
            assert_eq!(client.ask("BF.EXISTS k item:11"), ":0");
            assert_eq!(client.ask("BF.MEXISTS k item:10 item:11"), "*[:0 :0]");
            assert_eq!(client.ask("BF.CARD k"), ":0");
            assert_eq!(stat(&mut client, "items"), 0);
            assert_eq!(digest(&mut client), before);

            let dropped = number(&mut client, "generations_dropped");
            assert_eq!(client.ask("BF.ADD k new"), ":1");
            assert_eq!(number(&mut client, "generations_dropped"), dropped + 9);
            assert_eq!(stat(&mut client, "layers"), 1, "layers");
            assert_eq!(client.ask("BF.CARD k"), ":1");
            let opened = stat(&mut client, "newest");
            assert_eq!(opened, stat(&mut client, "oldest"));
            assert!((time(&mut client) - opened / 1000).abs() < 100, "opened at {opened}");
            assert_eq!(client.ask("BF.ADD k item:11"), ":1");
        }
    });
}

#[test]
fn expired_generations_do_not_count_before_they_are_dropped() {
    Timed::on_each_server(&[], |mut client, Timed { server, clock }| {
        let follower = setup(&clock).follows(&server).start(&server.kind);
        let mut replica = follower.resp2();
        client.ok("BF.RESERVE k 0.01 1000 WINDOW 8000 GENERATIONS 8 NOREFRESH SEED 7");
        // A generation with overflow layers.
        client.items("BF.MADD", "k", &numbered("burst", 900));
        clock.advance(SLOT);
        client.items("BF.MADD", "k", &numbered("item", 100));
        let numbers = "BF.STATS k capacity items estimate estimate_error fp_rate";
        let all = client.ask(numbers);
        assert!(stat(&mut client, "capacity") > 1700 && stat(&mut client, "estimate") > 950);
        // The window of the first generation has passed.
        clock.advance(8 * SLOT + SLOT / 2);
        let (layers, size) = (stat(&mut client, "layers"), stat(&mut client, "size"));
        let expired = client.ask(numbers);
        assert_ne!(expired, all);
        assert_eq!(stat(&mut client, "capacity"), 1000);
        assert!((90..=100).contains(&stat(&mut client, "items")), "{expired}");
        assert!((90..=110).contains(&stat(&mut client, "estimate")), "{expired}");
        assert_eq!(info_field(&mut client, "k", "CAPACITY"), 1000);
        equal::catch_up(&mut client, &mut replica);
        assert_eq!(replica.ask(numbers), expired);
        // The memory is that of all layers, until an addition drops the generation.
        let lines = client.ask("BF.DEBUG k").matches(" bytes:").count() as i64;
        assert!(layers > 2 && lines == layers, "{lines} of {layers}");
        assert_eq!(client.ask("BF.ADD k item:0"), ":0");
        assert_eq!(client.ask(numbers), expired);
        assert_eq!(stat(&mut client, "layers"), 2);
        assert!(stat(&mut client, "size") < size / 2);
        equal::catch_up(&mut client, &mut replica);
        assert_eq!(replica.ask(numbers), expired);
    });
}

#[test]
fn a_clock_that_jumps_back_forgets_nothing_early() {
    Timed::on_each_server(&[], |mut client, Timed { clock, .. }| {
        client.ok(RESERVE);
        for generation in 0..4 {
            assert_eq!(client.ask(&format!("BF.ADD k early:{generation}")), ":1");
            clock.advance(SLOT);
        }
        assert_eq!(client.ask("BF.ADD k before"), ":1");
        let newest = stat(&mut client, "newest");
        for hours in [1, 5, 24 * 365] {
            clock.advance(-3600 * hours);
            // More than the regular layer holds: the generation grows.
            for index in 0..200 {
                assert_eq!(client.ask(&format!("BF.ADD k back:{hours}:{index}")), ":1");
            }
            assert_eq!(stat(&mut client, "newest"), newest);
            let found = "BF.MEXISTS k early:0 early:3 before back:1:0 back:1:199";
            assert_eq!(client.ask(found), "*[:1 :1 :1 :1 :1]");
        }
        // The clock is right again: all are found until the window of the jump's time is over.
        clock.set_ahead(4 * SLOT + WINDOW - 200);
        assert_eq!(client.ask("BF.ADD k later"), ":1");
        assert_eq!(client.ask("BF.MEXISTS k before back:5:0 back:8760:199"), "*[:1 :1 :1]");
        assert_eq!(client.ask("BF.EXISTS k early:0"), ":0");
        clock.set_ahead(5 * SLOT + WINDOW + 200);
        assert_eq!(client.ask("BF.MEXISTS k before back:5:0 back:8760:199"), "*[:0 :0 :0]");
        assert_eq!(client.ask("BF.EXISTS k later"), ":1");
    });
}

#[test]
fn a_clock_before_1970_is_no_panic() {
    Timed::on_each_server(&[], |mut client, Timed { clock, .. }| {
        client.ok(RESERVE);
        client.call("BF.ADD k a");
        clock.set_ahead(-60 * 365 * 24 * 3600);
        assert!(time(&mut client) < 0 || time(&mut client) > 1 << 40);
        assert_eq!(client.ask("BF.EXISTS k a"), ":1");
        assert_eq!(client.ask("BF.ADD k b"), ":1");
        clock.set_ahead(0);
        assert_eq!(int(&client.call("BF.CARD k")), 2);
    });
}

#[test]
fn rotation_at_a_time_is_refused_only_in_the_future() {
    Timed::on_each_server(&[], |mut client, Timed { clock, .. }| {
        client.ok(RESERVE);
        client.call("BF.ADD k a");
        let now = 1000 * time(&mut client);
        let before = digest(&mut client);
        let early = client.ask(&format!("BF.ROTATE k AT {}", now + 3_600_000));
        assert!(early.starts_with("-ERR"), "{early}");
        // In the past nothing is due.
        client.ok(&format!("BF.ROTATE k AT {}", now - 3_600_000));
        client.ok("BF.ROTATE k AT 0");
        assert_eq!(digest(&mut client), before);
        clock.advance(2 * SLOT);
        client.ok(&format!("BF.ROTATE k AT {now}"));
        assert_eq!(digest(&mut client), before);
        client.ok(&format!("BF.ROTATE k AT {}", now + 1000 * SLOT + 100_000));
        assert_ne!(digest(&mut client), before);
        assert_eq!(client.ask("BF.EXISTS k a"), ":1");
    });
}
