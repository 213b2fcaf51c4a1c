//! The `redis-cli` sessions in the documentation, run by the command line client of each server.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::pages;
use bloomline_harness::{Server, Setup, for_each_server, matches};

/// A command with the lines of its reply.
type Step = (String, String);

/// The blocks of a page that are marked `redis-cli`, each as its steps.
pub fn sessions(text: &str) -> Vec<Vec<Step>> {
    let block = |block: &str| block.split_once("\n```").expect("the end of a block").0.to_owned();
    text.split("```redis-cli\n").skip(1).map(|rest| steps(&block(rest))).collect()
}

fn steps(block: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in block.lines() {
        let command = line.strip_prefix("127.0.0.1:6379").unwrap_or(line).strip_prefix("> ");
        match (command, steps.last_mut()) {
            (Some(command), _) => steps.push((command.to_owned(), String::new())),
            (None, Some((_, reply))) => *reply += &format!("{line}\n"),
            (None, None) => panic!("a session begins with {line}"),
        }
    }
    steps
}

/// What redis-cli prints for this line in interactive mode.
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
    without_time(String::from_utf8_lossy(&output.stdout).trim_end()).to_owned()
}

/// The reply without the time, such as `(0.52s)`, that redis-cli prints below a slow one.
fn without_time(shown: &str) -> &str {
    let time = shown.rsplit_once('\n').filter(|(_, line)| {
        let seconds = line.strip_prefix('(').and_then(|line| line.strip_suffix("s)"));
        seconds.is_some_and(|seconds| seconds.parse::<f64>().is_ok())
    });
    time.map_or(shown, |(reply, _)| reply)
}

#[test]
fn sessions_in_the_docs_are_what_servers_answer() {
    let pages: Vec<_> =
        pages::all().into_iter().map(|(page, text)| (page, sessions(&text))).collect();
    let count: usize = pages.iter().map(|(_, sessions)| sessions.len()).sum();
    assert!(count >= 39, "only {count} sessions");
    for_each_server(|kind| {
        let server = Setup::new().start(kind);
        for (page, sessions) in &pages {
            for session in sessions {
                server.resp2().ok("FLUSHALL");
                for (command, reply) in session {
                    let (pattern, shown) =
                        (reply.trim_end().replace('…', "<any>"), typed(&server, command));
                    assert!(
                        matches(&pattern, &shown),
                        "{page}: {command}\nexpected {reply}got {shown}"
                    );
                }
            }
        }
    });
}
