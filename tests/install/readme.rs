//! The commands of README.md. Its sessions are run by `tests/docs`, `make test` is what runs this.

use std::fs;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use bloomline_harness::{Kind, for_newest_servers, free_port, repository, until};

use crate::program::program;

/// A process that is killed at the end.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn readme() -> String {
    fs::read_to_string(repository().join("README.md")).unwrap()
}

/// The blocks of shell commands.
fn blocks() -> Vec<String> {
    let page = readme();
    let rest = page.split("```sh\n").skip(1);
    rest.map(|rest| rest.split_once("```").unwrap().0.to_owned()).collect()
}

/// `scripts/run.sh` with such a server, which `make run` calls.
fn run_on(kind: &Kind, port: u16) -> Command {
    let mut run = program("scripts/run.sh");
    run.env("SERVER", kind.server()).env("PORT", port.to_string()).stdin(Stdio::null());
    run
}

#[test]
fn shell_lines_can_be_typed_as_they_stand() {
    let makefile = fs::read_to_string(repository().join("Makefile")).unwrap();
    let blocks = blocks();
    assert!(!blocks.is_empty());
    for line in blocks.iter().flat_map(|block| block.lines()) {
        let target = line.strip_prefix("make ").and_then(|rest| rest.split(' ').next());
        let target = target.unwrap_or_else(|| panic!("{line} is not a call of make"));
        assert!(makefile.contains(&format!("\n{target}: ")), "make has no {target}");
    }
}

#[test]
fn a_taken_port_ends_make_run_as_in_the_tutorial() {
    const LINE: &str = "Address already in use";
    let page = repository().join("docs/tutorials/first-filter.md");
    assert!(fs::read_to_string(page).unwrap().contains(&format!("`{LINE}`")));
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    for_newest_servers(|kind| {
        let ended = run_on(kind, port).output().unwrap();
        let log = String::from_utf8_lossy(&ended.stdout);
        assert!(!ended.status.success() && log.contains(LINE), "{log}");
    });
}

#[test]
fn the_server_of_make_run_has_the_module() {
    for_newest_servers(|kind| {
        let port = free_port();
        let mut run = run_on(kind, port);
        let port = port.to_string();
        let _server = Killed(run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        until("the server of make run", || {
            let mut client = Command::new(kind.cli());
            let answer = client.args(["-p", &port, "BF.EXISTS", "no-such-key", "user1"]).output();
            (answer.unwrap().stdout == b"0\n").then_some(())
        });
    });
}

#[test]
fn the_readme_fits_120_lines() {
    assert!(readme().lines().count() <= 120);
}
