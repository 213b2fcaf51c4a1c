//! The commands of docs/how-to/migrating-from-valkey-bloom.md, with recorded files in place of the
//! server with valkey-bloom. `moves` follows the recipes under a load.

use std::fs;
use std::path::Path;
use std::process::Command;

use bloomline_harness::{Server, Setup, until};

use super::primary::serve;
use super::servers::{assert_small, facts, folder, for_each_reader, read, unhex};
use crate::moves::page::steps;

const PAGE: &str = "docs/how-to/migrating-from-valkey-bloom.md";
/// The recorded key that stands for `seen` on the page.
const KEY: &str = "a:reserved";

/// The commands under a heading of the page, without comments.
fn commands(heading: &str) -> Vec<String> {
    steps(PAGE, heading).into_iter().map(|step| step.command).collect()
}

/// Runs a command of the page in a shell, with this server for `new`, and returns what it prints.
fn run(server: &Server, command: &str) -> String {
    let cli = format!("{} -s {}", server.kind.cli().display(), server.socket().display());
    let command = command.replace("valkey-cli -h new", &cli).replace(" seen", &format!(" {KEY}"));
    assert!(!command.contains("-h old"), "{command}");
    let output = Command::new("bash").args(["-o", "pipefail", "-c", &command]).output();
    let output = output.expect("bash");
    let shown = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
    assert!(output.status.success() && !shown.contains("ERR"), "{command}: {output:?}");
    shown
}

/// Runs the last command of a section, which shows the number of items.
fn assert_card(server: &Server, command: &str) {
    assert!(command.contains("BF.CARD"), "{command}");
    let info = &facts("small.json")["keys"][format!("0/{KEY}")]["info"];
    assert_eq!(run(server, command), info["Number of items inserted"].to_string(), "{command}");
}

#[test]
fn files_move_as_the_page_says() {
    for_each_reader(|kind| {
        let card = commands("### A file").pop().expect("commands");
        let mut server = Setup::new().start(kind);
        server.kill();
        fs::copy(folder().join("small.rdb"), server.file("dump.rdb")).expect("a copy");
        server.revive();
        assert_card(&server, &card);
        assert_small(&mut server.resp2());
    });
}

#[test]
fn replicas_take_over_as_the_page_says() {
    for_each_reader(|kind| {
        let [follow, state, card] = commands("### Replicas").try_into().expect("three commands");
        let server = Setup::new().start(kind);
        let port = serve(&read("small.rdb"), b"");
        run(&server, &follow.replace("old 6379", &format!("127.0.0.1 {port}")));
        until("the link", || (run(&server, &state) == "master_link_status:up").then_some(()));
        assert_card(&server, &card);
        // The stand-in of the primary does not know FAILOVER: `moves::servers` follows the rest.
        server.resp2().ok("REPLICAOF NO ONE");
        assert_small(&mut server.resp2());
        assert_eq!(server.resp2().ask(&format!("BF.ADD {KEY} later")), ":1");
    });
}

#[test]
fn keys_move_as_the_page_says() {
    for_each_reader(|kind| {
        let [_, copy, card] = commands("### Keys").try_into().expect("three commands");
        let server = Setup::new().debug().start(kind);
        let dump = server.file("seen.dump");
        write_dump(&dump);
        let dumped = format!("(cat {}; echo)", dump.display());
        let restore = copy.replace("valkey-cli -h old --raw DUMP seen", &dumped);
        assert_eq!(run(&server, &restore), "OK");
        assert_card(&server, &card);
        let digest = server.resp2().ask(&format!("DEBUG DIGEST-VALUE {KEY}"));
        let theirs = facts("small.json")["keys"][format!("0/{KEY}")]["digest"].clone();
        assert!(!digest.contains(theirs.as_str().expect("a digest")), "{digest}");
    });
}

/// Writes the recorded payload of the key.
fn write_dump(file: &Path) {
    let dump = facts("small.json")["keys"][format!("0/{KEY}")]["dump"].clone();
    fs::write(file, unhex(dump.as_str().expect("a payload"))).expect("a file");
}
