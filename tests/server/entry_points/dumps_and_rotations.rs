//! BF.SCANDUMP while a windowed filter rotates: an error, never a mixture of two states.

use bloomline_harness::{Client, Setup, numbered, show};

use super::DROPPED;
use crate::windowed::{DROPPED_BYTES, RATE, age, header, number_at};

/// A filter with three generations of 20 items.
fn build(client: &mut Client) {
    client.ok(&format!("BF.RESERVE k {RATE} 40 GENERATIONS 2"));
    for batch in numbered("item", 60).chunks(20) {
        client.items("BF.MADD", "k", batch);
        if batch[0] != b"item:40" {
            client.ok("BF.ROTATE k");
        }
    }
}

/// Reads the chunks from an iterator on, and loads them.
fn load(client: &mut Client, mut at: i64, to: &str) -> Result<(), String> {
    loop {
        let reply = client.ask(&format!("BF.SCANDUMP k {at}"));
        if reply.starts_with('-') {
            return Err(reply);
        }
        let (next, data) = client.scandump("k", at);
        if next == 0 {
            return Ok(());
        }
        let reply = client.loadchunk(to, next, &data);
        if reply != "+OK" {
            return Err(reply);
        }
        at = next;
    }
}

#[test]
fn an_iterator_in_a_dropped_generation_is_refused() {
    Setup::new().on_shared_servers(|mut client, _| {
        build(&mut client);
        let (first, bits) = client.scandump("k", 1);
        assert!(first > 1 && !bits.is_empty());
        client.ok("BF.ROTATE k");
        let begin = number_at(&header(&mut client, "k"), DROPPED_BYTES);
        // The end of the first generation is the beginning of the second one.
        assert_eq!(begin as i64 + 1, first);
        for iterator in [2, first / 2, first - 1] {
            assert_eq!(client.ask(&format!("BF.SCANDUMP k {iterator}")), DROPPED, "{iterator}");
        }
        assert!(client.ask(&format!("BF.SCANDUMP k {first}")).starts_with("*[:"));
        // The iterator after the header is that of the first chunk that there is.
        assert_eq!(client.scandump("k", 1), client.scandump("k", first));
        client.ok("BF.ROTATE k");
        assert_eq!(client.ask(&format!("BF.SCANDUMP k {first}")), DROPPED);
        for iterator in [i64::MAX, -1, -5, i64::MIN] {
            assert_eq!(client.ask(&format!("BF.SCANDUMP k {iterator}")), "*[:0 $0 ]", "{iterator}");
        }
    });
}

#[test]
fn a_dump_across_rotations_is_refused_or_equal() {
    Setup::new().on_shared_servers(|mut client, _| {
        for rotations in 0..4 {
            for chunks_before in 0..3 {
                client.ok("FLUSHALL");
                build(&mut client);
                let (mut at, first) = client.scandump("k", 0);
                assert_eq!(client.loadchunk("copy", 1, &first), "+OK");
                for _ in 0..chunks_before {
                    let (next, data) = client.scandump("k", at);
                    assert_eq!(client.loadchunk("copy", next, &data), "+OK");
                    at = next;
                }
                for _ in 0..rotations {
                    client.ok("BF.ROTATE k");
                }
                let result = load(&mut client, at, "copy");
                let case =
                    format!("{rotations} rotations after {chunks_before} chunks: {result:?}");
                // What the copy has received are chunks of its own generations, or none.
                let items = numbered("item", 60);
                let found = show(&client.items("BF.MEXISTS", "copy", &items));
                let absent = show(&client.items("BF.MEXISTS", "copy", &numbered("absent", 100)));
                assert!(!absent.contains(":1"), "{case}");
                if result.is_ok() && rotations == 0 {
                    assert!(!found.contains(":0"), "{case}: {found}");
                }
                assert!(result.is_ok() || rotations > 0, "{case}");
                if chunks_before == 0 && rotations > 0 {
                    // The header is older than all chunks: it has a generation that is dropped now,
                    // and lacks one that was opened.
                    assert!(result.is_err() || found.contains(":0"), "{case}");
                }
            }
        }
    });
}

#[test]
fn chunks_of_dropped_generations_are_not_loaded() {
    Setup::new().on_shared_servers(|mut client, _| {
        build(&mut client);
        let (first, bits) = client.scandump("k", 1);
        client.ok("BF.ROTATE k");
        let header = header(&mut client, "k");
        assert_eq!(client.loadchunk("copy", 1, &header), "+OK");
        let refused = "-ERR invalid offset - no link found";
        assert_eq!(client.loadchunk("copy", first, &bits), refused);
        assert_eq!(client.loadchunk("copy", 3, b"xy"), refused);
        assert_eq!(client.loadchunk("copy", 2, b"x"), refused);
        let found = show(&client.items("BF.MEXISTS", "copy", &numbered("item", 60)));
        assert!(!found.contains(":1"), "{found}");
    });
}

#[test]
fn expired_generations_are_dumped_until_they_are_dropped() {
    Setup::new().on_shared_servers(|mut client, _| {
        client.ok(&format!("BF.RESERVE k {RATE} 80 WINDOW 8000000 GENERATIONS 8"));
        client.items("BF.MADD", "k", &numbered("item", 20));
        age(&mut client, "k", 9_000_000_000);
        assert_eq!(client.ask("BF.CARD k"), ":0");
        client.copy_by_chunks("k", "copy");
        assert_eq!(header(&mut client, "copy"), header(&mut client, "k"));
        assert_eq!(client.ask("BF.CARD copy"), ":0");
        for key in ["k", "copy"] {
            let replies = show(&client.items("BF.MADD", key, &numbered("item", 20)));
            assert!(!replies.contains(":0"), "{key}: {replies}");
        }
    });
}
