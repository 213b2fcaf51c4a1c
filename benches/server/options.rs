//! The command line of the bench.

use std::env;
use std::path::PathBuf;

use bloomline_harness::redisbloom;
use lexopt::prelude::*;

use crate::items::Kind;
use crate::result::Result;
use crate::scale::Scale;
use crate::server::newest_redis;
use crate::sizes::Sizes;

/// The options of the user.
#[derive(Debug)]
pub struct Options {
    pub scale: Scale,
    /// Measures how long one call blocks the server, instead of the time per item.
    pub is_blocking: bool,
    /// Measures how long one call of packed items blocks the server.
    pub is_packed: bool,
    /// The sizes of the filters, for `is_blocking`.
    pub sizes: Sizes,
    /// A folder's name in `.servers`, a path, or a command on PATH. By default the newest Redis in
    /// `.servers`; `None` if there is none: `redis-server`.
    pub server: Option<String>,
    /// Rounds per row. The medians are over these.
    pub rounds: u32,
    pub items: Kind,
    /// Only rows whose group or name contains this.
    pub only: Option<String>,
    pub json: PathBuf,
    pub markdown: Option<PathBuf>,
    /// Our module's file, and whether the user named it. A named file must exist.
    pub bloomline: (PathBuf, bool),
    /// The same, built with the feature `scalar`.
    pub scalar: (PathBuf, bool),
    pub baseline: PathBuf,
    /// Other modules with BF.* commands, from PEER=/a.so:/b.so; the fetched RedisBloom without it.
    pub peers: Vec<PathBuf>,
}

const HELP: &str = "\
cargo bench --bench server -- [OPTIONS]
  --quick | --full | --smoke   how much to run (default: quick)
  --blocking       how long one call of each command blocks the server
  --packed         how long one call of packed items blocks the server, by their number
  --sizes LIST     with --blocking: bytes of the filters (default: 1m,100m,1g,4g,10g)
  --server NAME    .servers/NAME/server, a path or a command (default: $SERVER, else
                   the newest Redis of .servers, else redis-server)
  --items KIND     hex40 (40 hex characters, default), bytes20 (20 raw bytes) or hex20
  --rounds N       rounds per row (default: 3 quick, 7 full); with --blocking runs at most (5)
  --only TEXT      only rows whose group or name contains TEXT
  --json FILE      default: bench/server.json in the target folder, with --blocking bench/blocking.json
  --markdown FILE  with --blocking and --packed: write the tables between the markers of that page
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
        let mut options = Options {
            scale: Scale::Smoke,
            is_blocking: false,
            is_packed: false,
            sizes: Sizes::default(),
            server: env::var("SERVER").ok().filter(|name| !name.is_empty()),
            rounds: 0,
            items: Kind::Hex40,
            only: None,
            json: PathBuf::new(),
            markdown: None,
            bloomline: named("BLOOMLINE_SO", root.join("bloomline.so")),
            scalar: named("SCALAR_SO", target.join("scalar/release/libbloomline.so")),
            baseline: named("BASELINE_SO", built_baseline()?).0,
            peers: env::var_os("PEER").map_or_else(
                || redisbloom().into_iter().collect(),
                |paths| env::split_paths(&paths).filter(|path| path != "").collect(),
            ),
        };
        let (mut scale, mut is_cargo_bench) = (None, false);
        let mut parser = lexopt::Parser::from_env();
        while let Some(argument) = parser.next()? {
            match argument {
                Long("bench") => is_cargo_bench = true,
                Long("quick") => scale = Some(Scale::Quick),
                Long("full") => scale = Some(Scale::Full),
                Long("smoke") => scale = Some(Scale::Smoke),
                Long("blocking") => options.is_blocking = true,
                Long("packed") => options.is_packed = true,
                Long("sizes") => options.sizes = parser.value()?.parse()?,
                Long("server") => options.server = Some(parser.value()?.string()?),
                Long("items") => options.items = parser.value()?.parse()?,
                Long("rounds") => options.rounds = parser.value()?.parse()?,
                Long("only") => options.only = Some(parser.value()?.string()?),
                Long("json") => options.json = parser.value()?.into(),
                Long("markdown") => options.markdown = Some(parser.value()?.into()),
                Short('h') | Long("help") => {
                    println!("{HELP}");
                    std::process::exit(0);
                }
                other => return Err(format!("{}\n\n{HELP}", other.unexpected()).into()),
            }
        }
        options.scale = scale.unwrap_or(if is_cargo_bench { Scale::Quick } else { Scale::Smoke });
        if options.rounds == 0 {
            options.rounds = match (options.scale, options.is_blocking || options.is_packed) {
                (Scale::Smoke, _) => 1,
                (_, true) => 5,
                (Scale::Quick, false) => 3,
                (Scale::Full, false) => 7,
            };
        }
        options.server = options.server.or_else(newest_redis);
        if options.json.as_os_str().is_empty() {
            let name = if options.is_blocking { "blocking.json" } else { "server.json" };
            options.json = target.join("bench").join(name);
        }
        Ok(options)
    }

    /// The command line that repeats this run, without paths of this machine.
    pub fn command_line(&self) -> String {
        let file_name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
        let mut line = String::new();
        if !self.peers.is_empty() {
            let names: Vec<String> =
                self.peers.iter().map(|p| file_name(&p.to_string_lossy())).collect();
            line += &format!("PEER={} ", names.join(":"));
        }
        line += "cargo bench --bench server --";
        line += match self.scale {
            Scale::Smoke => " --smoke",
            Scale::Quick => " --quick",
            Scale::Full => " --full",
        };
        if let Some(server) = &self.server {
            line += &format!(" --server {}", file_name(server));
        }
        line += &format!(" --items {} --rounds {}", self.items.name(), self.rounds);
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
