//! The columns of the table: one server each, with one module or none.

use std::path::{Path, PathBuf};

use crate::Result;
use crate::cores::Cores;
use crate::dialect::Dialect;
use crate::options::Options;
use crate::server::{Launch, Server, program};

/// One column.
pub struct Column {
    pub name: String,
    pub dialect: Dialect,
    /// A row that fails here makes the bench fail; what a peer can't do is only reported.
    pub is_ours: bool,
    /// What its server is, for costs that need one of their own; vector instructions do not change
    /// these.
    pub launch: Launch,
    pub server: Server,
}

/// Starts all servers, the floor first.
///
/// # Errors
/// A missing floor, a module the user named that is missing or does not load, or no server. Our
/// modules missing at their default places are only said loudly: the floors alone are of use while
/// there are none.
pub fn start_all(options: &Options, cores: &Cores) -> Result<Vec<Column>> {
    let program = program(options.server.as_deref());
    let start = |name: &str, dialect, is_ours, module: Option<&Path>, arguments: &[&str]| {
        let in_column = |error: &dyn std::fmt::Display| format!("column {name}: {error}");
        let mut words = Vec::new();
        if let Some(path) = module {
            let path = path
                .canonicalize()
                .map_err(|error| in_column(&format!("{}: {error}", path.display())))?;
            words.push(path.to_string_lossy().into_owned());
            words.extend(arguments.iter().map(|&word| word.to_owned()));
        }
        let launch = Launch { program: program.clone(), cores: cores.of_timed(), module: words };
        let server = launch.start(&[]).map_err(|error| in_column(&error))?;
        Ok::<_, Box<dyn std::error::Error>>(Column {
            name: name.to_owned(),
            dialect,
            is_ours,
            launch,
            server,
        })
    };

    if !options.floor.exists() {
        let path = options.floor.display();
        return Err(format!("no floor at {path}: cargo build --release --example floor").into());
    }
    let mut columns = vec![
        start("baseline", Dialect::Floor { hashed: false }, true, Some(&options.floor), &[])?,
        start("baseline, hash", Dialect::Floor { hashed: true }, true, Some(&options.floor), &[])?,
    ];
    let (module, is_named) = &options.bloomline;
    if module.exists() || *is_named {
        columns.push(start("bloomline", Dialect::Bloom, true, Some(module), &[])?);
    } else {
        eprintln!(
            "server bench: NO bloomline.so HERE (make build, or BLOOMLINE_SO=): ITS COLUMN IS MISSING"
        );
    }
    let (scalar, is_named) = &options.scalar;
    if scalar.exists() || *is_named {
        columns.push(start(SCALAR, Dialect::Bloom, true, Some(scalar), &[])?);
    } else {
        eprintln!(
            "server bench: NO SCALAR BUILD HERE (make bench builds it): ITS COLUMN IS MISSING"
        );
    }
    if module.exists() {
        let arguments = ["bf-layout", "redisbloom"];
        columns.push(start("redisbloom layout", Dialect::Bloom, true, Some(module), &arguments)?);
    }
    for peer in &options.peers {
        let name = peer_name(peer);
        let namesakes = columns.iter().filter(|column| column.name.starts_with(&name)).count();
        let name = if namesakes == 0 { name } else { format!("{name} {}", namesakes + 1) };
        columns.push(start(&name, Dialect::Bloom, false, Some(peer), &[])?);
    }
    columns.push(start("set", Dialect::Set, false, None, &[])?);
    columns.push(start("bit string", Dialect::Bits, false, None, &[])?);
    Ok(columns)
}

/// The column of this module without vector instructions.
pub const SCALAR: &str = "scalar";

/// A peer is called as its file is, without `lib` and `.so`.
fn peer_name(path: &Path) -> String {
    let stem = PathBuf::from(path).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let stem = stem.unwrap_or_else(|| "peer".to_owned());
    stem.strip_prefix("lib").unwrap_or(&stem).to_owned()
}
