//! The commands of README.md. Its sessions are run by `tests/docs`, `make test` is what runs this.

use std::fs;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use bloomline_harness::{for_newest_servers, repository, until};

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

#[test]
fn the_server_of_make_run_has_the_module() {
    let block = blocks().into_iter().find(|block| block.contains("make run ")).expect("make run");
    assert!(block.starts_with("git clone "), "{block}");
    for_newest_servers(|kind| {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port().to_string();
        drop(free);
        let mut run = program("scripts/run.sh");
        run.env("SERVER", kind.server()).env("PORT", &port).stdin(Stdio::null());
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
