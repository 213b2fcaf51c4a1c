//! Physical memory of filters: allocated when it is first written, returned when filters are
//! deleted.

use bloomline_harness::{Setup, Stop, numbered, until};

#[test]
fn large_reservations_use_no_physical_memory() {
    Setup::new().on_each_build(|mut client, server| {
        let before = server.resident();
        // The bits take 1.4 GB.
        client.ok("BF.RESERVE k 0.01 1000000000");
        assert_eq!(client.ask("BF.ADD k a"), ":1");
        assert_eq!(client.ask("BF.MEXISTS k a b"), "*[:1 :0]");
        let grown = server.resident().saturating_sub(before);
        assert!(grown < 64 << 20, "{grown} bytes became resident");
        // The server counts all of them.
        let used: u64 = client.info_number("used_memory");
        assert!(used > 1_300_000_000, "{used}");
        assert_eq!(client.ask("UNLINK k"), ":1");
    });
}

#[test]
fn sparse_filters_use_few_pages_after_a_load() {
    Setup::new().on_each_build(|mut client, mut server| {
        // The bits take 120 MB. They are saved in strings of 2 MiB, few of which are all zeros.
        client.ok("BF.RESERVE k 0.01 100000000");
        let items: Vec<String> = (0..500).map(|i| format!("item:{i}")).collect();
        client.ask(&format!("BF.MADD k {}", items.join(" ")));
        server.restart(Stop::Save);
        let mut client = server.resp2();
        assert_eq!(client.ask("BF.EXISTS k item:7"), ":1");
        let resident = server.resident();
        assert!(resident < 64 << 20, "{resident} bytes are resident");
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
                assert_eq!(client.ask("BF.INFO k FILL"), "*[*[$1 0]]", "{capacity}");
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
