//! The commands of a recipe, read from its page and run in a shell against two servers.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use bloomline_harness::{Server, repository, until};

/// What the commands stand for in a test, where hosts are folders of servers.
const TOOLS: &str = r#"
redis-cli() { local host=$2; shift 2; "$CLI" -s "${!host}/socket" "$@"; }
valkey-cli() { redis-cli "$@"; }
scp() { cp "$old/${1##*/}" "$new/"; }
"#;

/// A command with its comment.
#[derive(Debug)]
pub struct Step {
    pub command: String,
    comment: String,
}

impl Step {
    fn new(line: &str) -> Self {
        let (command, comment) = line.split_once(" # ").unwrap_or((line, ""));
        Step { command: command.trim_end().to_owned(), comment: comment.to_owned() }
    }

    /// What its output must have before the next step.
    fn awaited(&self) -> impl Iterator<Item = &str> {
        self.comment.strip_prefix("until ").into_iter().flat_map(|texts| texts.split(", "))
    }

    /// True if programs use the new server from then on.
    pub fn moves_programs(&self) -> bool {
        self.comment == "the clients go to new"
    }
}

/// The lines of the blocks in a language under a heading of a page, up to the next heading.
pub fn lines(page: &str, heading: &str, language: &str) -> Vec<String> {
    let text = fs::read_to_string(repository().join(page)).expect(page);
    let (mut is_under, mut block, mut lines) = (false, None, Vec::new());
    for line in text.lines().map(str::trim) {
        match (block, line.strip_prefix("```")) {
            (None, Some(language)) => block = Some(language),
            (Some(_), Some(_)) => block = None,
            (None, None) if line.starts_with("##") => is_under = line == heading,
            (Some(name), None) if is_under && name == language => lines.push(line.to_owned()),
            _ => {}
        }
    }
    assert!(!lines.is_empty(), "{page} has no block of '{language}' under {heading}");
    lines
}

/// The shell commands under a heading of a page.
pub fn steps(page: &str, heading: &str) -> Vec<Step> {
    lines(page, heading, "sh").iter().map(|line| Step::new(line)).collect()
}

/// The text in backticks that begins like this, under a heading of a page.
pub fn inline(page: &str, heading: &str, start: &str) -> String {
    let text = fs::read_to_string(repository().join(page)).expect(page);
    let section = text.split_once(&format!("\n{heading}\n")).expect(heading).1;
    let section = section.split("\n##").next().unwrap_or_default();
    let code = section.split('`').find(|code| code.starts_with(start));
    code.unwrap_or_else(|| panic!("{page} has no {start} under {heading}")).to_owned()
}

/// The servers that pages call `old` and `new`.
pub struct Hosts {
    pub old: Server,
    pub new: Server,
}

impl Hosts {
    /// Runs a step, again and again until its output has what its comment names.
    pub fn run(&mut self, step: &Step) -> String {
        if let Some(call) = step.command.strip_prefix("ssh ") {
            self.ssh(call);
            return String::new();
        }
        until(&step.command, || {
            let shown = self.shell(&step.command);
            step.awaited().all(|text| shown.contains(text)).then_some(shown)
        })
    }

    /// Runs commands as a service manager of a host does: it stops a server by SIGTERM.
    fn ssh(&mut self, call: &str) {
        let words: Vec<&str> = call.split(' ').collect();
        let server = if words[0] == "old" { &mut self.old } else { &mut self.new };
        match words[1..3] {
            ["systemctl", "stop"] => stop(server),
            ["systemctl", "start"] => server.revive(),
            _ => panic!("ssh {call}"),
        }
    }

    fn shell(&self, command: &str) -> String {
        let mut command = command.replace("old 6379", &format!("127.0.0.1 {}", self.old.port));
        if self.old.kind.is_before_7() {
            command = command.replace("appendonlydir/appendonly.aof.1.base.aof", "appendonly.aof");
        }
        let output = Command::new("bash")
            .args(["-o", "pipefail", "-c", &format!("{TOOLS}{command}")])
            .env("CLI", self.old.kind.cli())
            .envs([("old", folder(&self.old)), ("new", folder(&self.new))])
            .current_dir(folder(&self.old))
            .output()
            .expect("bash");
        let shown = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
        let is_error = shown.split(' ').next().is_some_and(|word| word == "ERR");
        assert!(output.status.success() && !is_error, "{command}: {output:?}");
        shown
    }
}

fn folder(server: &Server) -> PathBuf {
    server.file("")
}

/// Stops a server without any other save than that of its configuration.
pub fn stop(server: &mut Server) {
    server.resp2().send(&["SHUTDOWN"]);
    let status = server.wait_for_end();
    assert!(status.success(), "SHUTDOWN ended with {status}");
}
