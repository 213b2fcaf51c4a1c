//! A server of the bench, with two connections that return errors instead of panicking: a peer's
//! failure must not end a run.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use bloomline_harness::{Kind, Limits, Setup, poll};
use redis::{Client, Cmd, Connection, FromRedisValue, InfoDict, Value, cmd, from_redis_value};

use crate::result::Result;

/// The deadline of one reply, and of what the server does in the background. Saving four gigabytes
/// takes a minute, and more on a busy machine.
const DEADLINE: Duration = Duration::from_secs(300);

/// A running server with its connections.
pub struct Server {
    pub harness: bloomline_harness::Server,
    pub connection: Connection,
    /// For rows with two clients.
    pub second: Connection,
    kind: Kind,
    setup: Setup,
}

impl Server {
    /// Starts a server.
    ///
    /// # Errors
    /// The last lines of the log, if the server ends.
    pub fn start(kind: &Kind, setup: &Setup) -> Result<Server> {
        let harness = setup.clone().try_start(kind).map_err(|log| end_of(&log))?;
        let (connection, second) = (open(&harness.socket())?, open(&harness.socket())?);
        Ok(Server { harness, connection, second, kind: kind.clone(), setup: setup.clone() })
    }

    /// Replaces the server by a new one without data.
    pub fn renew(&mut self) -> Result<()> {
        self.harness.kill();
        *self = Server::start(&self.kind, &self.setup)?;
        Ok(())
    }

    /// Kills the server and starts it again in the same folder, where it loads its files.
    pub fn restart(&mut self) -> Result<()> {
        self.harness.kill();
        self.harness.try_revive(Limits::default()).map_err(|refusal| end_of(&refusal.log))?;
        let socket = self.harness.socket();
        (self.connection, self.second) = (open(&socket)?, open(&socket)?);
        Ok(())
    }

    /// Runs a line of a command; an empty line does nothing.
    pub fn run(&mut self, line: &str) -> Result<()> {
        match line {
            "" => Ok(()),
            line => Ok(command(line).exec(&mut self.connection)?),
        }
    }

    /// Waits until these fields of INFO are 0.
    pub fn wait_for_zero(&mut self, section: &str, fields: &[&str]) -> Result<()> {
        let ended = poll(DEADLINE, || -> Result<Option<()>> {
            for field in fields {
                if self.info::<u64>(section, field)? != 0 {
                    return Ok(None);
                }
            }
            Ok(Some(()))
        })?;
        let seconds = DEADLINE.as_secs();
        ended.ok_or_else(|| format!("waited {seconds} s for {} to be 0", fields.join(", ")).into())
    }

    /// Waits until a save in the background has ended, and fails if the save did.
    pub fn wait_for_save(&mut self) -> Result<()> {
        self.wait_for_zero("persistence", &["rdb_bgsave_in_progress"])?;
        let status: String = self.info("persistence", "rdb_last_bgsave_status")?;
        if status == "ok" { Ok(()) } else { Err(format!("the save ended with {status}").into()) }
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

    /// Name and version of the module that it has loaded, by MODULE LIST.
    pub fn module(&mut self) -> Result<(String, i64)> {
        let mut modules: Vec<HashMap<String, Value>> =
            cmd("MODULE").arg("LIST").query(&mut self.connection)?;
        // The server's own modules have an empty path.
        modules.retain(|module| {
            !matches!(module.get("path"), Some(Value::BulkString(path)) if path.is_empty())
        });
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
            // A subcommand has separate statistics.
            .find(|(name, _)| name.split('|').next().unwrap_or(name).eq_ignore_ascii_case(&wanted))
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

/// A command from its words.
pub fn command(line: &str) -> Cmd {
    let mut command = Cmd::new();
    line.split_whitespace().for_each(|word| {
        command.arg(word);
    });
    command
}

/// The last lines of a log.
fn end_of(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    let tail = lines.get(lines.len().saturating_sub(8)..).unwrap_or_default();
    format!("the server did not start; the end of its log:\n{}", tail.join("\n"))
}

/// A connection with a deadline for each reply.
fn open(socket: &Path) -> Result<Connection> {
    let connection = Client::open(format!("unix://{}", socket.display()))?.get_connection()?;
    connection.set_read_timeout(Some(DEADLINE))?;
    connection.set_write_timeout(Some(DEADLINE))?;
    Ok(connection)
}
