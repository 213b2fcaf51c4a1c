//! The columns of a table: one server each, with one module or none.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::process::Command;

use bloomline_harness::{CoreSet, Kind, Setup};
use serde_json::{Value, json};

use crate::dialect::Dialect;
use crate::options::{Mode, Options};
use crate::result::Result;
use crate::server::Server;

/// One column, whose server runs.
pub struct Column {
    pub name: String,
    pub dialect: Dialect,
    /// A row that fails here makes the bench fail. A peer's failure is only reported.
    pub is_ours: bool,
    pub server: Server,
}

impl Column {
    /// True if the module has windowed filters.
    pub fn has_windows(&self) -> bool {
        self.dialect.has_windows()
    }
}

/// A column that is not started yet.
pub struct Planned {
    pub name: String,
    pub dialect: Dialect,
    pub is_ours: bool,
    module: Option<PathBuf>,
    /// Load arguments of the module.
    arguments: &'static str,
}

impl Planned {
    /// True for the modules, without the one that has no vector instructions: these change only
    /// times of commands.
    pub fn is_module(&self) -> bool {
        matches!(self.dialect, Dialect::Bloom { .. }) && self.name != SCALAR
    }

    /// True for modules with windowed filters, which also have BF.COMPACT.
    pub fn has_windows(&self) -> bool {
        self.is_module() && self.dialect.has_windows()
    }

    /// True for this module with its own layout.
    pub fn is_own_layout(&self) -> bool {
        self.name == OURS
    }

    /// True for this module with its own layout, and with that of RedisBloom.
    pub fn is_latency(&self) -> bool {
        self.is_own_layout() || self.name == REDISBLOOM_LAYOUT
    }

    /// Starts its server.
    ///
    /// # Errors
    ///
    /// The module is missing, or the server does not load it.
    pub fn start(&self, kind: &Kind, cores: CoreSet) -> Result<Column> {
        let in_column = |error: &dyn Display| format!("column {}: {error}", self.name);
        let mut setup = Setup::new().bare().debug().on_cores(cores);
        if let Some(path) = &self.module {
            let path = path
                .canonicalize()
                .map_err(|error| in_column(&format!("{}: {error}", path.display())))?;
            setup = setup.line(format!("loadmodule {} {}", path.display(), self.arguments));
        }
        let server = Server::start(kind, &setup).map_err(|error| in_column(&error))?;
        Ok(Column { name: self.name.clone(), dialect: self.dialect, is_ours: self.is_ours, server })
    }

    /// What is known of the module's file, which a server has loaded; none without a module.
    ///
    /// # Errors
    ///
    /// The server does not list it, or `sha256sum` is missing.
    pub fn module(&self, server: &mut Server) -> Result<Option<Value>> {
        let Some(path) = &self.module else { return Ok(None) };
        let (name, version) = server.module()?;
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

/// All columns, the baseline first.
///
/// # Errors
///
/// The baseline is missing. If our modules are missing at their default paths, this only prints a
/// warning: the baselines alone are useful without them.
pub fn plan(options: &Options) -> Result<Vec<Planned>> {
    if options.mode == Mode::Items && !options.baseline.exists() {
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
    let column = |name: &str, dialect, module: Option<&PathBuf>, arguments| Planned {
        name: name.to_owned(),
        dialect,
        is_ours: module.is_some(),
        module: module.cloned(),
        arguments,
    };
    let (module, scalar) = (Some(&options.bloomline.0), Some(&options.scalar.0));
    let baseline =
        |name, hashed| column(name, Dialect::Baseline { hashed }, Some(&options.baseline), "");
    let mut planned = vec![baseline("baseline", false)];
    if options.before.is_none() {
        planned.push(baseline("baseline, hash", true));
    }
    let has_ours = is_there(&options.bloomline, "make build, or BLOOMLINE_SO=");
    if has_ours {
        planned.push(column(OURS, ours, module, ""));
    }
    if let Some(before) = &options.before {
        planned.push(column(BEFORE, ours, Some(before), ""));
        return Ok(planned);
    }
    if is_there(&options.scalar, "make bench builds it") {
        planned.push(column(SCALAR, ours, scalar, ""));
    }
    if has_ours {
        let both = "bf-layout redisbloom cf-layout redisbloom";
        planned.push(column(REDISBLOOM_LAYOUT, redisbloom, module, both));
        let bloom = "bf-layout valkey-bloom";
        planned.push(column("valkey-bloom layout", valkey_bloom, module, bloom));
    }
    for path in &options.peers {
        let name = peer_name(path);
        // The names of further ones end with a number; "redisbloom layout" is none of them.
        let is_namesake = |column: &&Planned| {
            let rest = column.name.strip_prefix(&name);
            rest.is_some_and(|rest| rest.is_empty() || rest.trim().parse::<usize>().is_ok())
        };
        let namesakes = planned.iter().filter(is_namesake).count();
        let name = if namesakes == 0 { name } else { format!("{name} {}", namesakes + 1) };
        planned.push(Planned { is_ours: false, ..column(&name, peer, Some(path), "") });
    }
    planned.push(column("set", Dialect::Set, None, ""));
    planned.push(column("bit string", Dialect::Bits, None, ""));
    Ok(planned)
}

/// The version of the server, and what is known of the modules that the columns have.
///
/// # Errors
///
/// A server does not start, or reports no version.
pub fn describe(planned: &[Planned], kind: &Kind, cores: CoreSet) -> Result<(String, Vec<Value>)> {
    let (mut version, mut modules) = (String::new(), Vec::new());
    for planned in planned {
        let mut column = planned.start(kind, cores)?;
        version = column.server.version()?;
        modules.extend(planned.module(&mut column.server)?);
    }
    Ok((version, modules))
}

/// The column of this module with its own layout.
const OURS: &str = "bloomline";

/// The column of this module with RedisBloom's layout.
const REDISBLOOM_LAYOUT: &str = "redisbloom layout";

/// The column of this module without vector instructions.
const SCALAR: &str = "scalar";

/// The column of another build of this module.
const BEFORE: &str = "before";

/// A peer has the name of its file without `lib` and `.so`.
fn peer_name(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or("peer".as_ref()).to_string_lossy();
    stem.strip_prefix("lib").unwrap_or(&stem).to_owned()
}
