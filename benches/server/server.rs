//! One server process of the bench: started on a Unix socket in a folder of its own, pinned to
//! cores, killed when dropped.
//!
//! The tests' `bloomline_harness::Server` has another contract: it panics, is not pinned, and keeps
//! one configuration for all starts. What both need is in that crate.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use bloomline_harness::{Process, find_servers, newest, servers_folder};
use redis::{Client, Connection, FromRedisValue, InfoDict, Value, cmd, from_redis_value};
use tempfile::TempDir;

use crate::cores::CoreSet;
use crate::result::Result;
use crate::wait::until;

/// The deadline of one reply. Saving four gigabytes takes a minute, and more on a busy machine.
const REPLY_DEADLINE: std::time::Duration = std::time::Duration::from_secs(300);

/// A server to start, with a module file and its arguments, or without a module.
#[derive(Clone, Debug)]
pub struct Launch {
    pub program: PathBuf,
    pub cores: CoreSet,
    pub module: Vec<String>,
}

/// A running server with its connections.
pub struct Server {
    launch: Launch,
    folder: TempDir,
    child: Child,
    pub connection: Connection,
    /// For rows with two clients.
    pub second: Connection,
}

impl Launch {
    /// Starts it with further arguments on the command line, for example `["--appendonly", "yes"]`.
    ///
    /// # Errors
    /// The last lines of the log, if the server ends or does not answer.
    pub fn start(&self, settings: &[&str]) -> Result<Server> {
        let folder = tempfile::Builder::new().prefix("bloomline-bench-").tempdir()?;
        let (child, connection, second) = self.spawn(folder.path(), settings)?;
        Ok(Server { launch: self.clone(), folder, child, connection, second })
    }

    fn spawn(&self, folder: &Path, settings: &[&str]) -> Result<(Child, Connection, Connection)> {
        let (socket, log) = (folder.join("socket"), folder.join("log"));
        let output = File::create(&log)?;
        let mut command = Command::new(&self.program);
        command
            .args(["--port", "0", "--save", "", "--daemonize", "no"])
            .arg("--unixsocket")
            .arg(&socket)
            .arg("--dir")
            .arg(folder)
            .args(settings)
            .stdin(Stdio::null())
            .stderr(output.try_clone()?)
            .stdout(output);
        if !self.module.is_empty() {
            command.arg("--loadmodule").args(&self.module);
        }
        let cores = self.cores;
        // SAFETY: only async-signal-safe calls are allowed between fork and exec. Both functions
        // make one system call.
        unsafe {
            command.pre_exec(move || {
                die_with_parent()?;
                cores.pin()
            });
        }
        let mut child = command
            .spawn()
            .map_err(|error| format!("could not start {}: {error}", self.program.display()))?;
        let connections =
            connect(&mut child, &socket).and_then(|first| Ok((first, open(&socket)?)));
        match connections {
            Ok((first, second)) => Ok((child, first, second)),
            Err(error) => {
                end(&mut child);
                let text = std::fs::read_to_string(&log).unwrap_or_default();
                let lines: Vec<&str> = text.lines().collect();
                let tail = lines.get(lines.len().saturating_sub(8)..).unwrap_or_default();
                Err(format!("{error}; the end of its log:\n{}", tail.join("\n")).into())
            }
        }
    }
}

impl Server {
    /// Kills the server and starts it again in the same folder, where it loads its files.
    pub fn restart(&mut self, settings: &[&str]) -> Result<()> {
        end(&mut self.child);
        (self.child, self.connection, self.second) =
            self.launch.spawn(self.folder.path(), settings)?;
        Ok(())
    }

    /// A further connection, for calls after which the server may close it.
    pub fn connect(&self) -> Result<Connection> {
        open(&self.socket())
    }

    /// The process of the server.
    pub fn process(&self) -> Process {
        Process(self.child.id())
    }

    /// The path of its socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    /// The log since the last start.
    pub fn log(&self) -> Result<String> {
        Ok(String::from_utf8_lossy(&std::fs::read(self.folder.path().join("log"))?).into_owned())
    }

    /// One field of INFO.
    pub fn info<T: FromRedisValue>(&mut self, section: &str, field: &str) -> Result<T> {
        let info: InfoDict = cmd("INFO").arg(section).query(&mut self.connection)?;
        info.get(field).ok_or_else(|| format!("INFO {section} has no {field}").into())
    }

    /// Name and version, for example `redis 7.0.15`.
    pub fn version(&mut self) -> Result<String> {
        let info: InfoDict = cmd("INFO").arg("server").query(&mut self.connection)?;
        let field = |name| info.get::<String>(name);
        Ok(match (field("valkey_version"), field("redis_version")) {
            (Some(version), _) => format!("valkey {version}"),
            (None, Some(version)) => format!("redis {version}"),
            (None, None) => "unknown server".to_owned(),
        })
    }

    /// Name and version of its module, by MODULE LIST.
    pub fn module(&mut self) -> Result<(String, i64)> {
        let mut modules: Vec<HashMap<String, Value>> =
            cmd("MODULE").arg("LIST").query(&mut self.connection)?;
        let mut module = modules.pop().ok_or("the server lists no module")?;
        let mut field = |name: &str| module.remove(name).ok_or(format!("no {name} of the module"));
        Ok((from_redis_value(field("name")?)?, from_redis_value(field("ver")?)?))
    }

    /// Calls and microseconds of a command since the last reset.
    pub fn command_statistics(&mut self, command: &str) -> Result<(u64, u64)> {
        let info: InfoDict = cmd("INFO").arg("commandstats").query(&mut self.connection)?;
        // The server keeps the module's spelling of a name.
        let wanted = format!("cmdstat_{command}");
        let (_, value) = info
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(&wanted))
            .ok_or_else(|| format!("the server has no statistics of {command}"))?;
        let line: String = from_redis_value(value.clone())?;
        let field = |name: &str| {
            line.split(',')
                .find_map(|part| part.strip_prefix(name)?.strip_prefix('=')?.parse::<u64>().ok())
                .ok_or_else(|| format!("no {name} in the statistics of {command}: {line}"))
        };
        Ok((field("calls")?, field("usec")?))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// Kills a child process and waits for it, so that none outlives the bench.
fn end(child: &mut Child) {
    // Both calls fail only if the process has already ended.
    let _ = child.kill();
    let _ = child.wait();
}

/// Makes the system kill the calling process when its parent ends, because an interrupted bench
/// does not run its destructors.
fn die_with_parent() -> io::Result<()> {
    // SAFETY: the system call takes only numbers.
    let status = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Connects as soon as the server answers PING, which it does after it has loaded its file.
///
/// # Errors
/// The server ended, or the deadline passed.
fn connect(child: &mut Child, socket: &Path) -> Result<Connection> {
    until("the server to answer", || {
        if let Some(status) = child.try_wait()? {
            return Err(format!("the server ended ({status})").into());
        }
        let Ok(mut connection) = open(socket) else { return Ok(None) };
        Ok(cmd("PING").query::<String>(&mut connection).is_ok().then_some(connection))
    })
}

/// A connection with a deadline for each reply.
fn open(socket: &Path) -> Result<Connection> {
    let connection = Client::open(format!("unix://{}", socket.display()))?.get_connection()?;
    connection.set_read_timeout(Some(REPLY_DEADLINE))?;
    connection.set_write_timeout(Some(REPLY_DEADLINE))?;
    Ok(connection)
}

/// The server's program: a name in `.servers` (or the folder BLOOMLINE_SERVERS), a path, or a
/// command on PATH.
///
/// Without a name it is `redis-server` of PATH.
pub fn program(name: Option<&str>) -> PathBuf {
    let name = name.unwrap_or("redis-server");
    let fetched = servers_folder().join(name).join("server");
    if fetched.is_file() { fetched } else { name.into() }
}

/// The fetched Redis of the highest version; `None` if there is none.
pub fn newest_redis() -> Option<String> {
    let kinds = find_servers().ok()?;
    newest(&kinds, "redis-").map(|kind| kind.name.clone())
}
