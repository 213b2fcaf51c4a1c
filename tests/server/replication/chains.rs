//! A primary, a replica and a replica of that, each with its own clock.

use bloomline_harness::{Client, Clock, Kind, Random, Server, for_each_server};

use crate::cluster::equal::{OTHER_SETTINGS, catch_up};
use crate::inspect::number;
use crate::timed::{RESERVE, SLOT, Timed, WINDOW, assert_equal, digest, info, setup};

/// The keys of the random programs, one per kind of filter.
const KEYS: [&str; 6] = ["time", "fixed", "once", "last", "lastonce", "hand"];

/// A chain of servers: each replicates the one before.
struct Chain {
    // Stopped before their clocks are gone.
    servers: Vec<Server>,
    clients: Vec<Client>,
    clocks: Vec<Clock>,
}

impl Chain {
    fn start(kind: &Kind, settings: &str) -> Self {
        let Timed { server, clock } = Timed::start(kind, &[]);
        let mut chain =
            Self { clients: vec![server.resp2()], servers: vec![server], clocks: vec![clock] };
        for _ in 0..2 {
            let clock = Clock::new();
            let above = chain.servers.last().expect("a server");
            let server = setup(&clock).follows(above).module_args(settings).start(kind);
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

    fn assert_equal(&mut self, keys: &[&str]) {
        self.catch_up();
        let (primary, replicas) = self.clients.split_at_mut(1);
        replicas.iter_mut().for_each(|replica| assert_equal(&mut primary[0], replica, keys));
    }
}

/// A command that adds some items to one of the filters, or rotates one.
fn command(random: &mut Random) -> String {
    let key = KEYS[random.next() as usize % KEYS.len()];
    let count = 1 + random.next() % 80;
    let items: String = (0..count).map(|_| format!(" {}", random.next() % 3000)).collect();
    match random.next() % 10 {
        0 => "BF.ROTATE hand".to_owned(),
        1 | 2 => format!("BF.ADD {key} {}", random.next() % 3000),
        3 => format!("BF.INSERT {key} ITEMS{items}"),
        4 => format!("BF.ADD {key} {}", random.next()),
        _ => format!("BF.MADD {key}{items}"),
    }
}

/// Runs one step of a random program on the primary.
fn step(client: &mut Client, random: &mut Random) {
    match random.next() % 8 {
        0 => {
            client.ok("MULTI");
            for _ in 0..random.next() % 5 {
                client.call(&command(random));
            }
            client.call("EXEC");
        }
        1 => {
            let calls: String = (0..1 + random.next() % 4)
                .map(|_| {
                    let line = command(random);
                    let words: Vec<String> =
                        line.split(' ').map(|word| format!("'{word}'")).collect();
                    format!("redis.pcall({}) ", words.join(", "))
                })
                .collect();
            let reply = client.ask(&format!("EVAL \"{calls}\" 0"));
            assert_eq!(reply, "_", "{calls}");
        }
        _ => {
            let line = command(random);
            let reply = client.ask(&line);
            // Only the filter of fixed size refuses items.
            assert!(!reply.contains('-') || line.contains("fixed"), "{line}: {reply}");
        }
    }
}

#[test]
fn random_programs_leave_equal_filters_on_all_replicas() {
    for_each_server(|kind| {
        let mut chain = Chain::start(kind, OTHER_SETTINGS);
        for line in [
            "BF.RESERVE time 0.01 400 WINDOW 8000 GENERATIONS 8",
            "BF.RESERVE fixed 0.01 400 WINDOW 8000 GENERATIONS 8 NONSCALING",
            "BF.RESERVE once 0.01 400 WINDOW 8000 GENERATIONS 3 NOREFRESH EXPANSION 1",
            "BF.RESERVE last 0.01 400 LAST GENERATIONS 8",
            "BF.RESERVE lastonce 0.05 400 LAST GENERATIONS 2 NOREFRESH",
            "BF.RESERVE hand 0.01 400 GENERATIONS 4",
        ] {
            chain.primary().ok(line);
        }
        let mut random = Random(11);
        for round in 0..120 {
            step(&mut chain.clients[0], &mut random);
            match random.next() % 12 {
                0..4 => chain.clocks[0].advance((random.next() % (2 * SLOT as u64)) as i64),
                4 => chain.clocks[0].advance((random.next() % (5 * WINDOW as u64)) as i64),
                5 => chain.clocks[0].advance(-((random.next() % WINDOW as u64) as i64)),
                6 | 7 => {
                    let seconds = (random.next() % (8 * WINDOW as u64)) as i64 - 4 * WINDOW;
                    let primary = chain.clocks[0].ahead();
                    chain.clocks[1 + round % 2].set_ahead(primary + seconds);
                }
                8 if round % 10 == 0 => {
                    chain.primary().call("COPY time hand REPLACE");
                    chain.primary().call("COPY last time REPLACE");
                    chain.primary().call("DEL last");
                    chain.primary().ok("BF.RESERVE last 0.01 400 LAST GENERATIONS 8");
                    chain.primary().call("DEL hand");
                    chain.primary().ok("BF.RESERVE hand 0.01 400 GENERATIONS 4");
                }
                9 if round % 20 == 0 => {
                    chain.primary().call("CLIENT KILL TYPE replica");
                }
                _ => {}
            }
            if round % 15 == 0 {
                chain.assert_equal(&KEYS);
            }
        }
        chain.assert_equal(&KEYS);
        assert!(number(chain.primary(), "rotations") > 50);
        for server in &mut chain.servers {
            assert!(server.is_running());
        }
    });
}

#[test]
fn replicas_never_rotate_but_read_by_their_own_clock() {
    for_each_server(|kind| {
        let mut chain = Chain::start(kind, "bf-error-rate 0.1 bf-initial-size 17");
        let [ahead, behind] = [1, 2];
        chain.clocks[ahead].set_ahead(3 * WINDOW);
        chain.clocks[behind].set_ahead(-3 * WINDOW);
        chain.primary().ok(RESERVE);
        for index in 0..3 {
            chain.primary().call(&format!("BF.MADD k a:{index} b:{index}"));
            chain.primary().call("BF.ADD k a:0");
            chain.assert_equal(&["k"]);
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
        chain.assert_equal(&["k"]);
        assert_eq!(chain.clients[behind].ask("BF.EXISTS k a:1"), ":0");
        assert_eq!(chain.clients[behind].ask("BF.EXISTS k later"), ":1");
    });
}

#[test]
fn a_promoted_replica_goes_on_by_its_own_clock() {
    for_each_server(|kind| {
        let mut chain = Chain::start(kind, "bf-error-rate 0.1 bf-initial-size 17");
        chain.primary().ok(RESERVE);
        chain.primary().call("BF.MADD k a b");
        chain.assert_equal(&["k"]);
        let opened = info(chain.primary(), "NEWEST");
        chain.servers[0].kill();
        chain.clocks[1].advance(SLOT);
        let [_, promoted, last] = &mut chain.clients[..] else { panic!("three clients") };
        promoted.ok("REPLICAOF NO ONE");
        catch_up(promoted, last);
        assert_eq!(promoted.ask("BF.MEXISTS k a b"), "*[:1 :1]");
        assert_eq!(info(promoted, "NEWEST"), opened);
        assert_eq!(promoted.ask("BF.MADD k a c"), "*[:0 :1]");
        assert!(info(promoted, "NEWEST") > opened);
        catch_up(promoted, last);
        assert_equal(promoted, last, &["k"]);

        // The next one has a clock that is behind: it opens nothing, and forgets nothing early.
        chain.servers[1].kill();
        chain.clocks[2].advance(-3 * WINDOW);
        let last = &mut chain.clients[2];
        last.ok("REPLICAOF NO ONE");
        let newest = info(last, "NEWEST");
        assert_eq!(last.ask("BF.MADD k a b c d"), "*[:0 :0 :0 :1]");
        assert_eq!(info(last, "NEWEST"), newest);
        assert_eq!(last.ask("BF.MEXISTS k a b c d"), "*[:1 :1 :1 :1]");
    });
}
