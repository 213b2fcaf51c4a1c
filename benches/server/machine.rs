//! The machine and system of the run. The numbers have no meaning without them.

use std::fs;
use std::process::Command;

use crate::cores::Cores;
use crate::result::Result;

/// The description, as text.
#[derive(Debug)]
pub struct Machine {
    pub cpu: String,
    pub vectors: String,
    pub cores: String,
    pub is_pinned: bool,
    pub memory: String,
    /// The load of the machine at the start of the bench. A high load distorts the times.
    pub load: String,
    pub system: String,
    pub server: String,
    pub date: String,
}

impl Machine {
    /// Reads /proc. `server` is the name and version of the server.
    pub fn describe(server: String, cores: &Cores) -> Result<Machine> {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let flags = field(&cpuinfo, "flags").unwrap_or_default();
        let vectors: Vec<&str> = ["sse4_2", "avx2", "avx512f"]
            .into_iter()
            .filter(|v| flags.split(' ').any(|f| f == *v))
            .collect();
        let kilobytes: u64 = field(&meminfo, "MemTotal")
            .and_then(|text| text.split(' ').next()?.parse().ok())
            .unwrap_or_default();
        let loadavg = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let count = std::thread::available_parallelism().map_or(0, usize::from);
        let online =
            cpuinfo.lines().filter(|line| line.starts_with("processor")).count().max(count);
        Ok(Machine {
            cpu: field(&cpuinfo, "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            vectors: vectors.join(" "),
            cores: match cores.server {
                Some(core) => {
                    format!("{online}, timed servers pinned to core {core}, client to another")
                }
                None => format!("{online}, nothing pinned"),
            },
            is_pinned: cores.server.is_some(),
            memory: format!("{} GiB", (kilobytes + (1 << 19)) >> 20),
            load: loadavg.split(' ').next().unwrap_or_default().to_owned(),
            system: format!("{} {}", std::env::consts::OS, kernel.trim()),
            server,
            date: Command::new("date")
                .args(["-u", "+%Y-%m-%d"])
                .output()
                .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
                .unwrap_or_default(),
        })
    }

    /// True if times of this run are unreliable.
    pub fn is_busy(&self) -> bool {
        !self.is_pinned || self.is_loaded()
    }

    /// True if other work ran at the start of the bench.
    pub fn is_loaded(&self) -> bool {
        // One runnable process is the build that has just ended.
        self.load.parse::<f64>().is_ok_and(|load| load > 1.5)
    }

    /// Everything that is the same for pinned and unpinned servers, in one line.
    pub fn summary(&self) -> String {
        let count = self.cores.split(',').next().unwrap_or_default();
        format!(
            "{}, {count} cores, {}, {}, {}, load {}, {}",
            self.cpu, self.memory, self.system, self.server, self.load, self.date
        )
    }

    /// Names and values, in the order of the document.
    pub fn fields(&self) -> [(&'static str, &str); 8] {
        [
            ("cpu", &self.cpu),
            ("vectors", &self.vectors),
            ("cores", &self.cores),
            ("memory", &self.memory),
            ("load", &self.load),
            ("system", &self.system),
            ("server", &self.server),
            ("date", &self.date),
        ]
    }
}

/// The first `name : value` of a /proc file.
fn field(text: &str, name: &str) -> Option<String> {
    let value = text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    });
    value.filter(|text| !text.is_empty())
}
