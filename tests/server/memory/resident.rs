//! Physical memory of filters: allocated when it is first written, returned when filters are
//! deleted.

use bloomline_harness::{Setup, Stop, numbered, until};

use crate::filters::Family;

#[test]
fn large_reservations_use_no_physical_memory() {
    Setup::new().on_each_build(|mut client, server| {
        // The bits take 1.4 GB, the slots more than 1 GiB.
        for (family, options) in [("BF", "0.01 1000000000"), ("CF", "1073741824")] {
            let before = server.resident();
            client.ok(&format!("{family}.RESERVE k {options}"));
            assert_eq!(client.ask(&format!("{family}.ADD k a")), ":1");
            assert_eq!(client.ask(&format!("{family}.MEXISTS k a b")), "*[:1 :0]");
            let grown = server.resident().saturating_sub(before);
            assert!(grown < 16 << 20, "{family}: {grown} bytes became resident");
            // The server counts all of them.
            assert!(client.info_number("used_memory") > 1 << 30);
            assert_eq!(client.ask("UNLINK k"), ":1");
            until("the filter to be freed", || {
                (client.info_number("used_memory") < 100 << 20).then_some(())
            });
        }
    });
}

#[test]
fn sparse_filters_use_few_pages_after_a_load() {
    Setup::new().on_each_build(|mut client, mut server| {
        // The bits take 120 MB, the slots 40 MB. They are saved in strings of 2 MiB, few of which
        // are all zeros.
        client.ok("BF.RESERVE bloom 0.01 100000000");
        client.ok("CF.RESERVE cuckoo 32000000");
        let items = numbered("item", 500);
        client.items("BF.MADD", "bloom", &items);
        Family::Cuckoo.add(&mut client, "cuckoo", &items);
        server.restart(Stop::Save);
        let mut client = server.resp2();
        assert_eq!(client.ask("BF.EXISTS bloom item:7"), ":1");
        assert_eq!(client.ask("CF.EXISTS cuckoo item:7"), ":1");
        let resident = server.resident();
        assert!(resident < 80 << 20, "{resident} bytes are resident");
    });
}

#[test]
fn deleted_filters_return_their_pages() {
    Setup::new().on_each_build(|mut client, server| {
        // 1.4, 5.6 and 22 MB: sizes that allocators keep for reuse, and sizes that only the C
        // library keeps.
        for capacity in [1_000_000, 4_000_000, 16_000_000] {
            let items = numbered("item", 8000);
            for _ in 0..3 {
                client.ok(&format!("BF.RESERVE k 0.01 {capacity}"));
                assert_eq!(
                    client.ask("BF.STATS k layer_fills"),
                    "*[$11 layer_fills *[$1 0]]",
                    "{capacity}"
                );
                let before = server.resident();
                // At least six of ten pages of the largest filter are written.
                for chunk in items.chunks(1000) {
                    client.items("BF.MADD", "k", chunk);
                }
                let touched = server.resident();
                assert_eq!(client.ask("UNLINK k"), ":1");
                until("the pages to be returned", || {
                    (server.resident() < before + (touched - before) / 2).then_some(())
                });
            }
        }
    });
}
