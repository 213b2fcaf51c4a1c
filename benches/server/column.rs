//! The columns of the table: one server each, with one module or none.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cores::Cores;
use crate::dialect::Dialect;
use crate::options::Options;
use crate::result::Result;
use crate::server::{Launch, Server, program};

/// One column.
pub struct Column {
    pub name: String,
    pub dialect: Dialect,
    /// A row that fails here makes the bench fail. A peer's failure is only reported.
    pub is_ours: bool,
    /// The launch of its server, for costs that need a server of their own. Vector instructions do
    /// not change these costs.
    pub launch: Launch,
    pub server: Server,
}

/// The module of a column: what is known of the file that was measured.
pub struct Module {
    pub column: String,
    pub is_peer: bool,
    pub file: String,
    /// By MODULE LIST.
    pub name: String,
    pub version: i64,
    /// Hexadecimal.
    pub sha256: String,
}

impl Column {
    /// The module of the column; none without one.
    ///
    /// # Errors
    ///
    /// The server does not list it, or `sha256sum` is missing.
    pub fn module(&mut self) -> Result<Option<Module>> {
        let Some(path) = self.launch.module.first() else { return Ok(None) };
        let (name, version) = self.server.module()?;
        let output = Command::new("sha256sum").arg("--").arg(path).output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let sha256 = text.split_whitespace().next().filter(|_| output.status.success());
        let file = Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Some(Module {
            column: self.name.clone(),
            is_peer: !self.is_ours,
            file,
            name,
            version,
            sha256: sha256.ok_or_else(|| format!("no SHA-256 of {path}"))?.to_owned(),
        }))
    }
}

/// Starts all servers, the baseline first.
///
/// # Errors
///
/// The baseline is missing, a module that the user named is missing or does not load, or there is no
/// server. If our modules are missing at their default paths, this only prints a warning: the
/// baselines alone are useful without them.
pub fn start_all(options: &Options, cores: &Cores) -> Result<Vec<Column>> {
    let program = program(options.server.as_deref());
    let start = |name: &str, dialect, is_ours, module: Option<&Path>, arguments: &[&str]| {
        let in_column = |error: &dyn std::fmt::Display| format!("column {name}: {error}");
        let mut load = Vec::new();
        if let Some(path) = module {
            let path = path
                .canonicalize()
                .map_err(|error| in_column(&format!("{}: {error}", path.display())))?;
            load.push(path.to_string_lossy().into_owned());
            load.extend(arguments.iter().map(|&word| word.to_owned()));
        }
        let launch = Launch { program: program.clone(), cores: cores.of_timed(), module: load };
        let server = launch.start(&[]).map_err(|error| in_column(&error))?;
        Ok::<_, Box<dyn std::error::Error>>(Column {
            name: name.to_owned(),
            dialect,
            is_ours,
            launch,
            server,
        })
    };

    if !options.baseline.exists() {
        let path = options.baseline.display();
        return Err(
            format!("no baseline at {path}: cargo build --release --example baseline").into()
        );
    }
    let mut columns = vec![
        start("baseline", Dialect::Baseline { hashed: false }, true, Some(&options.baseline), &[])?,
        start(
            "baseline, hash",
            Dialect::Baseline { hashed: true },
            true,
            Some(&options.baseline),
            &[],
        )?,
    ];
    let (module, is_named) = &options.bloomline;
    if module.exists() || *is_named {
        columns.push(start(
            "bloomline",
            Dialect::Bloom { forgets: true, packs: true },
            true,
            Some(module),
            &[],
        )?);
    } else {
        eprintln!(
            "server bench: NO bloomline.so HERE (make build, or BLOOMLINE_SO=): ITS COLUMN IS MISSING"
        );
    }
    let (scalar, is_named) = &options.scalar;
    if scalar.exists() || *is_named {
        columns.push(start(
            SCALAR,
            Dialect::Bloom { forgets: true, packs: true },
            true,
            Some(scalar),
            &[],
        )?);
    } else {
        eprintln!(
            "server bench: NO SCALAR BUILD HERE (make bench builds it): ITS COLUMN IS MISSING"
        );
    }
    if module.exists() {
        let arguments = ["bf-layout", "redisbloom", "cf-layout", "redisbloom"];
        columns.push(start(
            "redisbloom layout",
            Dialect::Bloom { forgets: false, packs: true },
            true,
            Some(module),
            &arguments,
        )?);
    }
    for peer in &options.peers {
        let name = peer_name(peer);
        // The names of further ones end with a number; "redisbloom layout" is none of them.
        let is_namesake = |column: &&Column| {
            let rest = column.name.strip_prefix(&name);
            rest.is_some_and(|rest| rest.is_empty() || rest.trim().parse::<usize>().is_ok())
        };
        let namesakes = columns.iter().filter(is_namesake).count();
        let name = if namesakes == 0 { name } else { format!("{name} {}", namesakes + 1) };
        columns.push(start(
            &name,
            Dialect::Bloom { forgets: false, packs: false },
            false,
            Some(peer),
            &[],
        )?);
    }
    columns.push(start("set", Dialect::Set, false, None, &[])?);
    columns.push(start("bit string", Dialect::Bits, false, None, &[])?);
    Ok(columns)
}

/// The column of this module without vector instructions.
pub const SCALAR: &str = "scalar";

/// A peer has the name of its file without `lib` and `.so`.
fn peer_name(path: &Path) -> String {
    let stem = PathBuf::from(path).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let stem = stem.unwrap_or_else(|| "peer".to_owned());
    stem.strip_prefix("lib").unwrap_or(&stem).to_owned()
}
