//! The columns of the table: one server each, with one module or none.

use std::path::{Path, PathBuf};
use std::process::Command;

use bloomline_harness::Setup;
use serde_json::{Value, json};

use crate::cores::Cores;
use crate::dialect::Dialect;
use crate::options::Options;
use crate::result::Result;
use crate::server::Server;

/// One column.
pub struct Column {
    pub name: String,
    pub dialect: Dialect,
    /// A row that fails here makes the bench fail. A peer's failure is only reported.
    pub is_ours: bool,
    module: Option<PathBuf>,
    /// How its server is started, for costs that need a server of their own.
    pub setup: Setup,
    pub server: Server,
}

impl Column {
    /// What is known of the module's file that was measured; none without a module.
    ///
    /// # Errors
    ///
    /// The server does not list it, or `sha256sum` is missing.
    pub fn module(&mut self) -> Result<Option<Value>> {
        let Some(path) = &self.module else { return Ok(None) };
        let (name, version) = self.server.module()?;
        let output = Command::new("sha256sum").arg("--").arg(path).output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let sha256 = text.split_whitespace().next().filter(|_| output.status.success());
        let sha256 = sha256.ok_or_else(|| format!("no SHA-256 of {}", path.display()))?;
        Ok(Some(json!({
            "column": self.name,
            "is_peer": !self.is_ours,
            "file": path.file_name().unwrap_or_default().to_string_lossy(),
            // By MODULE LIST.
            "name": name,
            "version": version,
            "sha256": sha256,
        })))
    }
}

/// How a server with this module is started, or without one.
pub fn setup(module: Option<&Path>, arguments: &str) -> Result<Setup> {
    let setup = Setup::new().bare();
    let Some(path) = module else { return Ok(setup) };
    let path = path.canonicalize().map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(setup.line(format!("loadmodule {} {arguments}", path.display())))
}

/// Starts all servers, the baseline first.
///
/// # Errors
///
/// The baseline is missing, a module that the user named is missing or does not load, or there is
/// no server. If our modules are missing at their default paths, this only prints a warning: the
/// baselines alone are useful without them.
pub fn start_all(options: &Options, cores: &Cores) -> Result<Vec<Column>> {
    if !options.baseline.exists() {
        let path = options.baseline.display();
        return Err(
            format!("no baseline at {path}: cargo build --release --example baseline").into()
        );
    }
    let ours = Dialect::Bloom { forgets: true, packs: true, cuckoo: true };
    let redisbloom = Dialect::Bloom { forgets: false, packs: true, cuckoo: true };
    let valkey_bloom = Dialect::Bloom { forgets: false, packs: true, cuckoo: false };
    let peer = Dialect::Bloom { forgets: false, packs: false, cuckoo: true };
    let is_there = |(module, is_named): &(PathBuf, bool), hint| {
        if !module.exists() && !is_named {
            eprintln!("server bench: NO {} ({hint}): ITS COLUMN IS MISSING", module.display());
        }
        module.exists() || *is_named
    };
    let (module, scalar, baseline) = (&options.bloomline.0, &options.scalar.0, &options.baseline);
    let plain = Dialect::Baseline { hashed: false };
    let hashed = Dialect::Baseline { hashed: true };
    let layouts = [
        ("redisbloom layout", redisbloom, "bf-layout redisbloom cf-layout redisbloom"),
        ("valkey-bloom layout", valkey_bloom, "bf-layout valkey-bloom"),
    ];
    let mut planned = vec![
        ("baseline".to_owned(), plain, true, Some(baseline), ""),
        ("baseline, hash".to_owned(), hashed, true, Some(baseline), ""),
    ];
    let has_ours = is_there(&options.bloomline, "make build, or BLOOMLINE_SO=");
    if has_ours {
        planned.push(("bloomline".to_owned(), ours, true, Some(module), ""));
    }
    if let Some(before) = &options.before {
        planned.retain(|(name, ..)| name != "baseline, hash");
        planned.push((BEFORE.to_owned(), ours, true, Some(before), ""));
        return start_planned(planned, options, cores);
    }
    if is_there(&options.scalar, "make bench builds it") {
        planned.push((SCALAR.to_owned(), ours, true, Some(scalar), ""));
    }
    if has_ours {
        let columns = layouts.map(|(name, dialect, arguments)| {
            (name.to_owned(), dialect, true, Some(module), arguments)
        });
        planned.extend(columns);
    }
    for path in &options.peers {
        let name = peer_name(path);
        // The names of further ones end with a number; "redisbloom layout" is none of them.
        let is_namesake = |column: &&(String, _, _, _, _)| {
            let rest = column.0.strip_prefix(&name);
            rest.is_some_and(|rest| rest.is_empty() || rest.trim().parse::<usize>().is_ok())
        };
        let namesakes = planned.iter().filter(is_namesake).count();
        let name = if namesakes == 0 { name } else { format!("{name} {}", namesakes + 1) };
        planned.push((name, peer, false, Some(path), ""));
    }
    planned.push(("set".to_owned(), Dialect::Set, false, None, ""));
    planned.push(("bit string".to_owned(), Dialect::Bits, false, None, ""));
    start_planned(planned, options, cores)
}

/// A column that is not started yet: its name, its commands, whether it is ours, its module and the
/// load arguments.
type Planned<'a> = (String, Dialect, bool, Option<&'a PathBuf>, &'a str);

fn start_planned(planned: Vec<Planned>, options: &Options, cores: &Cores) -> Result<Vec<Column>> {
    let start =
        |(name, dialect, is_ours, module, arguments): (String, _, _, Option<&PathBuf>, &str)| {
            let in_column = |error| format!("column {name}: {error}");
            let setup = setup(module.map(PathBuf::as_path), arguments).map_err(in_column)?;
            let setup = setup.on_cores(cores.of_timed());
            let server = Server::start(&options.server, &setup).map_err(in_column)?;
            Ok(Column { name, dialect, is_ours, module: module.cloned(), setup, server })
        };
    planned.into_iter().map(start).collect()
}

/// The column of this module without vector instructions.
pub const SCALAR: &str = "scalar";

/// The column of another build of this module.
const BEFORE: &str = "before";

/// A peer has the name of its file without `lib` and `.so`.
fn peer_name(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or("peer".as_ref()).to_string_lossy();
    stem.strip_prefix("lib").unwrap_or(&stem).to_owned()
}
