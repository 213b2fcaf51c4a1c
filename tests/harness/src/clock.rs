//! Wall clocks of servers, which a test moves while the servers run.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::c_module::CModule;
use super::wait::until;

/// How old the time may be that a server works with: Valkey since 9.1 reads the clock of the system
/// once per millisecond.
const STALE: Duration = Duration::from_millis(2);

/// The wall clock of one or several servers: that of the system, moved by some time.
///
/// A library that the server preloads answers for the system. It moves the wall clock alone: the
/// monotonic clock goes on.
pub struct Clock {
    library: CModule,
    folder: TempDir,
    file: File,
}

impl Clock {
    /// A clock with the time of the system.
    pub fn new() -> Self {
        let folder =
            tempfile::Builder::new().prefix("bloomline-").tempdir().expect("a temporary folder");
        let library = CModule::build("../harness/src/clock.c", &[]);
        let file = File::create(folder.path().join("ahead")).expect("the file of the clock");
        let clock = Self { library, folder, file };
        clock.file.write_all_at(&[0; 16], 0).expect("the file of the clock");
        clock
    }

    /// Lets each reading of the clock move it on by a number of milliseconds.
    pub fn move_by_reading(&self, millis: i64) {
        self.file.write_all_at(&millis.to_ne_bytes(), 8).expect("the file of the clock");
    }

    /// Moves the clock to so many seconds after the system's, or before it.
    pub fn set_ahead(&self, seconds: i64) {
        self.file.write_all_at(&(seconds * 1000).to_ne_bytes(), 0).expect("the file of the clock");
        let start = Instant::now();
        until("the servers to read their clocks again", || (start.elapsed() > STALE).then_some(()));
    }

    /// Seconds after the system's clock.
    pub fn ahead(&self) -> i64 {
        let bytes = fs::read(self.path()).expect("the file of the clock");
        i64::from_ne_bytes(*bytes.first_chunk().expect("eight bytes")) / 1000
    }

    /// Moves the clock on by so many seconds, or back.
    pub fn advance(&self, seconds: i64) {
        self.set_ahead(self.ahead() + seconds);
    }

    /// The variables of a process that has this clock.
    pub(crate) fn variables(&self) -> Vec<(&'static str, PathBuf)> {
        vec![("LD_PRELOAD", self.library.path()), ("BLOOMLINE_CLOCK", self.path())]
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("ahead")
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

/// Gives a process environment variables.
pub(crate) fn set_variables(command: &mut Command, variables: &[(&'static str, PathBuf)]) {
    command.envs(variables.iter().map(|(name, value)| (name, value)));
}
