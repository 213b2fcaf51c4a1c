//! The session in the README, typed into the server's own command line client.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::harness::{Server, Setup, for_each_server};

const PROMPT: &str = "127.0.0.1:6379> ";

/// The commands of the block marked `redis-cli`, each with the lines below it.
fn transcript() -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let text = fs::read_to_string(&path).unwrap_or_else(|why| panic!("README.md: {why}"));
    let block: String = text
        .lines()
        .skip_while(|line| line.trim() != "```redis-cli")
        .skip(1)
        .take_while(|line| line.trim() != "```")
        .map(|line| format!("{line}\n"))
        .collect();
    let steps: Vec<(String, String)> = block
        .split(PROMPT)
        .skip(1)
        .map(|step| {
            step.split_once('\n').map_or((step.into(), String::new()), |(command, reply)| {
                (command.into(), reply.trim_end().into())
            })
        })
        .collect();
    assert!(!steps.is_empty(), "README.md has no block marked redis-cli");
    steps
}

/// What redis-cli shows a person for this line.
fn typed(server: &Server, line: &str) -> String {
    let mut cli = Command::new(server.kind.cli())
        .args(["--no-raw", "-s"])
        .arg(server.socket())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command line client");
    writeln!(cli.stdin.take().expect("its input"), "{line}").expect("the line");
    let output = cli.wait_with_output().expect("its output");
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

#[test]
fn the_session_in_the_readme_is_what_a_server_answers() {
    let steps = transcript();
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        for (command, reply) in &steps {
            assert_eq!(&typed(&server, command), reply, "{PROMPT}{command}");
        }
    });
}
