//! A primary, a replica and a replica of that, each with its own clock.

use bloomline_harness::{Client, Clock, Kind, Server, for_each_server};

use crate::cluster::equal::catch_up;
use crate::timed::{RESERVE, SLOT, Timed, WINDOW, assert_equal, digest, setup, stat, time};

/// Settings of the replicas, with which filters that they create differ.
const SETTINGS: &str = "bf-error-rate 0.1 bf-initial-size 17";

/// A chain of servers: each replicates the one before.
struct Chain {
    // Stopped before their clocks are gone.
    servers: Vec<Server>,
    clients: Vec<Client>,
    clocks: Vec<Clock>,
}

impl Chain {
    fn start(kind: &Kind) -> Self {
        let Timed { server, clock } = Timed::start(kind, &[]);
        let mut chain =
            Self { clients: vec![server.resp2()], servers: vec![server], clocks: vec![clock] };
        for _ in 0..2 {
            let clock = Clock::new();
            let above = chain.servers.last().expect("a server");
            let server = setup(&clock).follows(above).module_args(SETTINGS).start(kind);
            let mut client = server.resp2();
            catch_up(chain.clients.last_mut().expect("a client"), &mut client);
            chain.clients.push(client);
            chain.servers.push(server);
            chain.clocks.push(clock);
        }
        chain
    }

    fn primary(&mut self) -> &mut Client {
        &mut self.clients[0]
    }

    /// Waits until all replicas have run everything.
    fn catch_up(&mut self) {
        for index in 1..self.clients.len() {
            let (above, below) = self.clients.split_at_mut(index);
            catch_up(&mut above[0], &mut below[0]);
        }
    }

    fn assert_equal(&mut self) {
        self.catch_up();
        let (primary, replicas) = self.clients.split_at_mut(1);
        replicas.iter_mut().for_each(|replica| assert_equal(&mut primary[0], replica, &["k"]));
    }
}

#[test]
fn replicas_never_rotate_but_read_by_their_own_clock() {
    for_each_server(|kind| {
        let mut chain = Chain::start(kind);
        let [ahead, behind] = [1, 2];
        chain.clocks[ahead].set_ahead(3 * WINDOW);
        chain.clocks[behind].set_ahead(-3 * WINDOW);
        chain.primary().ok(RESERVE);
        for index in 0..3 {
            chain.primary().call(&format!("BF.MADD k a:{index} b:{index}"));
            chain.primary().call("BF.ADD k a:0");
            chain.assert_equal();
            let expected = digest(chain.primary());
            assert_eq!(chain.clients[ahead].ask("BF.MEXISTS k a:0 b:0"), "*[:0 :0]");
            assert_eq!(chain.clients[ahead].ask("BF.CARD k"), ":0");
            assert_eq!(chain.clients[behind].ask("BF.MEXISTS k a:0 b:0"), "*[:1 :1]");
            assert_eq!(digest(&mut chain.clients[ahead]), expected);
            chain.clocks[0].advance(SLOT);
        }
        // What the primary has forgotten, but not dropped, is found where the clock is behind.
        chain.clocks[0].advance(2 * WINDOW);
        assert_eq!(chain.primary().ask("BF.EXISTS k a:1"), ":0");
        assert_eq!(chain.clients[behind].ask("BF.EXISTS k a:1"), ":1");
        chain.primary().call("BF.ADD k later");
        chain.assert_equal();
        assert_eq!(chain.clients[behind].ask("BF.EXISTS k a:1"), ":0");
        assert_eq!(chain.clients[behind].ask("BF.EXISTS k later"), ":1");
    });
}

#[test]
fn a_promoted_replica_goes_on_by_its_own_clock() {
    for_each_server(|kind| {
        let mut chain = Chain::start(kind);
        chain.primary().ok(RESERVE);
        chain.primary().call("BF.MADD k a b");
        chain.assert_equal();
        let opened = stat(chain.primary(), "newest");
        chain.servers[0].kill();
        chain.clocks[1].advance(SLOT);
        let [_, promoted, last] = &mut chain.clients[..] else { panic!("three clients") };
        promoted.ok("REPLICAOF NO ONE");
        catch_up(promoted, last);
        assert_eq!(promoted.ask("BF.MEXISTS k a b"), "*[:1 :1]");
        assert_eq!(stat(promoted, "newest"), opened);
        assert_eq!(promoted.ask("BF.MADD k a c"), "*[:0 :1]");
        assert!(stat(promoted, "newest") > opened);
        catch_up(promoted, last);
        assert_equal(promoted, last, &["k"]);

        // The next one has a clock that is behind: it opens nothing, and forgets nothing early.
        chain.servers[1].kill();
        chain.clocks[2].advance(-3 * WINDOW);
        let last = &mut chain.clients[2];
        last.ok("REPLICAOF NO ONE");
        let newest = stat(last, "newest");
        assert_eq!(last.ask("BF.MADD k a b c d"), "*[:0 :0 :0 :1]");
        assert_eq!(stat(last, "newest"), newest);
        assert_eq!(last.ask("BF.MEXISTS k a b c d"), "*[:1 :1 :1 :1]");
    });
}

#[test]
fn a_primary_that_dies_after_a_rotation_loses_nothing() {
    Timed::on_each_server(&[], |_, Timed { mut server, clock }| {
        let (mut client, other) = (server.resp2(), Clock::new());
        let replica = setup(&other).follows(&server).start(&server.kind);
        let mut follower = replica.resp2();
        catch_up(&mut client, &mut follower);
        client.ok(RESERVE);
        client.call("BF.MADD k a b");
        clock.advance(SLOT + 10);
        // The rotation arrives without the addition behind it.
        let now = time(&mut client) * 1000;
        client.ok(&format!("BF.ROTATE k AT {now}"));
        catch_up(&mut client, &mut follower);
        server.kill();
        follower.ok("REPLICAOF NO ONE");
        assert_eq!(stat(&mut follower, "newest"), now);
        // The replica's clock is a slot behind that of the newest generation.
        assert_eq!(follower.ask("BF.MEXISTS k a b"), "*[:1 :1]");
        assert_eq!(follower.ask("BF.MADD k a c"), "*[:0 :1]");
        assert_eq!(stat(&mut follower, "newest"), now);
        other.advance(2 * SLOT + 100);
        assert_eq!(follower.ask("BF.ADD k d"), ":1");
        assert!(stat(&mut follower, "newest") > now);
        assert_eq!(follower.ask("BF.MEXISTS k a b c d"), "*[:1 :1 :1 :1]");
    });
}
