//! Finds the servers, one folder each with the executables `server` and `cli`, and runs a test on
//! each of them.

use std::env;
use std::fs;
use std::io::Write;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::{Condvar, Mutex, OnceLock};
use std::thread;

/// One build of one version of a server, for example `redis-7.0` or `valkey-8.1-bundled`.
///
/// The suffix after the version names the build. Builds of one version differ in their allocator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    /// The name of its folder.
    pub name: String,
    folder: PathBuf,
}

impl Kind {
    /// A server in any folder, which must hold an executable `server`, and `cli` if the test uses
    /// it.
    pub fn in_folder(name: &str, folder: &Path) -> Self {
        Kind { name: name.to_owned(), folder: folder.to_owned() }
    }

    /// The server's executable.
    pub fn server(&self) -> PathBuf {
        self.folder.join("server")
    }

    /// The executable of the command line client.
    pub fn cli(&self) -> PathBuf {
        self.folder.join("cli")
    }

    /// Product and version: `redis-8.0` of `redis-8.0` and of `redis-8.0-bundled`.
    pub fn series(&self) -> &str {
        let suffix = self.name.match_indices('-').nth(1);
        suffix.map_or(&self.name, |(start, _)| &self.name[..start])
    }

    /// The numbers of the version: `[8, 0]` of `redis-8.0-bundled`; empty if the name has none.
    fn version(&self) -> Vec<u32> {
        let (_, version) = self.series().split_once('-').unwrap_or_default();
        version.split('.').map_while(|number| number.parse().ok()).collect()
    }

    /// True for Redis before 7.0, in which modules have no booleans, no maps and no settings.
    pub fn is_before_7(&self) -> bool {
        self.name.starts_with("redis-6")
    }

    /// The name of a setting of the module as a directive and in CONFIG. Only Redis 8 takes names
    /// without a prefix.
    pub fn directive(&self, setting: &str) -> String {
        let prefix = if self.name.starts_with("redis-8") { "" } else { "bf." };
        format!("{prefix}{setting}")
    }

    /// True if the pages of the build's allocator are so large, 64 KiB, that active defragmentation
    /// leaves most gaps of a small data set, also those between strings.
    pub fn has_large_pages(&self) -> bool {
        self.name == "redis-7.4"
    }

    /// True if modules can add ACL categories: Redis since 7.4, Valkey since 8.0.
    pub fn has_acl_categories(&self) -> bool {
        !self.is_before_7() && !["redis-7.0", "redis-7.2", "valkey-7.2"].contains(&self.series())
    }
}

/// Runs `test` on one build of every version, at most two servers per processor at a time.
///
/// Of several builds of a version it takes the one with the allocator that is bundled with the
/// server's source. Panics with the names of the servers on which the test failed.
pub fn for_each_server(test: impl Fn(&Kind) + Sync) {
    run_on(&Tier::from_env().of(&one_per_version(kinds()), &quick(kinds())), &test);
}

/// Runs `test` as [`for_each_server`], but in the quick tier on the newest Redis only: for tests
/// that start several servers or take seconds.
pub fn for_each_server_long(test: impl Fn(&Kind) + Sync) {
    let newest: Vec<Kind> = newest(kinds(), "redis-").cloned().into_iter().collect();
    run_on(&Tier::from_env().of(&one_per_version(kinds()), &newest), &test);
}

/// Runs `test` on every build: for behaviour that depends on the allocator.
pub fn for_each_build(test: impl Fn(&Kind) + Sync) {
    run_on(&Tier::from_env().of(kinds(), &quick(kinds())), &test);
}

/// The servers that a run of the tests uses: `BLOOMLINE_TIER` is `quick`, `rest`, or not set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// Those of [`quick`].
    Quick,
    /// All others.
    Rest,
    /// All servers.
    All,
}

impl Tier {
    /// Panics if the variable has another value: a run on all servers would not be noticed.
    fn from_env() -> Self {
        match env::var("BLOOMLINE_TIER").as_deref() {
            Err(_) | Ok("") => Self::All,
            Ok("quick") => Self::Quick,
            Ok("rest") => Self::Rest,
            Ok(other) => panic!("BLOOMLINE_TIER is {other}; it can be quick or rest"),
        }
    }

    /// The servers of a test in this tier, of `all` for which it is meant. `quick` are those of the
    /// quick tier, also if they are not among `all`: a test that runs on one build of each version
    /// runs there on the build of this tier.
    pub fn of(self, all: &[Kind], quick: &[Kind]) -> Vec<Kind> {
        match self {
            Self::Quick => quick.to_vec(),
            Self::Rest => all.iter().filter(|kind| !quick.contains(kind)).cloned().collect(),
            Self::All => all.to_vec(),
        }
    }
}

/// The oldest Redis, the newest Redis and the newest Valkey.
pub fn quick(kinds: &[Kind]) -> Vec<Kind> {
    let mut quick: Vec<Kind> = Vec::new();
    for kind in [oldest(kinds, "redis-"), newest(kinds, "redis-"), newest(kinds, "valkey-")] {
        quick.extend(kind.filter(|kind| !quick.contains(kind)).cloned());
    }
    quick
}

/// One build of each version: the one with the bundled allocator, otherwise the one without a
/// suffix.
pub fn one_per_version(kinds: &[Kind]) -> Vec<Kind> {
    let rank = |kind: &Kind| match kind.name.strip_prefix(kind.series()) {
        Some("-bundled") => 0,
        Some("") => 1,
        _ => 2,
    };
    let is_taken = |kind: &&Kind| {
        let builds = kinds.iter().filter(|other| other.series() == kind.series());
        builds.map(rank).min() == Some(rank(kind))
    };
    kinds.iter().filter(is_taken).cloned().collect()
}

/// Runs `test` on the newest Redis, then on the newest Valkey: for tests that are too expensive for
/// every version.
pub fn for_newest_servers(test: impl Fn(&Kind) + Sync) {
    if Tier::from_env() == Tier::Rest {
        return;
    }
    for product in ["redis-", "valkey-"] {
        if let Some(newest) = newest(kinds(), product) {
            run_on(slice::from_ref(newest), &test);
        }
    }
}

/// The server with the highest version whose name begins with `product`; of several builds of that
/// version, the one without a suffix.
pub fn newest<'a>(kinds: &'a [Kind], product: &str) -> Option<&'a Kind> {
    let of_product = kinds.iter().filter(|kind| kind.name.starts_with(product));
    of_product.max_by_key(|kind| (kind.version(), kind.series() == kind.name))
}

/// The server with the lowest version whose name begins with `product`; of several builds of that
/// version, the one without a suffix.
fn oldest<'a>(kinds: &'a [Kind], product: &str) -> Option<&'a Kind> {
    let of_product = kinds.iter().filter(|kind| kind.name.starts_with(product));
    of_product.min_by_key(|kind| (kind.version(), kind.series() != kind.name))
}

/// Reports that a test was skipped because the server lacks a feature.
///
/// Writes to the standard error stream directly, because the test runner captures `println!`.
pub fn report_missing(kind: &Kind, feature: &str) {
    // One write, so that lines of other threads stand before or behind it.
    let line = format!("NOT TESTED on {}, which lacks: {feature}\n", kind.name);
    let _ = std::io::stderr().write_all(line.as_bytes());
}

fn run_on(kinds: &[Kind], test: &(impl Fn(&Kind) + Sync)) {
    let failed: Vec<String> = thread::scope(|scope| {
        let running: Vec<_> = kinds
            .iter()
            .map(|kind| {
                let run = move || {
                    let _turn = Turn::take();
                    panic::catch_unwind(AssertUnwindSafe(|| test(kind)))
                };
                // Panic messages contain the name of the thread, hence of the server.
                let thread = thread::Builder::new().name(kind.name.clone());
                (kind, thread.spawn_scoped(scope, run).expect("a thread"))
            })
            .collect();
        running
            .into_iter()
            .filter_map(|(kind, run)| {
                run.join().expect("caught above").err().map(|_| kind.name.clone())
            })
            .collect()
    });
    assert!(failed.is_empty(), "failed on {}", failed.join(", "));
}

/// All servers, found once; panics if there are none or a required one is missing.
fn kinds() -> &'static [Kind] {
    static KINDS: OnceLock<Result<Vec<Kind>, String>> = OnceLock::new();
    match KINDS.get_or_init(find_servers) {
        Ok(kinds) => kinds,
        Err(why) => panic!("{why}"),
    }
}

/// The folder of the servers: `BLOOMLINE_SERVERS`, otherwise `.servers` of the repository.
pub fn servers_folder() -> PathBuf {
    env::var_os("BLOOMLINE_SERVERS")
        .map_or_else(|| crate::repository().join(".servers"), PathBuf::from)
}

/// All servers in [`servers_folder`], in the order of their names.
///
/// # Errors
/// There is none, or one of `BLOOMLINE_REQUIRED_SERVERS` is missing.
pub fn find_servers() -> Result<Vec<Kind>, String> {
    let home = servers_folder();
    let mut kinds: Vec<Kind> = fs::read_dir(&home)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| Kind {
            name: entry.file_name().to_string_lossy().into_owned(),
            folder: entry.path(),
        })
        .filter(|kind| kind.server().is_file() && kind.cli().is_file())
        .collect();
    kinds.sort_by(|a, b| a.name.cmp(&b.name));

    let required = env::var("BLOOMLINE_REQUIRED_SERVERS").unwrap_or_default();
    let missing: Vec<&str> = required
        .split_whitespace()
        .filter(|name| !kinds.iter().any(|kind| kind.name == **name))
        .collect();
    if !missing.is_empty() {
        return Err(format!(
            "required servers missing in {}: {}; run `make servers`",
            home.display(),
            missing.join(" ")
        ));
    }
    if kinds.is_empty() {
        return Err(format!("no server in {}; run `make servers`", home.display()));
    }
    Ok(kinds)
}

/// Permission to run one server. There are two per processor: a test waits for its server half of
/// the time, and more servers at a time would only slow each other down.
struct Turn;

static FREE_TURNS: Mutex<Option<usize>> = Mutex::new(None);
static TURN_FREED: Condvar = Condvar::new();

fn all_turns() -> usize {
    2 * thread::available_parallelism().map_or(2, usize::from)
}

impl Turn {
    fn take() -> Self {
        let mut free = FREE_TURNS.lock().expect("never poisoned: nothing panics while holding it");
        while *free == Some(0) {
            free = TURN_FREED.wait(free).expect("never poisoned");
        }
        *free = Some(free.unwrap_or_else(all_turns) - 1);
        Turn
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Ok(mut free) = FREE_TURNS.lock() {
            *free = free.map(|turns| turns + 1);
        }
        TURN_FREED.notify_one();
    }
}
