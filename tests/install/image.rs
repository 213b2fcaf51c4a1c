//! The Dockerfile without a container engine: the test runs its steps in folders that stand for its
//! stages.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use bloomline_harness::{Setup, for_newest_servers};
use parse_dockerfile::{Command, CopyInstruction, Instruction, Source, parse};
use tempfile::TempDir;

use crate::program::{output, program, top};

/// Replaces a build, which takes a minute: cargo reads the package, and the module is copied.
const MAKE: &str = r#"#!/bin/sh
set -e
[ "$1" = build ] || exec "$REAL_MAKE" "$@"
cargo metadata --no-deps --offline --format-version 1 >metadata.json
cp "$BLOOMLINE_SO" bloomline.so
"#;

/// A stage while it is built.
struct Stage {
    root: TempDir,
    work: PathBuf,
}

impl Stage {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let work = root.path().to_owned();
        Stage { root, work }
    }

    /// The path on this machine of a path in the image.
    fn place(&self, path: &str) -> PathBuf {
        match path.strip_prefix('/') {
            Some(path) => self.root.path().join(path),
            None => self.work.join(path),
        }
    }

    /// RUN: absolute paths are taken below the folder of the stage.
    fn run(&self, line: &str, tools: &Path) {
        let root = self.root.path().display();
        let line = line.replace(" /", &format!(" {root}/")).replace("=/", &format!("={root}/"));
        let path = std::env::var("PATH").unwrap();
        let make = output(program("sh").args(["-c", "command -v make"]));
        let mut shell = program("sh");
        shell.args(["-e", "-c", &line]).current_dir(&self.work);
        shell.env("PATH", format!("{}:{path}", tools.display())).env("REAL_MAKE", make.trim());
        output(&mut shell);
    }

    /// COPY of a file of an earlier stage, or of the whole context.
    fn copy(&self, copy: &CopyInstruction, stages: &HashMap<String, Stage>) {
        let [Source::Path(source)] = copy.src.as_slice() else {
            panic!("one path is expected: {copy:?}")
        };
        let to = self.place(&copy.dest.value);
        if let Some(from) = copy.options.iter().find(|option| option.name.value == "from") {
            let stage = &stages[&*from.value.as_ref().expect("a stage").value];
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(stage.place(&source.value), to).unwrap();
        } else {
            assert_eq!(&*source.value, ".", "a part of the context");
            // All files that git does not ignore. Another test compares .dockerignore with
            // .gitignore.
            let list = "git ls-files -z -co --exclude-standard | xargs -0 cp --parents -t \"$0\"";
            output(program("sh").args(["-c", list]).arg(to));
        }
    }
}

#[test]
fn the_dockerfile_ends_in_arguments_that_load_the_module() {
    let tools = tempfile::tempdir().unwrap();
    fs::write(tools.path().join("make"), MAKE).unwrap();
    fs::set_permissions(tools.path().join("make"), fs::Permissions::from_mode(0o755)).unwrap();

    let text = fs::read_to_string(top().join("Dockerfile")).unwrap();
    let file = parse(&text).unwrap();
    let mut stages: HashMap<String, Stage> = HashMap::new();
    let mut arguments = Vec::new();
    for stage in file.stages() {
        let mut building = Stage::new();
        // The image of Redis 8 contains this module, and its entrypoint would load it.
        let rival = building.place("/usr/local/lib/redis/modules/redisbloom.so");
        fs::create_dir_all(rival.parent().unwrap()).unwrap();
        fs::write(&rival, "").unwrap();
        for instruction in stage.instructions {
            match instruction {
                Instruction::Workdir(workdir) => {
                    building.work = building.place(&workdir.arguments.value);
                    fs::create_dir_all(&building.work).unwrap();
                }
                Instruction::Copy(copy) => building.copy(copy, &stages),
                Instruction::Run(run) => match &run.arguments {
                    Command::Shell(line) => building.run(line.value, tools.path()),
                    other => panic!("not a line for a shell: {other:?}"),
                },
                Instruction::Cmd(cmd) => match &cmd.arguments {
                    Command::Exec(words) => {
                        assert!(!rival.exists(), "RedisBloom would be loaded too");
                        arguments = words.value.iter().map(|word| word.value.to_string()).collect();
                    }
                    other => panic!("not a list of arguments: {other:?}"),
                },
                other => panic!("unknown to this test: {other:?}"),
            }
        }
        let name = stage.from.as_.as_ref().map_or("last", |(_, name)| &name.value).to_owned();
        stages.insert(name, building);
    }

    let [option, path] = arguments.as_slice() else {
        panic!("two arguments are expected: {arguments:?}")
    };
    // The entrypoints put the server's name before arguments that begin with a dash.
    let directive = option.strip_prefix("--").expect("an option");
    let line = format!("{directive} {}", stages["last"].place(path).display());
    for_newest_servers(|kind| {
        let server = Setup::new().bare().line(&line).start(kind);
        assert_eq!(server.resp2().ask("BF.ADD bloom foo"), ":1");
    });
}

#[test]
fn documented_build_arguments_exist_in_the_dockerfile() {
    let text = fs::read_to_string(top().join("Dockerfile")).unwrap();
    let file = parse(&text).unwrap();
    let known: Vec<&str> =
        file.global_args().map(|arg| arg.arguments.value.split('=').next().unwrap()).collect();
    let page = fs::read_to_string(top().join("docs/how-to/install.md")).unwrap();
    for mention in [&text, &page].into_iter().flat_map(|text| text.split("--build-arg ").skip(1)) {
        let name = mention.split('=').next().unwrap();
        assert!(known.contains(&name), "{name} is not one of {known:?}");
    }
}

#[test]
fn ignored_files_are_not_sent_to_the_builder() {
    let read = |name: &str| fs::read_to_string(top().join(name)).unwrap();
    let left_out = read(".dockerignore");
    for line in read(".gitignore").lines().filter(|line| !line.starts_with('#')) {
        let pattern = line.trim_matches('/');
        let is_left_out = left_out.lines().any(|line| line.trim_start_matches("**/") == pattern);
        assert!(is_left_out, ".dockerignore lacks {line}");
    }
}
