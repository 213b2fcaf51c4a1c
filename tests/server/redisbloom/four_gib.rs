//! Layers of 4 GiB or more in RedisBloom's layout. Redis before 7.0 refuses them at every entry
//! point, because it would write an RDB file that no server can read. Other servers accept them.

use bloomline_harness::{
    Client, Kind, Server, Setup, Stop, append_only_file, for_each_server, matches, report_missing,
};

use crate::inspect::{number, totals};

use super::forged::{header, load, with_layer_of, with_links};

/// The first size that a server before 7.0 refuses.
const FOUR_GIB: u64 = 1 << 32;

/// The reason in the reply.
const RULE: &str = "it needs a layer of <n> bytes in RedisBloom's layout, and Redis before 7.0 writes an \
                    unreadable RDB file of a layer of 4 GiB or more";

/// Load arguments with which a default filter has a layer of 4.7 GB.
const LARGE_BY_DEFAULT: &str =
    "bf-layout redisbloom bf-initial-size 1073741824 bf-error-rate 0.0000001";

/// Runs a call that makes a layer of 4 GiB or more: it is refused and changes nothing, or it is
/// accepted.
///
/// The calls run one at a time, because the memory of a machine may suffice for only one such
/// filter.
fn assert_refused_or_made(
    client: &mut Client,
    kind: &Kind,
    run: impl FnOnce(&mut Client) -> String,
) {
    let before = (client.ask("DBSIZE"), totals(client), number(client, "creations_refused"));
    let reply = run(client);
    if kind.is_before_7() {
        assert!(matches(&format!("-ERR could not create filter: {RULE}"), &reply), "{reply}");
        let now = (client.ask("DBSIZE"), totals(client), number(client, "creations_refused"));
        assert_eq!(now, (before.0, before.1, before.2 + 1));
    } else if reply.contains("the machine") {
        report_missing(kind, "memory for a filter of 4 GiB");
    } else {
        assert!(["+OK", ":1", "*[:1]", "*[:1 :1]"].contains(&reply.as_str()), "{reply}");
        assert!(totals(client).bytes >= before.1.bytes + FOUR_GIB);
        assert_eq!(client.ask("BF.INFO k FILTERS"), "*[:1]");
        assert_eq!(client.ask("DEL k"), ":1");
        client.wait_for_frees();
    }
}

/// Asserts that a server before 7.0 saves a file that it can read after the refusals.
fn assert_saves(mut server: Server) {
    if server.kind.is_before_7() {
        assert_eq!(server.resp2().ask("BF.ADD small a"), ":1");
        server.restart(Stop::Save);
        assert_eq!(server.resp2().ask("BF.MEXISTS small a b"), "*[:1 :0]");
    }
}

#[test]
fn redis_6_creates_no_layer_of_4_gib_by_a_call() {
    Setup::new().on_each_server(|mut client, server| {
        for line in [
            "BF.RESERVE k 0.0000001 1073741824 NONSCALING LAYOUT redisbloom",
            "BF.INSERT k CAPACITY 1073741824 ERROR 0.0000001 LAYOUT redisbloom ITEMS a",
        ] {
            assert_refused_or_made(&mut client, &server.kind, |client| client.ask(line));
        }
        let small = header(&mut client, "0.0000001 1000 NONSCALING");
        for bytes in [FOUR_GIB, FOUR_GIB + 8, 5 << 30] {
            let large = with_layer_of(small.clone(), bytes);
            assert_refused_or_made(&mut client, &server.kind, |client| load(client, "k", &large));
        }
        if server.kind.is_before_7() {
            let log = server.log();
            let line = format!("<any>creation of filter 'k' refused: {RULE}<any>");
            assert!(matches(&line, &log), "{log}");
        }
        // A smaller layer is accepted, and so is one in our own layout, whose bits are saved in
        // chunks.
        let reply = load(&mut client, "k", &with_layer_of(small, FOUR_GIB - 8));
        if reply == "+OK" {
            assert_eq!(client.ask("DEL k"), ":1");
            client.wait_for_frees();
            client.ok("BF.RESERVE k 0.0000001 1073741824 NONSCALING LAYOUT bloomline");
            assert_eq!(client.ask("DEL k"), ":1");
        } else {
            assert!(reply.contains("the machine"), "{reply}");
        }
        assert_saves(server);
    });
}

#[test]
fn redis_6_creates_no_layer_of_4_gib_by_default() {
    Setup::new().module_args(LARGE_BY_DEFAULT).on_each_server(|mut client, server| {
        for line in ["BF.ADD k a", "BF.MADD k a b", "BF.INSERT k ITEMS a"] {
            assert_refused_or_made(&mut client, &server.kind, |client| client.ask(line));
        }
        // On this server only explicitly described filters are small.
        if server.kind.is_before_7() {
            client.ok("BF.RESERVE small 0.01 100");
        }
        assert_saves(server);
    });
}

/// The header of a full filter whose next layer takes 6 GB.
fn about_to_grow(client: &mut Client) -> Vec<u8> {
    let header = header(client, "0.0000001 40000 EXPANSION 32768");
    with_links(&header, &[40_000])
}

#[test]
fn redis_6_grows_no_layer_of_4_gib() {
    Setup::new().on_each_server(|mut client, server| {
        let header = about_to_grow(&mut client);
        assert_eq!(load(&mut client, "k", &header), "+OK");
        let before = totals(&mut client);
        let reply = client.ask("BF.ADD k a");
        let log = server.log();
        if server.kind.is_before_7() {
            assert_eq!(reply, "-ERR problem inserting into filter");
            let line = format!("<any>growth of filter 'k' refused: {RULE}<any>");
            assert!(matches(&line, &log), "{log}");
            assert_eq!((totals(&mut client), number(&mut client, "growths_refused")), (before, 1));
            assert_eq!(client.ask("BF.MADD k a b"), format!("*[{reply} {reply}]"));
        } else if log.contains("the machine") {
            report_missing(&server.kind, "memory for a filter of 6 GB");
        } else {
            assert_eq!(reply, ":1");
            assert_eq!(client.ask("BF.INFO k FILTERS"), "*[:2]");
            assert_eq!(client.ask("BF.MEXISTS k a b"), "*[:1 :0]");
            assert_eq!(client.ask("DEL k"), ":1");
        }
        assert_saves(server);
    });
}

#[test]
fn redis_6_does_not_start_with_a_layer_of_4_gib() {
    for_each_server(|kind| {
        let (large, growing) = {
            let server = Setup::new().start(kind);
            let mut client = server.resp2();
            let small = header(&mut client, "0.0000001 1000 NONSCALING");
            (with_layer_of(small, FOUR_GIB), about_to_grow(&mut client))
        };
        let select: &[&[u8]] = &[b"SELECT", b"0"];
        let load = |header| [b"BF.LOADCHUNK".as_slice(), b"k", b"1", header];
        for (file, reason) in [
            (
                append_only_file::<&[u8]>(&[select, &load(&large)]),
                "filter 'k' was created by a primary or a file",
            ),
            (
                append_only_file::<&[u8]>(&[select, &load(&growing), &[b"BF.ADD", b"k", b"a"]]),
                "filter 'k' must grow for a primary or a file",
            ),
        ] {
            let started = Setup::new().append_file(file).try_start(kind);
            if kind.is_before_7() {
                let log = started.err().expect("a server that would write an unreadable file");
                assert!(matches(&format!("<any>{reason}, but {RULE}<any>"), &log), "{log}");
            } else {
                let server = started.unwrap_or_else(|log| panic!("{log}"));
                assert_eq!(server.resp2().ask("EXISTS k"), ":1");
            }
        }
    });
}
