//! The command line of the bench.

use std::env;
use std::path::PathBuf;

use bloomline_harness::{Kind as Build, find_servers, newest, redisbloom};
use lexopt::prelude::*;

use crate::items::Kind;
use crate::result::Result;
use crate::scale::Scale;

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// The time per item.
    Items,
    /// How long one call blocks the server.
    Latency,
    /// The time per item in large filters, with small and with huge pages.
    Huge,
}

/// The options of the user.
#[derive(Debug)]
pub struct Options {
    pub scale: Scale,
    pub mode: Mode,
    /// The sizes of the filters as the user writes them, for [`Mode::Latency`] and
    /// [`Mode::Huge`]; empty: the default.
    pub sizes: String,
    /// The server; the newest Redis by default.
    pub server: Build,
    /// Rounds per row. The medians are over these.
    pub rounds: u32,
    pub items: Kind,
    /// Only rows whose group or name contains this.
    pub only: Option<String>,
    pub json: PathBuf,
    /// Our module's file, and whether the user named it. A named file must exist.
    pub bloomline: (PathBuf, bool),
    /// The same, built with the feature `scalar`.
    pub scalar: (PathBuf, bool),
    pub baseline: PathBuf,
    /// Other modules with BF.* commands, from PEER=/a.so:/b.so; the fetched RedisBloom without it.
    pub peers: Vec<PathBuf>,
    /// Another build of this module, which is measured beside it, and nothing else is.
    pub before: Option<PathBuf>,
}

const HELP: &str = "\
cargo bench --bench server -- [OPTIONS]
  --quick | --full | --smoke   how much to run (default: quick)
  --latency        how long one call of each command blocks the server
  --huge           the time per item in large filters, with pages of 4 KiB and of 2 MiB
  --sizes LIST     with --latency: bytes of the filters (default: 1m,100m,1g,4g,10g), or
                   largest: only the calls whose time grows with two quantities;
                   with --huge: capacities (default: 1g,4g)
  --server NAME    a folder of .servers (default: $SERVER, else the newest Redis)
  --items KIND     hex40 (40 hex characters, default), bytes20 (20 raw bytes), hex20 or bytes8
  --rounds N       rounds per row (default: 3 quick, 7 full); with --latency runs at most (5)
  --only TEXT      only rows whose group or name contains TEXT
  --before FILE    only this module, and another build of it: make bench-beside
  --json FILE      default: bench/server.json in the target folder
Environment: BLOOMLINE_SO (default ./bloomline.so), SCALAR_SO (default: scalar/release in the target folder),
  BASELINE_SO (default: the built example),
  PEER=/a.so:/b.so (other modules with BF.* commands, each in its own server;
  default: the RedisBloom that `make servers` fetches; PEER= for none)";

impl Options {
    /// Reads the arguments and the environment.
    ///
    /// `cargo bench` passes `--bench`. Without it and without a mode, this is a test target of
    /// `cargo test --all-targets`, which checks only that the bench works.
    pub fn from_args() -> Result<Options> {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let target =
            env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        let named = |variable, otherwise| match env::var_os(variable) {
            Some(path) => (path.into(), true),
            None => (otherwise, false),
        };
        let (mut scale, mut is_cargo_bench, mut mode) = (None, false, Mode::Items);
        let (mut sizes, mut rounds, mut items, mut only) = (String::new(), 0, Kind::Hex40, None);
        let (mut json, mut before) = (target.join("bench/server.json"), None);
        let mut server = env::var("SERVER").ok().filter(|name| !name.is_empty());
        let mut parser = lexopt::Parser::from_env();
        while let Some(argument) = parser.next()? {
            match argument {
                Long("bench") => is_cargo_bench = true,
                Long("quick") => scale = Some(Scale::Quick),
                Long("full") => scale = Some(Scale::Full),
                Long("smoke") => scale = Some(Scale::Smoke),
                Long("latency") => mode = Mode::Latency,
                Long("huge") => mode = Mode::Huge,
                Long("sizes") => sizes = parser.value()?.string()?,
                Long("server") => server = Some(parser.value()?.string()?),
                Long("items") => items = parser.value()?.parse()?,
                Long("rounds") => rounds = parser.value()?.parse()?,
                Long("only") => only = Some(parser.value()?.string()?),
                Long("json") => json = parser.value()?.into(),
                Long("before") => before = Some(PathBuf::from(parser.value()?)),
                Short('h') | Long("help") => {
                    println!("{HELP}");
                    std::process::exit(0);
                }
                other => return Err(format!("{}\n\n{HELP}", other.unexpected()).into()),
            }
        }
        let scale = scale.unwrap_or(if is_cargo_bench { Scale::Quick } else { Scale::Smoke });
        if rounds == 0 {
            rounds = match (scale, mode) {
                (Scale::Smoke, _) => 1,
                (_, Mode::Latency | Mode::Huge) => 5,
                (Scale::Quick, Mode::Items) => 3,
                (Scale::Full, Mode::Items) => 7,
            };
        }
        let kinds = find_servers()?;
        let server = match &server {
            Some(name) => kinds.iter().find(|kind| kind.name == *name),
            None => newest(&kinds, "redis-"),
        };
        Ok(Options {
            scale,
            mode,
            sizes,
            server: server.ok_or("no such server in .servers")?.clone(),
            rounds,
            items,
            only,
            json,
            bloomline: named("BLOOMLINE_SO", root.join("bloomline.so")),
            scalar: named("SCALAR_SO", target.join("scalar/release/libbloomline.so")),
            baseline: named("BASELINE_SO", built_baseline()?).0,
            peers: env::var_os("PEER").map_or_else(
                || redisbloom().into_iter().collect(),
                |paths| {
                    env::split_paths(&paths).filter(|path| !path.as_os_str().is_empty()).collect()
                },
            ),
            before,
        })
    }

    /// The command line that repeats this run, without paths of this machine.
    pub fn command_line(&self) -> String {
        let names = self.peers.iter().map(|path| path.file_name().unwrap_or_default());
        let names: Vec<_> = names.map(|name| name.to_string_lossy()).collect();
        let peers = match (names.is_empty(), self.mode) {
            (false, Mode::Items) => format!("PEER={} ", names.join(":")),
            _ => String::new(),
        };
        let scale = match self.scale {
            Scale::Smoke => "--smoke",
            Scale::Quick => "--quick",
            Scale::Full => "--full",
        };
        let (server, rounds) = (&self.server.name, self.rounds);
        let mut line = format!("{peers}cargo bench --bench server -- {scale} --server {server} ");
        line += &match self.mode {
            Mode::Items => format!("--items {}", self.items.name()),
            Mode::Latency => "--latency".to_owned(),
            Mode::Huge => "--huge".to_owned(),
        };
        line += &format!(" --rounds {rounds}");
        if !self.sizes.is_empty() {
            line += &format!(" --sizes {}", self.sizes);
        }
        if let Some(only) = &self.only {
            line += &format!(" --only {only:?}");
        }
        line
    }
}

/// The path of the example: next to the folder of this program, or in the release folder.
fn built_baseline() -> Result<PathBuf> {
    let program = env::current_exe()?;
    let built = |up| program.ancestors().nth(up).unwrap_or(&program).to_owned();
    let beside = built(2).join("examples/libbaseline.so");
    let released = built(3).join("release/examples/libbaseline.so");
    Ok(if beside.exists() { beside } else { released })
}
