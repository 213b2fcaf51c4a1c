//! One filter carried to another key: as a DUMP payload, as chunks.

use redis::Value;

use bloomline_harness::{Client, Setup, bulk, for_each_build, int, show};

use super::scenario::{assert_nothing_lost, assert_usable, build, build_large, look, look_at_all};

/// Builds on one server, carries each filter to another key of a second one, compares.
fn carrying_keeps_everything(carry: impl Fn(&mut Client, &mut Client, &str, &str) + Sync) {
    for_each_build(|kind| {
        let (here, there) = (Setup::new().start(kind), Setup::new().start(kind));
        let (mut from, mut to) = (here.resp2(), there.resp2());
        let mut made = build(&mut from);
        made.extend(build_large(&mut from));
        let before = look_at_all(&mut from, &made);
        assert_nothing_lost(&made, &before);
        for (filter, before) in made.iter().zip(&before) {
            let copy = format!("{}:copy", filter.key);
            carry(&mut from, &mut to, filter.key, &copy);
            assert_eq!(&look(&mut to, &copy, &filter.items), before, "{}", filter.key);
            to.ok(&format!("RENAME {copy} {}", filter.key));
        }
        // Both go on alike.
        assert_usable(&mut from, &made);
        assert_usable(&mut to, &made);
        for filter in &made {
            let seen = look(&mut from, filter.key, &filter.items);
            assert_eq!(look(&mut to, filter.key, &filter.items), seen, "{}", filter.key);
        }
    });
}

#[test]
fn dump_with_restore_carries_a_filter() {
    carrying_keeps_everything(|from, to, key, copy| {
        let dump = from.call(&format!("DUMP {key}"));
        assert_eq!(show(&to.run(&[b"RESTORE", copy.as_bytes(), b"0", bulk(&dump)])), "+OK");
        let again = to.call(&format!("DUMP {copy}"));
        assert!(again == dump, "{key} is dumped to other bytes after it was restored");
    });
}

#[test]
fn scandump_with_loadchunk_carries_a_filter() {
    carrying_keeps_everything(|from, to, key, copy| {
        let mut at = 0;
        loop {
            let Value::Array(pair) = from.call(&format!("BF.SCANDUMP {key} {at}")) else {
                panic!("a pair")
            };
            at = int(&pair[0]);
            if at == 0 {
                break;
            }
            let reply = to.run(&[
                b"BF.LOADCHUNK",
                copy.as_bytes(),
                at.to_string().as_bytes(),
                bulk(&pair[1]),
            ]);
            assert_eq!(show(&reply), "+OK", "{key} at {at}");
        }
    });
}
