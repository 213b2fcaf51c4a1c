//! Limits do not apply to filters that are replicated or loaded from a file.

use bloomline_harness::{
    Client, Setup, Stop, append_only_file, arguments, for_each_server, numbered, until,
};

use crate::inspect::{digest, number};

/// Builds filters that the limits below do not allow: one is created large, one has grown large.
fn build(client: &mut Client) {
    client.ok("BF.RESERVE large 0.01 10000000");
    assert_eq!(client.ask("BF.MADD large a b"), "*[:1 :1]");
    client.ok("BF.RESERVE grown 0.0000001 100 EXPANSION 32768");
    client.items("BF.MADD", "grown", &numbered("item", 150));
    assert_eq!(client.ask("BF.INFO grown FILTERS"), "*[:2]");
}

fn digests(client: &mut Client) -> [String; 2] {
    ["large", "grown"].map(|key| digest(client, key))
}

/// A server whose limits allow none of the filters.
fn strict() -> Setup {
    Setup::new()
        .debug()
        .module_args("bf-max-filter-bytes 100kb")
        .line("maxmemory 3mb")
        .line("maxmemory-policy noeviction")
}

fn assert_nothing_refused(client: &mut Client) {
    for name in ["creations_refused", "growths_refused", "loads_refused"] {
        assert_eq!(number(client, name), 0, "{name}");
    }
    client.ok("CONFIG SET maxmemory 0");
    let refused = client.ask("BF.RESERVE own 0.01 10000000");
    assert!(refused.starts_with("-ERR Insufficient memory"), "{refused}");
}

#[test]
fn replicas_take_filters_beyond_their_limits() {
    for_each_server(|kind| {
        let primary = Setup::new().debug().on_tcp().start(kind);
        let mut client = primary.resp2();
        let setup = || strict().follows(&primary);
        let early = setup().start(kind);
        until("the replica's link to be up", || {
            (early.resp2().info("master_link_status") == "up").then_some(())
        });
        build(&mut client);
        let late = setup().start(kind);
        until("both replicas to be in step", || {
            let is_up = late.resp2().info("master_link_status") == "up";
            (is_up && client.ask("WAIT 2 2000") == ":2").then_some(())
        });
        for replica in [early, late] {
            let mut other = replica.resp2();
            assert_eq!(digests(&mut other), digests(&mut client));
            other.ok("REPLICAOF NO ONE");
            assert_nothing_refused(&mut other);
        }
    });
}

#[test]
fn restarts_load_filters_beyond_the_limits() {
    for_each_server(|kind| {
        for (stop, append, rewrite) in
            [(Stop::Save, "no", false), (Stop::NoSave, "yes", false), (Stop::NoSave, "yes", true)]
        {
            let mut server = Setup::new()
                .debug()
                .module_args("bf-max-filter-bytes 0")
                .line(format!("appendonly {append}"))
                .line("aof-use-rdb-preamble no")
                .start(kind);
            let mut client = server.resp2();
            build(&mut client);
            let before = digests(&mut client);
            if rewrite {
                client.rewrite_append_only_file();
            }
            server.edit_config("bf-max-filter-bytes 0", "bf-max-filter-bytes 100kb");
            server.edit_config("appendonly", "maxmemory 3mb\nappendonly");
            server.restart(stop);
            let mut client = server.resp2();
            assert_eq!(digests(&mut client), before, "append {append}, rewrite {rewrite}");
            assert_nothing_refused(&mut client);
        }
    });
}

#[test]
fn logged_commands_of_any_kind_ignore_the_limits() {
    for_each_server(|kind| {
        let origin = Setup::new().start(kind);
        let mut client = origin.resp2();
        client.ok("BF.RESERVE k 0.01 1000000");
        let dump = client.dump("k");
        let (_, header) = client.scandump("k", 0);
        let commands = append_only_file(&[
            arguments("SELECT 0"),
            vec![b"BF.LOADCHUNK".to_vec(), b"k".to_vec(), b"1".to_vec(), header],
            arguments("BF.MADD k a b"),
            arguments("BF.RESERVE other 0.01 1000000"),
            vec![b"RESTORE".to_vec(), b"restored".to_vec(), b"0".to_vec(), dump],
        ]);
        let server =
            Setup::new().module_args("bf-max-filter-bytes 4kb").append_file(commands).start(kind);
        let mut client = server.resp2();
        assert_eq!(client.ask("BF.CARD k"), ":2");
        assert_eq!(client.ask("BF.INFO other CAPACITY"), "*[:1000000]");
        assert_eq!(client.ask("BF.INFO restored CAPACITY"), "*[:1000000]");
        // A client's own filter is still limited.
        let refused = client.ask("BF.RESERVE mine 0.01 1000000");
        assert!(refused.starts_with("-ERR"), "{refused}");
    });
}
