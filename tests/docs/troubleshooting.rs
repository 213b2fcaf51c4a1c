//! The page docs/how-to/troubleshooting.md: every failed start that it lists is provoked, and what
//! the server prints then is on the page.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use bloomline_harness::{
    CModule, Client, Kind, Limits, Setup, append_only_file, for_each_server, module, module_for,
    until,
};
use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use tempfile::TempDir;

use crate::pages;

const PAGE: &str = "docs/how-to/troubleshooting.md";

/// Lines of the page that need another user, a mount without the right to execute, a machine that
/// has no compiler of C, and servers on musl.
const NOT_PROVOKED: [&str; 5] = [
    "cannot open shared object file: Permission denied",
    "failed to map segment from shared object",
    "libc.so: cannot open shared object file",
    "Error loading shared library …",
    "Error relocating …",
];

/// The line of a server that has loaded the module.
const LOADED: &str = "Module 'bf' loaded from …";

/// The lines with the setting, by the beginning of the names of the servers that print them.
const NAMES_THE_SETTING: [(&str, &str); 2] = [
    ("redis-8", "Unresolved Configuration(s) Detected"),
    ("valkey-", "Unused Module Configuration: …"),
];

/// The bold code in the page's list of failed starts.
fn lines_of_failed_starts() -> BTreeSet<String> {
    let page = pages::read(Path::new(PAGE));
    let (_, section) = page.split_once("\n## The server does not start\n").expect("the section");
    let (section, _) = section.split_once("\n## ").expect("a next section");
    let (mut lines, mut is_bold) = (BTreeSet::new(), false);
    for event in Parser::new(section) {
        match event {
            Event::Start(Tag::Strong) => is_bold = true,
            Event::End(TagEnd::Strong) => is_bold = false,
            Event::Code(code) if is_bold => _ = lines.insert(code.into_string()),
            _ => {}
        }
    }
    lines
}

/// True if a line of the log has the text, in which `…` stands for anything. Servers differ in the
/// case of letters.
fn has(log: &str, text: &str) -> bool {
    let text = text.to_lowercase();
    log.to_lowercase().lines().any(|line| {
        let mut rest = Some(line);
        for part in text.split('…') {
            rest = rest.and_then(|rest| Some(rest.split_once(part)?.1));
        }
        rest.is_some()
    })
}

/// Files that no server starts with. They are written once, since the servers start side by side.
struct Files {
    _folder: TempDir,
    /// Each with the line of the page.
    unloadable: Vec<(PathBuf, &'static str)>,
    /// A module that loads, is called `bf`, and has BF.ADD.
    namesake: PathBuf,
}

impl Files {
    fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("bloomline-").tempdir().expect("a folder");
        let write = |name: &str, bytes: &[u8], mode: u32| {
            let path = folder.path().join(name);
            fs::write(&path, bytes).expect("a file");
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("its permissions");
            path
        };
        let whole = fs::read(module()).expect("the module");
        let mut foreign = whole.clone();
        // The field e_machine of the ELF header, with a processor that nobody has.
        foreign[18..20].fill(0xee);
        let missing = "cannot open shared object file: No such file or directory";
        let mut unloadable = vec![
            (folder.path().join("missing.so"), missing),
            (write("foreign.so", &foreign, 0o755), missing),
            (write("private.so", &whole, 0o644), "It does not have execute permissions"),
            (write("page.so", &b"<!doctype html>\n".repeat(100), 0o755), "invalid ELF header"),
            (write("empty.so", b"", 0o755), "file too short"),
            (write("part.so", &whole[..100_000], 0o755), "crashed by signal: 7"),
        ];
        if let Some(musl) = requiring_musl(&whole) {
            // Compilers come with a script for the linker of this name.
            unloadable.push((write("musl.so", &musl, 0o755), "libc.so: invalid ELF header"));
        }
        if let Some(newer) = requiring_another_glibc(whole) {
            unloadable.push((write("newer.so", &newer, 0o755), "version `GLIBC_…' not found"));
        }
        let namesake = CModule::build("modules/other.c", &["NAME=\"bf\""]);
        let namesake = fs::read(namesake.path()).expect("the module");
        let namesake = write("redisbloom.so", &namesake, 0o755);
        Self { _folder: folder, unloadable, namesake }
    }
}

/// The module with the name of the C library that a module for musl has. None if it is for musl.
fn requiring_musl(module: &[u8]) -> Option<Vec<u8>> {
    let (glibc, musl) = (b"\0libc.so.6\0", b"\0libc.so\0\0\0");
    let at = module.windows(glibc.len()).position(|bytes| bytes == glibc)?;
    let mut module = module.to_vec();
    module[at..at + musl.len()].copy_from_slice(musl);
    Some(module)
}

/// The module with one version of glibc replaced by one that does not exist. None if it requires
/// none, as one for musl.
fn requiring_another_glibc(mut module: Vec<u8>) -> Option<Vec<u8>> {
    let at = module.windows(8).position(|bytes| bytes == b"GLIBC_2.")?;
    let length = module[at..].iter().position(|&byte| byte == 0)?;
    let old = module[at..at + length].to_vec();
    module[at + 6] = b'9';
    let new = elf_hash(&module[at..at + length]).to_ne_bytes();
    // The loader compares the hash of the name before the name.
    let old = elf_hash(&old).to_ne_bytes();
    for start in 0..module.len() - 3 {
        if module[start..start + 4] == old {
            module[start..start + 4].copy_from_slice(&new);
        }
    }
    Some(module)
}

/// The hash of symbol versions (System V ABI, chapter 5, Hash Table).
fn elf_hash(name: &[u8]) -> u32 {
    name.iter().fold(0_u32, |hash, &byte| {
        let hash = (hash << 4).wrapping_add(u32::from(byte));
        let high = hash & 0xf000_0000;
        (hash ^ high >> 24) & !high
    })
}

/// An RDB file with one key of a module's type, whose value no module reads.
fn rdb_with(type_name: &str) -> Vec<u8> {
    const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let letters = type_name.chars().map(|letter| LETTERS.find(letter).expect("a letter") as u64);
    let id = letters.fold(0, |id, letter| id << 6 | letter) << 10;
    // A value of a module in database 0, the key k, and the value of no parts.
    let mut file = b"REDIS0009\xfe\0\x07\x01k\x81".to_vec();
    file.extend(id.to_be_bytes());
    file.extend([0, 0xff, 0, 0, 0, 0, 0, 0, 0, 0]);
    file
}

/// The log of a start of such a server with this RDB file.
fn log_with_rdb(kind: &Kind, setup: Setup, file: &[u8]) -> String {
    let mut server = setup.start(kind);
    server.kill();
    fs::write(server.file("dump.rdb"), file).expect("the file");
    server.try_revive(Limits::default()).expect_err("the file is refused").log
}

/// An RDB file with one filter.
fn rdb_with_filter(kind: &Kind) -> Vec<u8> {
    let server = Setup::new().start(kind);
    let mut client = server.resp2();
    assert_eq!(client.ask("BF.ADD k a"), ":1");
    client.ok("SAVE");
    fs::read(server.file("dump.rdb")).expect("the file")
}

fn line_of_loading(path: &Path) -> String {
    format!("loadmodule {}", path.display())
}

/// Every failed start on this server: the line of the page, and the log.
fn failed_starts(kind: &Kind, files: &Files) -> Vec<(&'static str, String)> {
    let log = |setup: Setup| setup.try_start(kind).err().expect("a start that fails");
    let mut starts: Vec<_> = files
        .unloadable
        .iter()
        .map(|(path, line)| (*line, log(Setup::new().bare().line(line_of_loading(path)))))
        .collect();

    let both = [line_of_loading(&module()), line_of_loading(&files.namesake)];
    let ours_first = both.iter().fold(Setup::new().bare(), Setup::line);
    starts.push(("redisbloom.so initialization failed", log(ours_first)));
    let twice = Setup::new().line(line_of_loading(&module_for(kind)));
    starts.push(("this file is loaded already", log(twice)));
    let ours_second = Setup::new().line(&both[1]);
    starts.push(("another module called bf is loaded already", log(ours_second)));

    for (args, line) in [
        ("bf-colour blue", "Unrecognized option '…'"),
        ("bf-redisbloom-replicas yes", "Unrecognized option 'bf-redisbloom-replicas'"),
        ("bf-error-rate x", "Invalid argument for '…'"),
        ("bf-error-rate 2", "'…' must be in the range …"),
        ("bf-error-rate", "Invalid number of arguments passed"),
    ] {
        starts.push((line, log(Setup::new().module_args(args))));
    }
    let names = Setup::new().start(kind).resp2().ask("CONFIG GET *bf-error-rate");
    let has_prefix = !names.contains(" bf-error-rate");
    let right = if has_prefix { "bf.bf-error-rate" } else { "bf-error-rate" };
    if has_prefix {
        // Redis 8 takes any name for that of a module's setting.
        let line = "Bad directive or wrong number of arguments";
        starts.push((line, log(Setup::new().line("bf-error-rate 0.01"))));
    }
    if !kind.is_before_7() {
        // A setting that the module does not have, and one that it has where it is not loaded.
        for (setup, is_loaded) in [
            (Setup::new().line("bf.bloom-fp-rate 0.01"), true),
            (Setup::new().bare().line(format!("{right} 0.01")), false),
        ] {
            let log = log(setup);
            assert_eq!(has(&log, LOADED), is_loaded, "{log}");
            for (product, line) in NAMES_THE_SETTING {
                assert_eq!(has(&log, line), kind.name.starts_with(product), "{line}:\n{log}");
            }
            let line = "Module Configuration detected without loadmodule directive";
            starts.push((line, log));
        }
        let line = "Issue during loading of configuration …";
        starts.push((line, log(Setup::new().line(format!("{right} 2")))));
    }

    let file = rdb_with_filter(kind);
    let filter = "can't load: no matching module type 'MBbloom--'";
    starts.push((filter, log_with_rdb(kind, Setup::new().bare(), &file)));
    let cuckoo = rdb_with("MBbloomCF");
    starts.push(("'MBbloomCF'", log_with_rdb(kind, Setup::new().bare(), &cuckoo)));
    starts.push(("cuckoo filter: not loaded: …", log_with_rdb(kind, Setup::new(), &cuckoo)));
    let bloom = rdb_with("MBbloom--");
    let refused = log_with_rdb(kind, Setup::new(), &bloom);
    assert!(!has(&refused, "Short read"), "{refused}");
    starts.push(("bloom filter: not loaded: …", refused));
    // Without the last bytes of the bits.
    let cut = log_with_rdb(kind, Setup::new(), &file[..file.len() - 12]);
    assert!(has(&cut, "bloom filter: not loaded: the data ends too early"), "{cut}");
    starts.push(("Short read or OOM loading DB", cut));
    for (name, line) in [
        ("CMSk-TYPE", "can't load: no matching module type 'CMSk-TYPE'"),
        ("TopK-TYPE", "'TopK-TYPE'"),
        ("TDIS-TYPE", "'TDIS-TYPE'"),
    ] {
        starts.push((line, log_with_rdb(kind, Setup::new(), &rdb_with(name))));
    }
    let newer = log_with_rdb(kind, Setup::new(), b"REDIS0099\xff\0\0\0\0\0\0\0\0");
    starts.push(("Can't handle RDB format version …", newer));
    let foreign = log_with_rdb(kind, Setup::new(), b"OTHER0099\xff\0\0\0\0\0\0\0\0");
    starts.push(("Wrong signature trying to load DB from file", foreign));
    for (setup, command, line) in [
        (Setup::new().bare(), "BF.ADD", "Unknown command 'BF.…'"),
        (Setup::new().bare(), "CF.ADD", "Unknown command 'CF.…'"),
        (Setup::new(), "TOPK.ADD", "Unknown command 'TOPK.…'"),
    ] {
        let commands = append_only_file(&[[command, "k", "a"]]);
        starts.push((line, log(setup.append_file(commands))));
    }
    starts
}

#[test]
fn every_failed_start_is_on_the_page() {
    let mut listed = lines_of_failed_starts();
    let page = pages::read(Path::new(PAGE));
    for line in NAMES_THE_SETTING.map(|(_, line)| line).into_iter().chain([LOADED]) {
        assert!(page.contains(&format!("`{line}`")), "{line} is not on the page");
    }
    for line in NOT_PROVOKED {
        assert!(listed.remove(line), "{line} is not on the page");
    }
    let files = Files::new();
    let provoked = Mutex::new(BTreeSet::new());
    for_each_server(|kind| {
        for (line, log) in failed_starts(kind, &files) {
            assert!(has(&log, line), "no {line} in\n{log}");
            assert!(listed.contains(line), "{line} is not on the page");
            provoked.lock().expect("no panic").insert(line.to_owned());
        }
    });
    assert_eq!(provoked.into_inner().expect("no panic"), listed);
}

/// Asserts that the page has this line as code, and waits until the log has it.
fn wait_for_line(log: impl Fn() -> String, line: &str) {
    let page = pages::read(Path::new(PAGE));
    assert!(page.contains(&format!("`{line}`")), "{line} is not on the page");
    until(line, || has(&log(), line).then_some(()));
}

#[test]
fn a_replica_without_the_module_is_on_the_page() {
    for_each_server(|kind| {
        let primary = Setup::new().on_tcp().start(kind);
        let mut client = primary.resp2();
        let follow = format!("REPLICAOF 127.0.0.1 {}", primary.port);
        let is_up = |client: &mut Client| client.info("master_link_status") == "up";

        // An empty primary: the replica follows, and lacks every filter.
        let replica = Setup::new().bare().start(kind);
        let mut follower = replica.resp2();
        follower.ok(&follow);
        until("the link to be up", || is_up(&mut follower).then_some(()));
        assert_eq!(client.ask("BF.ADD k a"), ":1");
        wait_for_line(|| replica.log(), "== CRITICAL == … 'unknown command …BF.…");
        assert!(is_up(&mut follower));
        assert_eq!(follower.ask("DBSIZE"), ":0");

        // A full synchronisation with a filter ends it.
        let mut late = Setup::new().bare().start(kind);
        late.resp2().ok(&follow);
        late.wait_for_end();
        wait_for_line(|| late.log(), "can't load: no matching module type 'MBbloom--'");
    });
}
