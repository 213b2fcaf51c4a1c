//! Filters that a client or MIGRATE carries from a server with one module to one with the other.

use bloomline_harness::{Client, bulk, numbered, show};

use super::filters::{add_large, assert_same, family_of, fill, insert, items_of, seen};
use super::for_each_direction;
use crate::cluster::equal::setup;

/// Carries a filter from one server to the other, under its key.
type Carry<'c> = dyn Fn(&mut Client, &mut Client, &str) + 'c;

fn by_dump(from: &mut Client, to: &mut Client, key: &str) {
    let dump = from.call(&format!("DUMP {key}"));
    let restored = to.run(&[&b"RESTORE"[..], key.as_bytes(), b"0", bulk(&dump)]);
    assert_eq!(show(&restored), "+OK", "{key}");
}

fn by_chunks(from: &mut Client, to: &mut Client, key: &str) {
    let chunks = from.chunks(key);
    if chunks.is_empty() {
        return by_dump(from, to, key);
    }
    to.load_chunks(family_of(key), key, &chunks);
}

#[test]
fn dumps_chunks_and_migrate_carry_every_filter() {
    for_each_direction(|kind, first| {
        let (source, target) = (first.start(setup(), kind), first.other().start(setup(), kind));
        let (mut from, mut to) = (source.resp2(), target.resp2());
        fill(&mut from);
        add_large(&mut from);
        let port = target.port;
        let by_migrate = |from: &mut Client, _: &mut Client, key: &str| {
            from.ok(&format!("MIGRATE 127.0.0.1 {port} {key} 0 60000 COPY"));
        };
        for key in from.keys() {
            let items = items_of(&key);
            let expected = seen(&mut from, &key, &items);
            let carriers: [&Carry<'_>; 3] = [&by_dump, &by_chunks, &by_migrate];
            for carry in carriers {
                to.call(&format!("DEL {key}"));
                carry(&mut from, &mut to, &key);
                assert_same(&key, &expected, &seen(&mut to, &key, &items));
            }
            // Both grow alike.
            let more = numbered("more", 400);
            let added = show(&insert(&mut from, &key, &more));
            assert_eq!(show(&insert(&mut to, &key, &more)), added, "{key}");
            let expected = seen(&mut from, &key, &more);
            assert_same(&key, &expected, &seen(&mut to, &key, &more));
        }
    });
}
