//! A server process of our own: started on a Unix socket in its own folder, pinned to a core, killed when dropped.

use std::env;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use redis::{Client, Connection, InfoDict, cmd};
use tempfile::TempDir;

use crate::Result;

/// How long a server may take to answer its first PING.
const START_DEADLINE: Duration = Duration::from_secs(20);
/// How long one reply may take; a RESERVE or DEL of hundreds of megabytes is well below.
const REPLY_DEADLINE: Duration = Duration::from_secs(60);

/// Which core is whose, so that client and server neither move nor meet.
#[derive(Clone, Copy, Debug)]
pub struct Cores {
    /// None where there is only one core.
    pub server: Option<usize>,
}

impl Cores {
    /// Pins this process to the first core it may use and keeps the second for the servers.
    pub fn pin_client() -> Result<Cores> {
        // SAFETY: a cpu_set_t of zeroes is an empty set, and the call writes within the size we give.
        let (set, status) = unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            let status = libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set);
            (set, status)
        };
        if status != 0 {
            return Err(io::Error::last_os_error().into());
        }
        // SAFETY: the macro reads a bit of the set, and the range ends where the set does.
        let mut usable =
            (0..libc::CPU_SETSIZE as usize).filter(|&core| unsafe { libc::CPU_ISSET(core, &set) });
        let (Some(client), Some(server)) = (usable.next(), usable.next()) else {
            eprintln!("server bench: one core for client and servers, nothing is pinned");
            return Ok(Cores { server: None });
        };
        pin(client)?;
        Ok(Cores { server: Some(server) })
    }
}

/// Pins the calling process to a core.
fn pin(core: usize) -> io::Result<()> {
    // SAFETY: as in `pin_client`; `core` came from a set of the same size.
    let status = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Has the calling process killed when its parent ends: an interrupted bench never gets to its Drops.
fn die_with_parent() -> io::Result<()> {
    // SAFETY: a system call on numbers alone.
    let status = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A running server and the connection to it.
pub struct Server {
    child: Child,
    pub connection: Connection,
    _folder: TempDir,
}

impl Server {
    /// Starts a server with the module file and its arguments (none: a plain server).
    ///
    /// # Errors
    /// Tells what the server last wrote if it ends or answers nothing.
    pub fn start(program: &Path, cores: &Cores, module: &[String]) -> Result<Server> {
        let folder = tempfile::Builder::new().prefix("bloomline-bench-").tempdir()?;
        let (socket, log) = (folder.path().join("socket"), folder.path().join("log"));
        let output = std::fs::File::create(&log)?;
        let mut command = Command::new(program);
        command
            .args(["--port", "0", "--save", "", "--appendonly", "no", "--daemonize", "no"])
            .arg("--unixsocket")
            .arg(&socket)
            .arg("--dir")
            .arg(folder.path())
            .stdin(Stdio::null())
            .stderr(output.try_clone()?)
            .stdout(output);
        if !module.is_empty() {
            command.arg("--loadmodule").args(module);
        }
        let core = cores.server;
        // SAFETY: between fork and exec only async-signal-safe calls are allowed; these are one system call each.
        unsafe {
            command.pre_exec(move || {
                die_with_parent()?;
                core.map_or(Ok(()), pin)
            });
        }
        let mut child =
            command.spawn().map_err(|error| format!("could not start {}: {error}", program.display()))?;
        match connect(&mut child, &socket) {
            Ok(connection) => Ok(Server { child, connection, _folder: folder }),
            Err(error) => {
                end(&mut child);
                let text = std::fs::read_to_string(&log).unwrap_or_default();
                let lines: Vec<&str> = text.lines().collect();
                let tail = lines.get(lines.len().saturating_sub(8)..).unwrap_or_default();
                Err(format!("{error}; its last words:\n{}", tail.join("\n")).into())
            }
        }
    }

    /// Name and version, as `redis 7.0.15`.
    pub fn version(&mut self) -> Result<String> {
        let info: InfoDict = cmd("INFO").arg("server").query(&mut self.connection)?;
        let field = |name| info.get::<String>(name);
        Ok(match (field("valkey_version"), field("redis_version")) {
            (Some(version), _) => format!("valkey {version}"),
            (None, Some(version)) => format!("redis {version}"),
            (None, None) => "unknown server".to_owned(),
        })
    }

    /// Calls and microseconds of a command since the last reset.
    pub fn command_statistics(&mut self, command: &str) -> Result<(u64, u64)> {
        let info: InfoDict = cmd("INFO").arg("commandstats").query(&mut self.connection)?;
        // The server keeps a module's own spelling of a name.
        let wanted = format!("cmdstat_{command}");
        let (_, value) = info
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(&wanted))
            .ok_or_else(|| format!("the server has no statistics of {command}"))?;
        let line: String = redis::from_redis_value(value.clone())?;
        let field = |name: &str| {
            line.split(',')
                .find_map(|part| part.strip_prefix(name)?.strip_prefix('=')?.parse::<u64>().ok())
                .ok_or_else(|| format!("no {name} in the statistics of {command}: {line}"))
        };
        Ok((field("calls")?, field("usec")?))
    }

    /// Page faults of the process so far that needed no disk (`minflt` of proc(5)).
    pub fn page_faults(&self) -> Result<u64> {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // The name in brackets may hold anything; the eighth field after it is ours.
        let after_name = text.rsplit(')').next().unwrap_or_default();
        let field = after_name.split_whitespace().nth(7).ok_or("no minflt in /proc")?;
        Ok(field.parse()?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// Kills a child of ours and waits for it, so that none outlives the bench.
fn end(child: &mut Child) {
    // Errors mean that it has ended already.
    let _ = child.kill();
    let _ = child.wait();
}

/// Asks until the server answers PING, it ends, or the deadline passes.
fn connect(child: &mut Child, socket: &Path) -> Result<Connection> {
    let client = Client::open(format!("unix://{}", socket.display()))?;
    let deadline = Instant::now() + START_DEADLINE;
    loop {
        if let Some(status) = child.try_wait()? {
            return Err(format!("the server ended ({status})").into());
        }
        let answer = client.get_connection().and_then(|mut connection| {
            connection.set_read_timeout(Some(REPLY_DEADLINE))?;
            connection.set_write_timeout(Some(REPLY_DEADLINE))?;
            cmd("PING").query::<String>(&mut connection)?;
            Ok(connection)
        });
        match answer {
            Ok(connection) => return Ok(connection),
            Err(error) if Instant::now() > deadline => {
                return Err(format!("the server answers nothing: {error}").into());
            }
            Err(_) => thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// The server's program: a name in `.servers` (or the folder BLOOMLINE_SERVERS), a path, or a command on PATH.
///
/// Unnamed it is `redis-server`, or where PATH has none the fetched `redis-7.0`.
pub fn program(name: Option<&str>) -> PathBuf {
    let is_on_path = |command: &str| {
        env::var_os("PATH").is_some_and(|path| env::split_paths(&path).any(|dir| dir.join(command).is_file()))
    };
    let name = match name {
        Some(name) => name,
        None if is_on_path("redis-server") => "redis-server",
        None => "redis-7.0",
    };
    let folder = env::var_os("BLOOMLINE_SERVERS")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(".servers"), PathBuf::from);
    let fetched = folder.join(name).join("server");
    if fetched.is_file() { fetched } else { name.into() }
}
