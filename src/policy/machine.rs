//! The memory of the machine, or of the control group that the server runs in.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use crate::server::system;

/// The physical memory or the limit of the control group, whichever is smaller, in bytes. Read
/// once; `u64::MAX` if neither is known.
pub fn memory() -> u64 {
    static BYTES: OnceLock<u64> = OnceLock::new();
    *BYTES.get_or_init(|| group_limits().into_iter().fold(system::physical_memory(), u64::min))
}

/// The memory limits, in bytes, of the process's control group and of all groups above it, for
/// control groups of version 1 and 2.
fn group_limits() -> Vec<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut limits = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, path) =
            (fields.next(), fields.next(), fields.next().unwrap_or_default());
        let (root, file) = match controllers {
            Some("") => ("/sys/fs/cgroup", "memory.max"),
            Some(names) if names.split(',').any(|name| name == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let own = Path::new(root).join(path.trim_start_matches('/'));
        let levels = own.ancestors().take_while(|level| level.starts_with(root));
        let texts = levels.filter_map(|level| fs::read_to_string(level.join(file)).ok());
        // The file of a group without a limit contains "max", or a number above any memory.
        limits.extend(texts.filter_map(|text| text.trim().parse::<u64>().ok()));
    }
    limits
}
