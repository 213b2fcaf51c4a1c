//! The harness itself, tested on servers without the module.

use std::collections::BTreeSet;
use std::path::Path;

use bloomline_harness::{
    CoreSet, Kind, Replica, Setup, Stop, Tier, arguments, body_of_dump, bulk, for_each_server,
    free_port, matches, newest, one_per_version, quick, rows, seal_dump, show,
};

#[test]
fn newest_compares_versions_then_prefers_no_suffix() {
    let chosen = |names: &[&str]| {
        let kinds: Vec<Kind> =
            names.iter().map(|name| Kind::in_folder(name, Path::new(""))).collect();
        newest(&kinds, "redis-").map(|kind| kind.name.clone())
    };
    assert_eq!(
        chosen(&["redis-8.0", "redis-8.0-bundled", "valkey-9.1"]).as_deref(),
        Some("redis-8.0")
    );
    assert_eq!(chosen(&["redis-8.0-bundled", "redis-8.0"]).as_deref(), Some("redis-8.0"));
    assert_eq!(chosen(&["redis-7.0", "redis-8.0-bundled"]).as_deref(), Some("redis-8.0-bundled"));
    assert_eq!(chosen(&["redis-10.2", "redis-8.0", "redis-8.0.3"]).as_deref(), Some("redis-10.2"));
    assert_eq!(chosen(&["valkey-9.1"]), None);
}

#[test]
fn free_ports_differ_and_are_not_those_of_connections() {
    /// The first port that Linux gives to connections by default.
    const EPHEMERAL: u16 = 32_768;
    let ports: BTreeSet<u16> = (0..100).map(|_| free_port()).collect();
    assert_eq!(ports.len(), 100);
    assert!(ports.iter().all(|port| (1024..EPHEMERAL - 10_000).contains(port)), "{ports:?}");
}

#[test]
fn one_build_per_version_prefers_the_bundled_one() {
    let names = ["redis-6.2", "redis-6.2-defrag", "redis-8.0", "redis-8.0-bundled", "valkey-9.1"];
    let kinds: Vec<Kind> = names.iter().map(|name| Kind::in_folder(name, Path::new(""))).collect();
    let taken: Vec<String> = one_per_version(&kinds).into_iter().map(|kind| kind.name).collect();
    assert_eq!(taken, ["redis-6.2", "redis-8.0-bundled", "valkey-9.1"]);
}

#[test]
fn tiers_share_the_servers_without_a_gap() {
    let names = [
        "redis-6.2",
        "redis-6.2-defrag",
        "redis-7.0",
        "redis-8.2",
        "valkey-8.1",
        "valkey-8.1-bundled",
        "valkey-9.1",
    ];
    let all: Vec<Kind> = names.iter().map(|name| Kind::in_folder(name, Path::new(""))).collect();
    let in_tier = |tier: Tier, chosen: &[Kind]| -> Vec<String> {
        tier.of(chosen, &quick(&all)).into_iter().map(|kind| kind.name).collect()
    };
    assert_eq!(in_tier(Tier::Quick, &all), ["redis-6.2", "redis-8.2", "valkey-9.1"]);
    assert_eq!(
        in_tier(Tier::Rest, &all),
        ["redis-6.2-defrag", "redis-7.0", "valkey-8.1", "valkey-8.1-bundled"]
    );
    let versions = one_per_version(&all);
    assert_eq!(in_tier(Tier::Rest, &versions), ["redis-7.0", "valkey-8.1-bundled"]);
    assert_eq!(in_tier(Tier::All, &all), names);
}

#[test]
fn acl_categories_do_not_depend_on_the_suffix() {
    for (name, expected) in [
        ("redis-6.2-defrag", false),
        ("redis-7.0-bundled", false),
        ("redis-8.0-bundled", true),
        ("valkey-7.2-bundled", false),
        ("valkey-8.1-bundled", true),
    ] {
        assert_eq!(Kind::in_folder(name, Path::new("")).has_acl_categories(), expected, "{name}");
    }
}

#[test]
fn rows_run_in_both_protocols() {
    Setup::new().bare().check_rows(rows![
        r#"SET k "a\x00b""# => "+OK";
        "GET k" => r"$3 a\x00b";
        "GET absent" => "_";
        "BF.NOSUCH k" => "-ERR unknown command <any>";
    ]);
}

#[test]
fn restart_keeps_what_was_saved() {
    for_each_server(|kind| {
        let mut server = Setup::new().bare().start(kind);
        server.resp2().ok("SET kept 1");
        server.restart(Stop::Save);
        server.resp2().ok("SET lost 1");
        server.restart(Stop::NoSave);
        assert_eq!(server.resp3().ask("MGET kept lost"), "*[$1 1 _]");
    });
}

#[test]
fn a_server_on_a_core_stays_there_after_a_restart() {
    let core = CoreSet::of_this_thread().unwrap().cores().last().unwrap();
    for_each_server(|kind| {
        let mut server = Setup::new().bare().on_cores(CoreSet::of(core)).start(kind);
        for _ in 0..2 {
            let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
            assert!(status.contains(&format!("Cpus_allowed_list:\t{core}\n")), "{status}");
            server.restart(Stop::NoSave);
        }
    });
}

#[test]
fn refused_configuration_returns_the_log() {
    for_each_server(|kind| {
        let refused = Setup::new().bare().line("no-such-setting yes").try_start(kind);
        assert!(refused.err().expect("the server must not start").contains("no-such-setting"));
    });
}

#[test]
fn replica_records_writes_only() {
    for_each_server(|kind| {
        let server = Setup::new().bare().start(kind);
        let mut replica = Replica::attach(&server);
        let mut client = server.resp2();
        client.ok("SET k 1");
        client.call("GET k");
        assert_eq!(replica.lines(&server), ["SET k 1"]);
        assert!(replica.lines(&server).is_empty());
    });
}

#[test]
fn seal_dump_computes_the_checksum_of_the_server() {
    Setup::new().bare().on_shared_servers(|mut client, _| {
        client.ok("SET k value");
        let dump = client.call("DUMP k");
        assert_eq!(seal_dump(body_of_dump(bulk(&dump))), bulk(&dump));
    });
}

#[test]
fn loads_an_append_only_file_from_the_folder() {
    for_each_server(|kind| {
        let commands = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\n7\r\n".to_vec();
        let server = Setup::new().bare().append_file(commands).start(kind);
        assert_eq!(server.resp2().ask("GET k"), "$1 7");
    });
}

#[test]
fn a_line_is_split_as_redis_cli_splits_it() {
    assert_eq!(
        arguments(r#"BF.ADD  k "" "a b" "\x00\xff\r\n\"\\""#),
        [&b"BF.ADD"[..], b"k", b"", b"a b", b"\x00\xff\r\n\"\\"]
    );
}

#[test]
fn a_pattern_has_holes_for_numbers_as_for_anything() {
    assert!(matches(":<n>", ":240") && !matches(":<n>", ":") && !matches(":<n>", ":-1"));
    assert!(
        matches("-ERR <any> bytes", "-ERR needs 7 bytes")
            && matches("a<any>", "a")
            && !matches("a<any>b", "ac")
    );
    assert!(matches("*[:<n> :1]", "*[:22 :1]") && !matches("*[:<n> :1]", "*[:22 :2]"));
}

#[test]
fn replies_are_rendered_with_nothing_lost() {
    let rendered = |bytes: &[u8]| show(&redis::parse_redis_value(bytes).expect("a reply"));
    assert_eq!(
        rendered(b"*4\r\n:1\r\n-ERR non scaling filter is full\r\n+OK\r\n$2\r\nOK\r\n"),
        "*[:1 -ERR non scaling filter is full +OK $2 OK]"
    );
    assert_eq!(rendered(b"%1\r\n+Capacity\r\n#t\r\n"), "%{+Capacity #t}");
    assert_eq!(rendered(b"*4\r\n_\r\n$-1\r\n#f\r\n$0\r\n\r\n"), "*[_ _ #f $0 ]");
    assert_eq!(rendered(b"-Bad capacity\r\n"), "-Bad capacity");
}
