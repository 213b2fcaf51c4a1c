//! BF.COMPACT of a key: time to live, transactions, scripts, settings.

use bloomline_harness::{Client, Kind, Server, Setup, for_each_server, numbered};

use crate::inspect::info_field;

/// A server with the filter `k`, which becomes smaller once, and `small`, which does not.
fn start(kind: &Kind) -> Server {
    let server = Setup::new().debug().start(kind);
    let mut client = server.resp2();
    client.ok("BF.RESERVE k 0.001 100000");
    client.items("BF.MADD", "k", &numbered("item", 100));
    client.ok("BF.RESERVE small 0.01 100");
    server
}

#[test]
fn compacting_keeps_the_time_to_live() {
    for_each_server(|kind| {
        let server = start(kind);
        let mut client = server.resp2();
        assert_eq!(client.ask("PEXPIREAT k 4102444800000"), ":1");
        let left = |client: &mut Client| {
            client.ask("TTL k").trim_start_matches(':').parse::<u64>().expect("seconds")
        };
        let before = left(&mut client);
        assert_ne!(client.ask("BF.COMPACT k"), ":0");
        assert!(left(&mut client).abs_diff(before) < 60);
        assert_eq!(client.ask("TTL small"), ":-1");
    });
}

#[test]
fn transactions_and_scripts_compact() {
    for_each_server(|kind| {
        let server = start(kind);
        let mut client = server.resp2();
        let size = info_field(&mut client, "k", "SIZE");
        client.ok("MULTI");
        for line in ["BF.COMPACT small", "BF.COMPACT missing", "BF.EXISTS k item:5"] {
            assert_eq!(client.ask(line), "+QUEUED");
        }
        assert_eq!(client.ask("EXEC"), "*[:0 -ERR not found :1]");
        let script = "local n = redis.call('BF.COMPACT', KEYS[1]) \
                      return {n, redis.call('BF.COMPACT', KEYS[1])}";
        let reply = client.ask(&format!("EVAL \"{script}\" 1 k"));
        let freed = size - info_field(&mut client, "k", "SIZE");
        assert!(freed > 0);
        assert_eq!(reply, format!("*[:{freed} :0]"));
    });
}

#[test]
fn the_settings_of_the_server_do_not_matter() {
    for_each_server(|kind| {
        let mut freed = Vec::new();
        for settings in ["", "bf-error-rate 0.1 bf-expansion-factor 5 bf-initial-size 17"] {
            let server = Setup::new().module_args(settings).start(kind);
            let mut client = server.resp2();
            client.ok("BF.RESERVE k 0.001 100000 SEED 7 EXPANSION 2");
            client.items("BF.MADD", "k", &numbered("item", 1000));
            freed.push(client.ask("BF.COMPACT k"));
        }
        assert_eq!(freed[0], freed[1]);
    });
}
