//! Values of RedisBloom's layout with chosen numbers: wrong sums and unknown options are repaired,
//! because a refused file would prevent the start of a server.

use bloomline_core::bloom::redisbloom::geometry::RedisBloomShape;
use bloomline_harness::{Client, Setup, Stop, for_each_server, int, seal_dump};
use bloomline_reference::checks::header::{Classic, Link};
use bloomline_reference::payload::Payload;

use super::assert_works;
use crate::inspect::{Totals, digest, totals};

/// The value of `BF.RESERVE k .01 100` after some additions, with links of these numbers of items.
fn value(total: u64, options: u32, lens: &[u64]) -> Classic {
    let link = |&len: &u64| {
        let shape = RedisBloomShape {
            capacity: 100,
            error: 0.005,
            bits_per_item: 11.027_754_391_170_62,
            hashes: 8,
            bits: 1152,
            log2_bits: 0,
            len,
        };
        Link { shape, bytes: 144 }
    };
    let links: Vec<Link> = lens.iter().map(link).collect();
    Classic { total, count: links.len() as u32, options, expansion: 2, links }
}

/// Restores a value under `k`; returns the reply.
fn restore(client: &mut Client, value: &Classic) -> String {
    client.call("BF.ADD frame a");
    let frame = Payload::parse(&client.dump("frame"));
    client.call("DEL frame");
    let fields = value.fields(value.links.iter().map(|_| vec![0x55; 144]));
    client.restore("k", &seal_dump(&Payload { fields, ..frame }.body()))
}

#[test]
fn wrong_sums_and_options_are_repaired_and_logged() {
    const HALF: u64 = 1 << 63;
    for_each_server(|kind| {
        let mut server = Setup::new().debug().append_only().line("appendfsync always").start(kind);
        let mut client = server.resp2();
        assert_eq!(restore(&mut client, &value(1, 5, &[1])), "+OK");
        assert!(!server.log().contains("repaired"), "a sound value is not repaired");
        client.ok("RENAME k sound");
        let all = format!("{} items in the links, 7 in the sum", u64::MAX);
        for (value, items, line) in [
            (value(7, 5, &[1]), 1, "1 items in the links, 7 in the sum"),
            (value(1, 0x45, &[1]), 1, "options 0x40 without a meaning are dropped"),
            (value(7, 5, &[HALF, HALF]), i64::MAX, &all),
            (value(7, 5, &[u64::MAX, 10]), i64::MAX, &all),
            (value(7, 5, &[10, u64::MAX]), i64::MAX, &all),
        ] {
            let mut client = server.resp2();
            let logged = |log: String| [log.matches("repaired").count(), log.matches(line).count()];
            let before_log = logged(server.log());
            assert_eq!(restore(&mut client, &value), "+OK", "{line}");
            assert_eq!(int(&client.call("BF.CARD k")), items, "{line}");
            let before = digest(&mut client, "k");
            if items == 1 {
                assert_eq!(before, digest(&mut client, "sound"), "{line}");
            }
            // Both files and what commands return are valid.
            client.ok("DEBUG RELOAD");
            assert_eq!(digest(&mut client, "k"), before, "{line}");
            client.rewrite_append_only_file();
            server.restart(Stop::NoSave);
            let mut client = server.resp2();
            assert_eq!(digest(&mut client, "k"), before, "{line}: after a rewrite");
            assert_works(&mut client, "k", line);
            assert_eq!(logged(server.log()), before_log.map(|count| count + 1), "{line}");
        }
        let mut client = server.resp2();
        client.call("DEL sound");
        client.wait_for_frees();
        assert_eq!(totals(&mut client), Totals::default());
    });
}

#[test]
fn redis_6_restores_no_layer_of_4_gib() {
    Setup::new().on_each_server(|mut client, server| {
        for bits in [1 << 35, (1 << 35) + 64] {
            let mut large = value(1, 5, &[1]);
            large.links[0].shape.bits = bits;
            assert_eq!(restore(&mut client, &large), "-ERR Bad data format");
        }
        // Other servers refuse it because its 144 bytes are too few.
        let rule =
            "it needs a layer of 4294967296 bytes in RedisBloom's layout, and Redis before 7.0";
        assert_eq!(server.log().contains(rule), server.kind.is_before_7(), "{}", server.log());
        assert_eq!(client.ask("DBSIZE"), ":0");
    });
}
