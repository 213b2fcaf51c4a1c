//! Huge pages behind large filters: once all pages are in use, never for few items, again after a
//! save, and given back.

use std::convert::Infallible;
use std::fs;
use std::time::Duration;

use bloomline_harness::{Client, DEADLINE, Server, Setup, Stop, poll, report_missing, until};

const MIB: u64 = 1 << 20;
/// `asm-generic/mman-common.h`. The package `libc` has it for glibc only.
const MADV_COLLAPSE: libc::c_int = 25;

/// The size of a huge page.
const HUGE: u64 = 2 * MIB;
/// The huge pages of a large filter of 76 MB, but for its first and last ones.
const LEAST: u64 = 68 * MIB;

/// Fails with what the system lacks for huge pages.
fn check_system(server: &Server) -> Result<(), String> {
    let mode = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    let mode = mode.unwrap_or_else(|error| error.to_string());
    // SAFETY: no page is named, which only checks that the kernel knows the advice.
    let is_known = unsafe { libc::madvise(std::ptr::null_mut(), 0, MADV_COLLAPSE) } == 0;
    // In the mode `always` servers disable huge pages.
    if !mode.contains("[madvise]") {
        return Err(format!("huge pages by madvise, they are {}", mode.trim()));
    }
    if !is_known {
        return Err("MADV_COLLAPSE (Linux 6.1)".to_owned());
    }
    server.process().huge_pages().map_err(|error| error.to_string())?;
    match available() {
        LEAST => Ok(()),
        bytes => Err(format!("free huge pages: {} MiB of {}", bytes / MIB, LEAST / MIB)),
    }
}

/// How long the kernel may search for memory.
const PATIENCE: Duration = Duration::from_secs(60);

/// Bytes of huge pages that the kernel finds memory for, at most [`LEAST`]. Memory may be
/// fragmented.
fn available() -> u64 {
    let length = (LEAST + HUGE) as usize;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: the mapping is new, and only this function uses it: it is written inside its length,
    // and unmapped as a whole.
    unsafe {
        let block = libc::mmap(std::ptr::null_mut(), length, access, kind, -1, 0);
        assert_ne!(block, libc::MAP_FAILED, "no address space");
        block.cast::<u8>().write_bytes(1, length);
        let first = block.cast::<u8>().align_offset(HUGE as usize);
        let mut small: Vec<u64> = (0..LEAST / HUGE).collect();
        let Ok(_) = poll(PATIENCE, || {
            small.retain(|page| {
                let page = block.byte_add(first + (page * HUGE) as usize);
                libc::madvise(page, HUGE as usize, MADV_COLLAPSE) != 0
            });
            Ok::<_, Infallible>(small.is_empty().then_some(()))
        });
        libc::munmap(block, length);
        LEAST - small.len() as u64 * HUGE
    }
}

/// Adds `items` items of eight bytes.
fn fill(client: &mut Client, key: &str, items: u64) {
    let all: Vec<u8> = (0..items).flat_map(u64::to_le_bytes).collect();
    for part in all.chunks(8 * 20_000) {
        client.run(&[&b"BF.BULKADD"[..], key.as_bytes(), b"FIXED", b"8", part, b"COUNT"]);
    }
}

fn huge(server: &Server) -> u64 {
    server.process().huge_pages().unwrap()
}

/// Waits until a large filter has huge pages. Fails if the system has none left for it.
fn wait_for_huge(server: &Server, after: &str) -> Result<(), String> {
    let Ok(found) = poll(DEADLINE, || Ok::<_, Infallible>((huge(server) >= LEAST).then_some(())));
    if found.is_none() {
        check_system(server)?;
        panic!("no huge pages {after}");
    }
    Ok(())
}

#[test]
fn large_filters_get_huge_pages_when_all_pages_are_used() {
    Setup::new().on_each_server(|client, server| {
        let kind = server.kind.clone();
        if let Err(missing) = fill_and_save(client, server) {
            report_missing(&kind, &missing);
        }
    });
}

/// Fails with what the system lacks.
fn fill_and_save(mut client: Client, mut server: Server) -> Result<(), String> {
    check_system(&server)?;
    // 61 MB, and two of 76 MB: the limit is 64 MiB. 20 items per page reach all pages.
    client.ok("BF.RESERVE small 0.01 50000000 NONSCALING");
    fill(&mut client, "small", 300_000);
    client.ok("BF.RESERVE few 0.01 62000000 NONSCALING");
    fill(&mut client, "few", 500);
    client.ok("BF.RESERVE large 0.01 62000000 NONSCALING");
    let before = server.resident();
    fill(&mut client, "large", 370_000);
    wait_for_huge(&server, "of the large filter")?;
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
    wait_for_huge(&server, "after a save")?;
    let copied = client.info_number("rdb_last_cow_size");
    assert!(copied <= 16 * MIB, "{copied} bytes were copied");

    let before = server.resident();
    assert_eq!(client.ask("UNLINK large"), ":1");
    until("memory to be given back", || {
        (server.resident() < before - 65 * MIB && huge(&server) == 0).then_some(())
    });

    // A loaded filter gets huge pages as well.
    fill(&mut client, "few", 370_000);
    wait_for_huge(&server, "of the filter that had few items")?;
    let found = client.ask("BF.MEXISTS few 12345678 x");
    server.restart(Stop::Save);
    wait_for_huge(&server, "after a restart")?;
    assert_eq!(server.resp2().ask("BF.MEXISTS few 12345678 x"), found);
    Ok(())
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
