//! What the compiled module requires: C library, libraries and instructions of the processor.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use bloomline_harness::{
    Kind, Server, Setup, bulk, for_newest_servers, module, numbered, report_missing, repository,
};
use redis::Value;

use crate::program::{find_tool, output, program};

/// The newest C library that a release may need: that of RHEL 8, which scripts/cargo-for.sh links
/// with.
const RELEASED: (u32, u32) = (2, 28);

/// The newest C library that `make build` may need on the systems where the tests run.
const BUILT_HERE: (u32, u32) = (2, 34);

/// True if the module under test was linked as that of a release (scripts/platforms.sh).
fn is_released() -> bool {
    std::env::var_os("BLOOMLINE_RELEASED").is_some()
}

/// The newest version of the C library among the symbols that a module imports, of any processor.
pub fn newest_glibc(module: &Path) -> (u32, u32) {
    let symbols = output(program("readelf").args(["-W", "--version-info"]).arg(module));
    let versions = symbols.split("GLIBC_").skip(1).filter_map(|rest| {
        let version = rest.split(|c: char| c != '.' && !c.is_ascii_digit()).next()?;
        let mut numbers = version.split('.').map(|number| number.parse().ok());
        Some((numbers.next()??, numbers.next()??))
    });
    versions.max().expect("symbols of the C library")
}

/// The names of the libraries that a module needs, of any processor.
pub fn needed(module: &Path) -> Vec<String> {
    let entries = output(program("readelf").args(["-W", "-d"]).arg(module));
    let entries = entries.lines().filter(|line| line.contains("(NEEDED)"));
    entries.filter_map(|line| Some(line.split_once('[')?.1.split_once(']')?.0.to_owned())).collect()
}

#[test]
fn the_module_needs_no_newer_c_library_than_documented() {
    let page = fs::read_to_string(repository().join("docs/how-to/install.md")).unwrap();
    let (limit, stated) = if is_released() {
        (RELEASED, "with glibc 2.28 or newer")
    } else {
        (BUILT_HERE, "a newer version than 2.34")
    };
    assert!(page.replace('\n', " ").contains(stated), "docs/how-to/install.md lacks: {stated}");
    let (major, minor) = newest_glibc(&module());
    assert!((major, minor) <= limit, "the module needs glibc {major}.{minor}");
}

#[test]
fn the_module_needs_only_libraries_of_every_system() {
    let needed = needed(&module());
    // Before glibc 2.34 threads and dlsym were in libraries of their own, which newer ones still
    // have.
    let mut known = vec![
        "libc.so.6",
        "libdl.so.2",
        "libpthread.so.0",
        "ld-linux-x86-64.so.2",
        "ld-linux-aarch64.so.1",
    ];
    if !is_released() {
        known.push("libgcc_s.so.1");
    }
    let unknown: Vec<_> = needed.iter().filter(|name| !known.contains(&name.as_str())).collect();
    assert!(!needed.is_empty() && unknown.is_empty(), "{unknown:?}");
}

#[test]
#[cfg(target_arch = "x86_64")]
fn the_module_has_instructions_of_both_vector_extensions() {
    let code = output(program("objdump").args(["-d", "--no-show-raw-insn"]).arg(module()));
    // AVX2 has registers of 256 bits, AVX-512 of 512 bits.
    for register in ["%ymm", "%zmm"] {
        let count = code.matches(register).count();
        assert!(count > 1_000, "{count} uses of {register}");
    }
}

/// The same server on a processor that qemu emulates. A program ends at the first instruction that
/// this processor lacks.
fn on_processor(kind: &Kind, processor: &str, qemu: &Path, folder: &Path) -> Kind {
    let home = kind.server().parent().expect("its folder").to_owned();
    let product = kind.name.split('-').next().expect("a product");
    let home = home.display();
    // Not the server's own wrapper: programs that a shell starts would run on the real processor.
    let wrapper = format!(
        "#!/bin/sh\nexec {} -cpu {processor} {home}/lib/ld.so --library-path {home}/lib {home}/bin/{product}-server \"$@\"\n",
        qemu.display(),
    );
    let server = folder.join("server");
    fs::write(&server, wrapper).unwrap();
    fs::set_permissions(&server, fs::Permissions::from_mode(0o755)).unwrap();
    Kind::in_folder(&format!("{}-on-{processor}", kind.name), folder)
}

/// The bytes of the filters after more items were added, and their replies for added and absent
/// items.
fn grown(server: &Server, payloads: &[(String, Vec<u8>)]) -> Vec<(Vec<u8>, Vec<Value>)> {
    let mut client = server.resp2();
    let items = numbered("item", 8_000);
    let grow = |(key, payload): &(String, Vec<u8>)| {
        client.run(&[&b"RESTORE"[..], key.as_bytes(), b"0", payload]);
        client.items("BF.MADD", key, &items[1_000..4_000]);
        let answers = client.items("BF.MEXISTS", key, &items);
        let Value::Array(answers) = answers else { panic!("no array: {answers:?}") };
        (bulk(&client.run(&["DUMP", key])).to_vec(), answers)
    };
    payloads.iter().map(grow).collect()
}

#[test]
fn processors_without_avx_give_equal_answers_and_bytes() {
    let Some(qemu) = find_tool("qemu-x86_64") else { return };
    for_newest_servers(|kind| {
        if !kind.server().with_file_name("lib").is_dir() {
            return report_missing(kind, "its own loader, which qemu needs");
        }
        let native = Setup::new().start(kind);
        let mut client = native.resp2();
        let mut payloads = Vec::new();
        for (key, how) in [
            ("default", "ERROR 0.01 CAPACITY 100"),
            ("one-line", "ERROR 0.2 CAPACITY 5000"),
            ("four-lines", "ERROR 0.000000001 CAPACITY 2000"),
            ("redisbloom", "LAYOUT redisbloom"),
        ] {
            client.call(&format!("BF.INSERT {key} {how} ITEMS first"));
            client.items("BF.MADD", key, &numbered("item", 1_000));
            payloads.push((key.to_owned(), bulk(&client.run(&["DUMP", key])).to_vec()));
        }
        client.ok("FLUSHALL");
        let expected = grown(&native, &payloads);
        // Nehalem has neither AVX2 nor AVX-512. Haswell has AVX2 only.
        for processor in ["Nehalem", "Haswell"] {
            let folder = tempfile::tempdir().unwrap();
            let server = Setup::new().start(&on_processor(kind, processor, &qemu, folder.path()));
            for (((key, _), one), other) in
                payloads.iter().zip(&expected).zip(&grown(&server, &payloads))
            {
                assert!(one.1 == other.1, "{key} gives other answers on a {processor}");
                assert!(one.0 == other.0, "{key} has other bytes on a {processor}");
            }
        }
    });
}
