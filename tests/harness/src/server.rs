//! One server process, in a folder of its own, on a socket of its own, killed when dropped.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{env, thread};

use memchr::memmem;
use tempfile::TempDir;

use super::build::hash_of_sources;
use super::client::Client;
use super::clock::{Clock, set_variables};
use super::cores::CoreSet;
use super::kinds::{Kind, for_each_build, for_each_server, servers_folder};
use super::limits::Limits;
use super::ports::free_port;
use super::process::Process;
use super::reply::show;
use super::sandbox::forbid_getrandom;
use super::wait::until;

/// The most lines of a server's log that a failed test prints.
const SHOWN_LINES: usize = 300;

/// The configuration of a server.
#[derive(Debug, Clone, Default)]
pub struct Setup {
    lines: Vec<String>,
    options: Vec<String>,
    module_args: String,
    is_on_tcp: bool,
    is_bare: bool,
    is_sandboxed: bool,
    is_debugged: bool,
    files: Vec<(&'static str, Vec<u8>)>,
    cores: Option<CoreSet>,
    variables: Vec<(&'static str, PathBuf)>,
}

impl Setup {
    /// A server with the module, without persistence, only on a Unix socket.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a line to the configuration file, for example `appendonly yes`.
    pub fn line(mut self, line: impl Into<String>) -> Self {
        self.lines.push(line.into());
        self
    }

    /// Passes an option on the command line of the first start, for example `--appendonly yes`.
    pub fn option(mut self, option: &str) -> Self {
        self.options.extend(option.split(' ').map(str::to_owned));
        self
    }

    /// Passes load arguments to the module, after those that are set already.
    pub fn module_args(mut self, args: &str) -> Self {
        self.module_args = format!("{} {args}", self.module_args).trim().to_owned();
        self
    }

    /// Listens on a free loopback port as well, because replicas cannot connect to a Unix socket.
    pub fn on_tcp(mut self) -> Self {
        self.is_on_tcp = true;
        self
    }

    /// Lets the server answer DEBUG, which Redis since 7.0 does only with a setting.
    pub fn debug(mut self) -> Self {
        self.is_debugged = true;
        self
    }

    /// Logs every change to an append-only file, as commands also after a rewrite.
    pub fn append_only(self) -> Self {
        self.line("appendonly yes").line("aof-use-rdb-preamble no")
    }

    /// Starts the server as a replica of another one, which must be [on TCP](Self::on_tcp).
    pub fn follows(self, primary: &Server) -> Self {
        self.line(format!("replicaof 127.0.0.1 {}", primary.port))
    }

    /// Starts the server without the module.
    pub fn bare(mut self) -> Self {
        self.is_bare = true;
        self
    }

    /// Makes `getrandom` fail in the server, until [`Server::revive`].
    pub fn without_getrandom(mut self) -> Self {
        self.is_sandboxed = true;
        self
    }

    /// Runs the server on these cores only, for a bench; it ends with the thread that starts it.
    pub fn on_cores(mut self, cores: CoreSet) -> Self {
        self.cores = Some(cores);
        self
    }

    /// Gives the server a clock that the test moves; it must live as long as the server.
    pub fn clock(mut self, clock: &Clock) -> Self {
        self.variables = clock.variables();
        self
    }

    /// Puts an append-only file into the folder, which the server loads at its start.
    pub fn append_file(mut self, commands: Vec<u8>) -> Self {
        self.files.push(("appendonly.aof", commands));
        self.line("appendonly yes")
    }

    /// Puts an RDB file into the folder, which the server loads at its start.
    pub fn rdb_file(mut self, bytes: Vec<u8>) -> Self {
        self.files.push(("dump.rdb", bytes));
        self
    }

    /// Starts a server of every version, and runs `test` with a connection to each, as
    /// [`for_each_server`].
    pub fn on_each_server(&self, test: impl Fn(Client, Server) + Sync) {
        for_each_server(|kind| {
            let server = self.clone().start(kind);
            test(server.resp2(), server);
        });
    }

    /// The same with every build, as [`for_each_build`].
    pub fn on_each_build(&self, test: impl Fn(Client, Server) + Sync) {
        for_each_build(|kind| {
            let server = self.clone().start(kind);
            test(server.resp2(), server);
        });
    }

    /// Starts the server and waits until it answers; panics with its log if it does not.
    pub fn start(self, kind: &Kind) -> Server {
        self.try_start(kind).unwrap_or_else(|log| panic!("{} did not start:\n{log}", kind.name))
    }

    /// Starts the server and waits until it answers.
    ///
    /// # Errors
    /// The server's log if the server ended, for example because the module refused its arguments.
    pub fn try_start(self, kind: &Kind) -> Result<Server, String> {
        let folder =
            tempfile::Builder::new().prefix("bloomline-").tempdir().expect("a temporary folder");
        for (name, bytes) in &self.files {
            fs::write(folder.path().join(name), bytes).expect(name);
        }
        // Another process can take the free port before the server listens on it.
        let mut tries = 0;
        loop {
            let port = if self.is_on_tcp { free_port() } else { 0 };
            self.write_config(kind, folder.path(), port);
            let prepare = |command: &mut Command| {
                command.args(&self.options);
                Limits::default().put_on_start(command);
                set_variables(command, &self.variables);
                if let Some(cores) = self.cores {
                    cores.pin_on_start(command);
                }
                if self.is_sandboxed {
                    forbid_getrandom(command);
                }
            };
            match spawn(kind, folder.path(), prepare) {
                Ok(child) => {
                    let (kind, cores, variables) = (kind.clone(), self.cores, self.variables);
                    return Ok(Server { kind, folder, child, port, cores, variables });
                }
                Err(refusal) if refusal.log.contains("Address already in use") && tries < 5 => {
                    tries += 1
                }
                Err(refusal) => return Err(refusal.log),
            }
        }
    }

    fn write_config(&self, kind: &Kind, folder: &Path, port: u16) {
        // A link whose replica does not answer for a minute stays: machines may be busy, tests move
        // clocks, and `Replica` answers nothing.
        let mut text = format!(
            "dir {0}\nunixsocket {0}/socket\nport {port}\nbind 127.0.0.1\nsave \"\"\n\
             repl-diskless-sync-delay 0\nrepl-timeout 100000000\n",
            folder.display(),
        );
        if self.is_debugged && !kind.is_before_7() {
            text += "enable-debug-command yes\n";
        }
        for line in &self.lines {
            text += &format!("{line}\n");
        }
        if !self.is_bare {
            let module = module_for(kind);
            text += &format!("loadmodule {} {}\n", module.display(), self.module_args);
        }
        fs::write(folder.join("server.conf"), text).expect("the configuration file");
    }
}

/// What the buffers of a connection take or give back between two readings of `used_memory`.
pub const NOISE: u64 = 64 << 10;

/// How a server is stopped.
#[derive(Debug, Clone, Copy)]
pub enum Stop {
    /// SHUTDOWN SAVE: the server writes the RDB file first.
    Save,
    /// SHUTDOWN NOSAVE: only the append-only file is kept.
    NoSave,
}

/// A running server.
pub struct Server {
    /// The build of the server.
    pub kind: Kind,
    /// The loopback port; 0 if it has none.
    pub port: u16,
    folder: TempDir,
    child: Child,
    cores: Option<CoreSet>,
    variables: Vec<(&'static str, PathBuf)>,
}

impl Server {
    /// Starts a server with the module and these lines of configuration.
    pub fn start(kind: &Kind, lines: &[&str]) -> Self {
        lines.iter().fold(Setup::new(), |setup, line| setup.line(*line)).start(kind)
    }

    /// The path of its Unix socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    /// A connection speaking RESP2.
    pub fn resp2(&self) -> Client {
        Client::connect(&self.socket()).unwrap_or_else(|why| panic!("{}: {why}", self.kind.name))
    }

    /// Deletes all keys; returns the bytes that `used_memory` falls by, to within [`NOISE`].
    ///
    /// All other connections must be closed or end soon. Nothing happens between the two readings,
    /// and the buffers of a new connection are small. While keys are created, the server's own
    /// buffers change by more.
    pub fn freed_by_flushall(&self) -> u64 {
        let mut client = self.resp2();
        client.wait_for("connected_clients", "1");
        let before = client.info_number("used_memory");
        client.ok("FLUSHALL SYNC");
        before.saturating_sub(client.info_number("used_memory"))
    }

    /// A connection speaking RESP3.
    pub fn resp3(&self) -> Client {
        let mut client = self.resp2();
        let hello = show(&client.call("HELLO 3"));
        assert!(hello.starts_with("%{"), "HELLO 3 returned {hello}");
        client
    }

    /// Replaces a text in the configuration file, for the next start.
    pub fn edit_config(&self, from: &str, to: &str) {
        let path = self.folder.path().join("server.conf");
        let text = fs::read_to_string(&path).expect("the configuration file");
        assert!(text.contains(from), "no {from} in\n{text}");
        fs::write(path, text.replacen(from, to, 1)).expect("the configuration file");
    }

    /// Everything the server has logged.
    pub fn log(&self) -> String {
        read_log(self.folder.path())
    }

    /// Bytes of physical memory that the process holds now, as the system reports it. The number
    /// in INFO is sampled at intervals.
    pub fn resident(&self) -> u64 {
        self.process().resident().expect("a running process")
    }

    /// Its process, as the system reports it.
    pub fn process(&self) -> Process {
        Process(self.pid())
    }

    /// True while the process has not ended.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Kills the process with SIGKILL: the server saves nothing and closes no connection properly.
    pub fn kill(&mut self) {
        // Both calls fail only if the process has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Starts a killed server again in the same folder with the same configuration.
    pub fn revive(&mut self) {
        if let Err(Refusal { log, .. }) = self.try_revive(Limits::default()) {
            panic!("{} did not start again:\n{log}", self.kind.name);
        }
    }

    /// The same under limits, for a server that may not start.
    ///
    /// # Errors
    /// How the process ended, and what it logged during this start.
    pub fn try_revive(&mut self, limits: Limits) -> Result<(), Refusal> {
        let before = self.log().len();
        let prepare = |command: &mut Command| {
            limits.put_on_start(command);
            set_variables(command, &self.variables);
            if let Some(cores) = self.cores {
                cores.pin_on_start(command);
            }
        };
        match spawn(&self.kind, self.folder.path(), prepare) {
            Ok(child) => {
                self.child = child;
                Ok(())
            }
            Err(mut refusal) => {
                refusal.log.drain(..before);
                Err(refusal)
            }
        }
    }

    /// Waits until the process has ended by itself, and returns its exit status.
    pub fn wait_for_end(&mut self) -> ExitStatus {
        until("the server to end", || self.child.try_wait().expect("our own child"))
    }

    /// Applies limits to the running process; [`Limits::default`] lifts them.
    pub fn limit(&self, limits: Limits) {
        limits.put_on(self.pid());
    }

    /// The id of its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// A file in its folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The bytes of its append-only file: from Redis 7.0 on of several files, in the order of a
    /// manifest.
    pub fn read_append_file(&self) -> Vec<u8> {
        let read = |name: &str| fs::read(self.file(name)).expect("the append-only file");
        let Ok(manifest) = fs::read_to_string(self.file("appendonlydir/appendonly.aof.manifest"))
        else {
            return read("appendonly.aof");
        };
        // Such as `file appendonly.aof.1.base.aof seq 1 type b`. Those of type `h` are replaced.
        let current = manifest.lines().filter(|line| !line.ends_with(" type h"));
        let name =
            |line: &str| format!("appendonlydir/{}", line.split(' ').nth(1).expect("a name"));
        current.flat_map(|line| read(&name(line))).collect()
    }

    /// Stops the server and starts it again in the same folder with the same configuration.
    pub fn restart(&mut self, stop: Stop) {
        let how = match stop {
            Stop::Save => "SAVE",
            Stop::NoSave => "NOSAVE",
        };
        // A successful shutdown closes the connection without a reply. A refused one fails at the
        // deadline below.
        self.resp2().send(&["SHUTDOWN", how]);
        let status = self.wait_for_end();
        assert!(status.success(), "SHUTDOWN {how} ended with {status}");
        self.revive();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        if thread::panicking() {
            let log = self.log();
            // After hours there are many lines. The last ones matter, including a crash report.
            let lines: Vec<&str> = log.lines().collect();
            let last = &lines[lines.len().saturating_sub(SHOWN_LINES)..];
            eprintln!(
                "--- log of {}, {} of {} lines\n{}",
                self.kind.name,
                last.len(),
                lines.len(),
                last.join("\n")
            );
        }
    }
}

/// The module under test: `BLOOMLINE_SO`, otherwise `bloomline.so` of the repository. It is built
/// from the sources of the repository.
pub fn module() -> PathBuf {
    let path = env::var_os("BLOOMLINE_SO")
        .map_or_else(|| crate::repository().join("bloomline.so"), PathBuf::from);
    checked(&path, "make build")
}

/// The whole path of a module that `command` builds: it must have the hash of the present sources.
fn checked(path: &Path, command: &str) -> PathBuf {
    static CHECKED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
    let whole = fs::canonicalize(path)
        .unwrap_or_else(|why| panic!("no module at {}: {why}; run `{command}`", path.display()));
    let mut checked = CHECKED.lock().unwrap_or_else(PoisonError::into_inner);
    if !checked.contains(&whole) {
        let content = fs::read(&whole).expect("the module");
        let hash = hash_of_sources(&crate::repository()).expect("the sources of the module");
        let has_hash = memmem::find(&content, hash.as_bytes()).is_some();
        assert!(has_hash, "{} is not built from these sources: run `{command}`", path.display());
        checked.push(whole.clone());
    }
    whole
}

/// The module under test on a server: the one with the debug allocator, `BLOOMLINE_AUDIT_SO`, on
/// the server that `BLOOMLINE_AUDITED` names, otherwise [`module`].
pub fn module_for(kind: &Kind) -> PathBuf {
    let is_audited = env::var("BLOOMLINE_AUDITED").is_ok_and(|name| name == kind.name);
    match env::var_os("BLOOMLINE_AUDIT_SO") {
        Some(path) if is_audited => checked(Path::new(&path), "make test"),
        _ => module(),
    }
}

/// The module file of RedisBloom, the peer of tests and benches: `BLOOMLINE_REDISBLOOM`, otherwise
/// the one that `make servers` puts beside `redis-7.4`. `None` if there is no such file.
pub fn redisbloom() -> Option<PathBuf> {
    let path = env::var_os("BLOOMLINE_REDISBLOOM")
        .map_or_else(|| servers_folder().join("redis-7.4/redisbloom.so"), PathBuf::from);
    fs::canonicalize(path).ok()
}

fn read_log(folder: &Path) -> String {
    String::from_utf8_lossy(&fs::read(folder.join("server.log")).unwrap_or_default()).into_owned()
}

/// How long a server may check a file that it has refused. The files of these tests take
/// milliseconds.
const CHECK_TAKES: Duration = Duration::from_secs(5);

/// A start that failed.
#[derive(Debug)]
pub struct Refusal {
    /// How the process ended.
    pub status: ExitStatus,
    /// True if the server refused a file, and then its own check of that file did not end, so that
    /// the harness killed it.
    ///
    /// The check loops if the file ends between two numbers of a module's value.
    pub is_stuck: bool,
    /// What the server logged.
    pub log: String,
}

/// True if the log of a start shows that the server has refused its file and now checks it.
///
/// Redis 6.2 writes the line about the check into a buffer, so that the line is not in the log
/// while the check runs.
fn checks_its_file(log: &str) -> bool {
    ["Checking RDB file", "Internal error in RDB"].iter().any(|line| log.contains(line))
}

/// A process that is killed if the test fails before it has started.
struct Starting(Option<Child>);

impl Drop for Starting {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            // Both fail only if it has ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Starts the process after `prepare` has set its limits, and waits until it answers PING.
fn spawn(kind: &Kind, folder: &Path, prepare: impl Fn(&mut Command)) -> Result<Child, Refusal> {
    let log = File::options()
        .create(true)
        .append(true)
        .open(folder.join("server.log"))
        .expect("the log file");
    let mut command = Command::new(kind.server());
    command
        .arg(folder.join("server.conf"))
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("a second handle"))
        .stderr(log);
    prepare(&mut command);
    let (start, before, mut is_stuck) = (Instant::now(), read_log(folder).len(), false);
    let child = command.spawn().unwrap_or_else(|why| panic!("{}: {why}", kind.server().display()));
    let mut starting = Starting(Some(child));
    let ended = until("the server to answer PING", || {
        let child = starting.0.as_mut().expect("it has not been taken");
        if let Some(status) = child.try_wait().expect("our own child") {
            return Some(Some(status));
        }
        if start.elapsed() > CHECK_TAKES && checks_its_file(&read_log(folder)[before..]) {
            is_stuck = true;
            child.kill().expect("our own child");
            return Some(Some(child.wait().expect("our own child")));
        }
        Client::pong_from(&folder.join("socket")).then_some(None)
    });
    match ended {
        None => Ok(starting.0.take().expect("it has not been taken")),
        Some(status) => Err(Refusal { status, is_stuck, log: read_log(folder) }),
    }
}
