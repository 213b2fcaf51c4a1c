//! The machine and system of the run. The numbers have no meaning without them.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

/// What a run records of its machine.
pub struct Machine {
    /// Names and texts.
    pub fields: Value,
    /// True if times of this run are unreliable.
    pub is_busy: bool,
}

impl Machine {
    /// Reads /proc. `server` is the name and version of the server, `pinned` the core of servers
    /// whose commands are timed.
    pub fn describe(server: String, pinned: Option<usize>) -> Machine {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let (cpuinfo, meminfo) = (read("/proc/cpuinfo"), read("/proc/meminfo"));
        let flags = field(&cpuinfo, "flags").unwrap_or_default();
        let mut vectors = vec!["sse4_2", "avx2", "avx512f"];
        vectors.retain(|v| flags.split(' ').any(|f| f == *v));
        let kilobytes: u64 = field(&meminfo, "MemTotal")
            .and_then(|text| text.split(' ').next()?.parse().ok())
            .unwrap_or_default();
        let load = read("/proc/loadavg").split(' ').next().unwrap_or_default().to_owned();
        let count = std::thread::available_parallelism().map_or(0, usize::from);
        let online =
            cpuinfo.lines().filter(|line| line.starts_with("processor")).count().max(count);
        let cores = match pinned {
            Some(core) => format!("timed servers pinned to core {core}, client to another"),
            None => "nothing pinned".to_owned(),
        };
        let date = Command::new("date").args(["-u", "+%Y-%m-%d"]).output();
        let date = date.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        // One runnable process is the build that has just ended.
        let is_loaded = load.parse::<f64>().is_ok_and(|load| load > 1.5);
        let fields = json!({
            "cpu": field(&cpuinfo, "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            "vectors": vectors.join(" "),
            "cores": format!("{online}, {cores}"),
            "memory": format!("{} GiB", (kilobytes + (1 << 19)) >> 20),
            "load": load,
            "system": format!("{} {}", std::env::consts::OS, read("/proc/sys/kernel/osrelease").trim()),
            "server": server,
            "date": date.unwrap_or_default(),
        });
        Machine { fields, is_busy: is_loaded || pinned.is_none() }
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
