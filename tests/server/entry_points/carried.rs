//! One filter carried to another key, as a DUMP payload and as chunks.

use bloomline_harness::{Client, Setup, bulk, for_each_build, show};

use super::scenario::{
    assert_nothing_lost, assert_usable, build, build_large, observe, observe_all,
};

/// Builds filters on one server, carries each to another key of a second one, and compares them.
fn carrying_keeps_everything(carry: impl Fn(&mut Client, &mut Client, &str, &str) + Sync) {
    for_each_build(|kind| {
        let (here, there) = (Setup::new().start(kind), Setup::new().start(kind));
        let (mut from, mut to) = (here.resp2(), there.resp2());
        let mut made = build(&mut from);
        made.extend(build_large(&mut from));
        let before = observe_all(&mut from, &made);
        assert_nothing_lost(&made, &before);
        for (filter, before) in made.iter().zip(&before) {
            let copy = format!("{}:copy", filter.key);
            carry(&mut from, &mut to, filter.key, &copy);
            assert_eq!(&observe(&mut to, &copy, &filter.items), before, "{}", filter.key);
            to.ok(&format!("RENAME {copy} {}", filter.key));
        }
        // Both continue in the same way.
        assert_usable(&mut from, &made);
        assert_usable(&mut to, &made);
        for filter in &made {
            let seen = observe(&mut from, filter.key, &filter.items);
            assert_eq!(observe(&mut to, filter.key, &filter.items), seen, "{}", filter.key);
        }
    });
}

#[test]
fn dump_and_restore_carry_a_filter() {
    carrying_keeps_everything(|from, to, key, copy| {
        let dump = from.call(&format!("DUMP {key}"));
        assert_eq!(show(&to.run(&[b"RESTORE", copy.as_bytes(), b"0", bulk(&dump)])), "+OK");
        let again = to.call(&format!("DUMP {copy}"));
        assert!(again == dump, "{key} is dumped to other bytes after it was restored");
    });
}

#[test]
fn scandump_and_loadchunk_carry_a_filter() {
    carrying_keeps_everything(|from, to, key, copy| {
        let mut at = 0;
        loop {
            let (next, data) = from.scandump(key, at);
            if next == 0 {
                break;
            }
            assert_eq!(to.loadchunk(copy, next, &data), "+OK", "{key} at {next}");
            at = next;
        }
    });
}
