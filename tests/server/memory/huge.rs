//! Huge pages behind large filters: once all pages are in use, never for few items, again after a
//! save, and given back.

use std::fs;
use std::io::Write;

use bloomline_harness::{Client, Server, Setup, until};

const MIB: u64 = 1 << 20;
/// `asm-generic/mman-common.h`. The package `libc` has it for glibc only.
const MADV_COLLAPSE: libc::c_int = 25;

/// Why the system does not permit what is tested.
fn missing(server: &Server) -> Option<String> {
    let mode = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    let mode = mode.unwrap_or_else(|error| error.to_string());
    // SAFETY: no page is named, which only checks that the kernel knows the advice.
    let is_known = unsafe { libc::madvise(std::ptr::null_mut(), 0, MADV_COLLAPSE) } == 0;
    // In the mode `always` servers disable huge pages.
    match () {
        () if !mode.contains("[madvise]") => Some(format!("huge pages are {}", mode.trim())),
        () if !is_known => Some("the kernel has no MADV_COLLAPSE (Linux 6.1)".to_owned()),
        () => server.process().huge_pages().err().map(|error| error.to_string()),
    }
}

/// Adds `items` items of eight bytes.
fn fill(client: &mut Client, key: &str, items: u64) {
    let all: Vec<u8> = (0..items).flat_map(u64::to_le_bytes).collect();
    for part in all.chunks(8 * 20_000) {
        client.run(&[b"BF.BULKADD", key.as_bytes(), b"FIXED", b"8", part, b"COUNT"]);
    }
}

fn huge(server: &Server) -> u64 {
    server.process().huge_pages().unwrap()
}

/// Waits until a large filter of 76 MB has huge pages: all but its first and last pages.
fn wait_for_huge(server: &Server, after: &str) {
    until(&format!("huge pages {after}"), || (huge(server) >= 68 * MIB).then_some(()));
}

#[test]
fn large_filters_get_huge_pages_when_all_pages_are_used() {
    Setup::new().on_each_server(|mut client, mut server| {
        if let Some(reason) = missing(&server) {
            let _ = writeln!(std::io::stderr(), "NOT TESTED: {reason}");
            return;
        }
        // 61 MB, and two of 76 MB: the limit is 64 MiB. 20 items per page reach all pages.
        client.ok("BF.RESERVE small 0.01 50000000 NONSCALING");
        fill(&mut client, "small", 300_000);
        client.ok("BF.RESERVE few 0.01 62000000 NONSCALING");
        fill(&mut client, "few", 500);
        client.ok("BF.RESERVE large 0.01 62000000 NONSCALING");
        let before = server.resident();
        fill(&mut client, "large", 370_000);
        wait_for_huge(&server, "of the large filter");
        // A pass visits the older filters first.
        assert!(huge(&server) <= 74 * MIB, "{} bytes in huge pages", huge(&server));
        let grown = server.resident() - before;
        assert!(grown <= 80 * MIB, "{grown} bytes for 73 MiB");

        // A write while a child saves splits a huge page, of which one small page is copied.
        client.ok("CONFIG SET rdb-key-save-delay 1");
        client.call("BGSAVE");
        client.ask("BF.ADD large split");
        client.ok("CONFIG SET rdb-key-save-delay 0");
        client.wait_for_saves();
        wait_for_huge(&server, "after a save");
        let copied = client.info_number("rdb_last_cow_size");
        assert!(copied <= 16 * MIB, "{copied} bytes were copied");

        let before = server.resident();
        assert_eq!(client.ask("UNLINK large"), ":1");
        until("memory to be given back", || {
            (server.resident() < before - 65 * MIB && huge(&server) == 0).then_some(())
        });

        // A loaded filter gets huge pages as well.
        fill(&mut client, "few", 370_000);
        wait_for_huge(&server, "of the filter that had few items");
        let found = client.ask("BF.MEXISTS few 12345678 x");
        server.restart(bloomline_harness::Stop::Save);
        wait_for_huge(&server, "after a restart");
        assert_eq!(server.resp2().ask("BF.MEXISTS few 12345678 x"), found);
    });
}

#[test]
fn the_first_large_layer_starts_the_thread() {
    Setup::new().on_each_server(|mut client, server| {
        let threads = || server.process().threads("bf-huge").expect("its threads");
        client.ok("BF.RESERVE small 0.01 1000000");
        assert_eq!(threads(), 0);
        for key in ["large", "other"] {
            client.ok(&format!("BF.RESERVE {key} 0.01 62000000"));
            assert_eq!(threads(), 1, "{key}");
        }
    });
}
