//! Filters from every entry point are freed: their neighbours in memory keep every byte.

use bloomline_harness::{Client, Server, for_each_build, numbered, show};

use crate::cluster::equal::{catch_up, setup};

use super::strings::{Neighbours, shapes};

/// Filters of each shape.
const COPIES: usize = 4;
/// Items per filter: more than ten per page.
const ITEMS: usize = 3000;

/// A connection to the server, and filters that commands have made on it.
fn made(server: &Server) -> (Client, Neighbours) {
    let (mut client, mut neighbours) = (server.resp2(), Neighbours::new());
    neighbours.make(&mut client, shapes(), COPIES, ITEMS);
    (client, neighbours)
}

/// Frees half of the filters, and asserts that the rest is intact.
fn assert_frees_only_itself(client: &mut Client, neighbours: &mut Neighbours, how: &str) {
    neighbours.assert_whole(client, how);
    neighbours.delete_every_second(client);
    neighbours.assert_whole(client, &format!("{how} and deletions"));
}

#[test]
fn freed_loaded_filters_leave_their_neighbours_intact() {
    for_each_build(|kind| {
        let server = setup().start(kind);
        let (mut client, mut neighbours) = made(&server);
        client.ok("DEBUG RELOAD");
        assert_frees_only_itself(&mut client, &mut neighbours, "DEBUG RELOAD");
        // The second load fills the gaps.
        client.ok("DEBUG RELOAD");
        assert_frees_only_itself(&mut client, &mut neighbours, "another DEBUG RELOAD");
    });
}

#[test]
fn freed_restored_filters_leave_their_neighbours_intact() {
    for_each_build(|kind| {
        let server = setup().start(kind);
        let (mut client, mut neighbours) = made(&server);
        let dumps: Vec<(String, Vec<u8>)> =
            neighbours.keys().map(|key| (key.to_owned(), client.dump(key))).collect();
        for (key, dump) in &dumps {
            let copy = format!("restored:{key}");
            let reply = client.run(&[b"RESTORE", copy.as_bytes(), b"0", dump]);
            assert_eq!(show(&reply), "+OK");
            neighbours.add_copy(&mut client, key, &copy);
        }
        assert_frees_only_itself(&mut client, &mut neighbours, "RESTORE");
    });
}

#[test]
fn freed_replicated_filters_leave_their_neighbours_intact() {
    for_each_build(|kind| {
        let primary = setup().start(kind);
        let (mut client, mut neighbours) = made(&primary);
        let replica = setup().follows(&primary).start(kind);
        let mut other = replica.resp2();
        catch_up(&mut client, &mut other);
        neighbours.assert_whole(&mut other, "the full synchronisation");
        neighbours.delete_every_second(&mut client);
        catch_up(&mut client, &mut other);
        other.wait_for_frees();
        neighbours.assert_whole(&mut other, "deletions on the replica");
        neighbours.assert_whole(&mut client, "deletions on the primary");
    });
}

#[test]
fn freed_copies_leave_their_neighbours_intact() {
    for_each_build(|kind| {
        let server = setup().start(kind);
        let (mut client, mut neighbours) = made(&server);
        let keys: Vec<String> = neighbours.keys().map(str::to_owned).collect();
        for key in &keys {
            let copy = format!("copied:{key}");
            assert_eq!(client.ask(&format!("COPY {key} {copy}")), ":1");
            neighbours.add_copy(&mut client, key, &copy);
        }
        assert_frees_only_itself(&mut client, &mut neighbours, "COPY");
    });
}

#[test]
fn freed_filters_from_chunks_leave_their_neighbours_intact() {
    for_each_build(|kind| {
        let server = setup().start(kind);
        let (mut client, mut neighbours) = made(&server);
        let keys: Vec<String> = neighbours.keys().map(str::to_owned).collect();
        for key in &keys {
            let copy = format!("loaded:{key}");
            client.copy_by_chunks(key, &copy);
            neighbours.add_copy(&mut client, key, &copy);
        }
        assert_frees_only_itself(&mut client, &mut neighbours, "BF.LOADCHUNK");
    });
}

#[test]
fn freed_grown_filters_leave_their_neighbours_intact() {
    for_each_build(|kind| {
        let server = setup().start(kind);
        let (mut client, mut neighbours) = (server.resp2(), Neighbours::new());
        for layout in ["redisbloom", "bloomline"] {
            // The second layers take 80 kB to 3 MB.
            for expansion in [500, 500, 500, 500, 8_000, 8_000, 8_000, 8_000, 20_000, 20_000] {
                let key = format!("{layout}:{expansion}:{}", neighbours.keys().count());
                client.ok(&format!(
                    "BF.RESERVE {key} 0.01 100 EXPANSION {expansion} LAYOUT {layout}"
                ));
                let items = numbered(&key, ITEMS);
                for batch in items.chunks(1000) {
                    client.items("BF.MADD", &key, batch);
                }
                assert_eq!(client.ask(&format!("BF.INFO {key} FILTERS")), "*[:2]");
                neighbours.add(&mut client, &key, items);
            }
        }
        assert_frees_only_itself(&mut client, &mut neighbours, "growth");
        // One filter now has layers that were adopted from the server's strings and layers that
        // were not.
        client.ok("DEBUG RELOAD");
        assert_frees_only_itself(&mut client, &mut neighbours, "growth and DEBUG RELOAD");
    });
}
