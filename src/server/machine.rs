//! The memory of the machine.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

/// Memory of the machine or of the control group, whichever is smaller, in bytes; read once.
pub fn bytes() -> u64 {
    static BYTES: OnceLock<u64> = OnceLock::new();
    *BYTES.get_or_init(|| group_bytes().into_iter().fold(physical_bytes(), u64::min))
}

fn physical_bytes() -> u64 {
    // SAFETY: both are plain questions to the system.
    let (pages, size) =
        unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    match (u64::try_from(pages), u64::try_from(size)) {
        (Ok(pages), Ok(size)) => pages.saturating_mul(size),
        _ => u64::MAX,
    }
}

/// The limits of the process's control group and of those above it, of either version.
fn group_bytes() -> Vec<u64> {
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
        // A group without a limit says "max", or a number no machine has.
        limits.extend(texts.filter_map(|text| text.trim().parse::<u64>().ok()));
    }
    limits
}
