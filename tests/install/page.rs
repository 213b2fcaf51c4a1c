//! The commands of docs/how-to/install.md, run in a folder that stands for a system, and those of
//! docs/how-to/production.md.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use bloomline_harness::{Kind, Server, Setup, for_newest_servers, repository};
use tempfile::TempDir;

use crate::archive;
use crate::package;
use crate::program::{output, program};

/// Replacements of the commands of the page, which do not change this machine.
const TOOLS: [(&str, &str); 5] = [
    ("sudo", r#"exec "$@""#),
    ("systemctl", r#"[ "$1" = restart ]"#),
    ("redis-cli", r#"exec "$CLI" -s "$SOCKET" "$@""#),
    ("make", MAKE),
    ("apt-get", r#"verb=$1 && shift 2 && exec "$DPKG" "--$verb" "$@""#),
];

/// The module is built already.
const MAKE: &str = r#"[ "$1" = build ] || exec "$MAKE" -s -C "$TOP" "$@""#;

/// A folder that stands for a system. Its configuration files are empty, and the user's folder
/// holds the files of a release.
pub struct Machine {
    root: TempDir,
}

impl Machine {
    pub fn new() -> Self {
        let machine = Machine { root: tempfile::tempdir().unwrap() };
        let root = machine.root.path();
        for folder in ["bin", "work", "etc/redis", "etc/valkey"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for name in ["redis/redis.conf", "valkey/valkey.conf"] {
            fs::write(root.join("etc").join(name), "").unwrap();
        }
        // The first lines of the configuration in full builds of Redis 8.
        let full = ["redisbloom/redisbloom.so", "redisearch/redisearch.so"]
            .map(|module| format!("loadmodule ./modules/{module}\n"));
        fs::write(root.join("etc/redis/redis-full.conf"), full.concat() + "cf-bucket-size 2\n")
            .unwrap();
        let dpkg = shell_words(&package::dpkg(root));
        for (name, body) in
            TOOLS.into_iter().chain([("dpkg-here", format!("exec {dpkg} \"$@\"").as_str())])
        {
            let path = root.join("bin").join(name);
            fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        machine
    }

    /// Runs a block of the page. `# 1` at the end of a line is the expected output of that line.
    pub fn run(&self, block: &str, server: Option<&Server>) {
        let root = self.root.path();
        let script: String = block
            .lines()
            .map(|line| match line.split_once("  # ") {
                Some((command, answer)) => format!("test \"$({command})\" = '{}'\n", answer.trim()),
                None => format!("{line}\n"),
            })
            .collect();
        let script = ["/usr/lib/redis", "/etc/"].iter().fold(script, |script, path| {
            script.replace(path, &format!("{}{path}", root.display()))
        });
        let make = output(program("sh").args(["-c", "command -v make"]));
        let mut shell = program("bash");
        shell.args(["-euxo", "pipefail", "-c", &script]).current_dir(root.join("work"));
        shell.env(
            "PATH",
            format!("{}:{}", root.join("bin").display(), std::env::var("PATH").unwrap()),
        );
        shell.env("MAKE", make.trim()).env("TOP", repository()).env("DESTDIR", root);
        shell.env("DPKG", root.join("bin/dpkg-here"));
        if let Some(server) = server {
            shell.env("CLI", server.kind.cli()).env("SOCKET", server.socket());
        }
        output(&mut shell);
    }

    /// Starts the server that `systemctl restart` would start: with the module lines of its
    /// configuration.
    fn start(&self, config: &str, kind: &Kind) -> Server {
        let text = fs::read_to_string(self.root.path().join(config)).unwrap();
        let lines = text.lines().filter(|line| line.contains("bloomline"));
        lines.fold(Setup::new().bare(), Setup::line).start(kind)
    }
}

/// A command as a line for a shell. No argument contains a blank or a quote.
fn shell_words(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// The blocks of shell commands under a heading of the page about installing.
fn blocks(heading: &str) -> Vec<String> {
    blocks_of("docs/how-to/install.md", heading)
}

/// The blocks of shell commands under a heading of a page.
fn blocks_of(page: &str, heading: &str) -> Vec<String> {
    let page = fs::read_to_string(repository().join(page)).unwrap();
    let section =
        page.split("\n## ").find_map(|section| section.strip_prefix(heading)).expect("the heading");
    let fences = section.split("```sh\n").skip(1);
    let blocks: Vec<String> =
        fences.map(|rest| rest.split("```").next().unwrap().to_owned()).collect();
    assert!(!blocks.is_empty(), "no commands under {heading}");
    blocks
}

/// Installs as the section describes, starts a server, and checks it as the page describes.
fn follow(heading: &str, config: &str, prepare: impl Fn(&Path, &Kind) -> bool + Sync) {
    for_newest_servers(|kind| {
        let machine = Machine::new();
        if !prepare(machine.root.path(), kind) {
            return;
        }
        for block in blocks(heading) {
            machine.run(&block, None);
        }
        let server = machine.start(config, kind);
        for block in blocks("Check") {
            machine.run(&block, Some(&server));
        }
    });
}

/// The files of a release in the user's folder; false without the tool that builds the package.
fn with_release(root: &Path) -> bool {
    let work = root.join("work");
    package::pack(&work).is_some() && archive::pack(&work).is_file()
}

/// The settings in the configuration have no prefix, which only Redis 8 accepts.
fn with_module(root: &Path, kind: &Kind) -> bool {
    output(program("scripts/install.sh").env("DESTDIR", root));
    kind.name.starts_with("redis-8")
}

#[test]
fn the_package_is_installed_as_documented() {
    for config in ["etc/redis/redis.conf", "etc/valkey/valkey.conf"] {
        follow("Debian and Ubuntu\n", config, |root, _kind| with_release(root));
    }
}

#[test]
fn the_archive_is_installed_as_documented() {
    follow("Any other Linux\n", "etc/redis/redis.conf", |root, _kind| {
        archive::pack(&root.join("work")).is_file()
    });
}

#[test]
fn the_sources_are_installed_as_documented() {
    follow("From source\n", "etc/redis/redis.conf", |_, _| true);
}

#[test]
fn our_module_replaces_the_one_of_redis_8() {
    follow("Redis 8 with its own modules\n", "etc/redis/redis-full.conf", with_module);

    let machine = Machine::new();
    machine.run(&blocks("Redis 8 with its own modules\n")[0], None);
    let config = fs::read_to_string(machine.root.path().join("etc/redis/redis-full.conf")).unwrap();
    assert!(
        config.starts_with(
            "loadmodule ./modules/redisearch/redisearch.so\ncf-bucket-size 2\nloadmodule "
        ),
        "{config}"
    );
    assert_eq!(config.lines().count(), 3, "{config}");
}

#[test]
fn a_documented_removal_deletes_the_module_and_its_line() {
    let machine = Machine::new();
    if !with_release(machine.root.path()) {
        return;
    }
    machine.run(&blocks("Debian and Ubuntu\n")[0], None);
    machine.run(&blocks("Remove\n")[0], None);
    let left = |path: &str| machine.root.path().join(path);
    assert_eq!(fs::read_to_string(left("etc/redis/redis.conf")).unwrap(), "");
    assert!(!left("usr/lib/redis").exists());
}

#[test]
fn documented_backups_hold_the_filters() {
    let blocks = blocks_of("docs/how-to/production.md", "Backup and restore\n");
    let [all, one] = blocks.as_slice() else { panic!("two blocks are expected: {blocks:?}") };
    let (dump, restore) = one.split_once('\n').unwrap();
    for_newest_servers(|kind| {
        let machine = Machine::new();
        let work = machine.root.path().join("work");
        let server = Setup::new().start(kind);
        let mut client = server.resp2();
        assert_eq!(client.ask("BF.ADD seen user1"), ":1");
        machine.run(all, Some(&server));
        machine.run(dump, Some(&server));
        assert_eq!(client.ask("DEL seen"), ":1");
        machine.run(restore, Some(&server));
        assert_eq!(client.ask("BF.EXISTS seen user1"), ":1");

        let restored = Setup::new().line(format!("dir {}", work.display()));
        let restored = restored.line("dbfilename backup.rdb").start(kind);
        assert_eq!(restored.resp2().ask("BF.EXISTS seen user1"), ":1");
    });
}
