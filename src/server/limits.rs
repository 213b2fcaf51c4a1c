//! How much memory a client may make a filter take.

use std::ffi::{CStr, c_int};
use std::fs;
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;

use redis_module::raw::{
    REDISMODULE_CTX_FLAGS_LOADING, REDISMODULE_CTX_FLAGS_REPLICATED, REDISMODULE_CTX_FLAGS_SLAVE,
};

use super::api::api;
use super::reply::Context;
use super::setting;

/// Bytes of a layer from which `maxmemory` is looked at: reading it costs what writing as many bytes does.
const LARGE_LAYER: u64 = 1 << 20;

impl Context {
    /// Whether the call comes from a primary or an append-only file, whose word is law.
    pub fn is_obeyed(self) -> bool {
        // SAFETY: the context is valid.
        let flags = unsafe { api!(RedisModule_GetContextFlags)(self.as_ptr()) } as u32;
        flags & (REDISMODULE_CTX_FLAGS_REPLICATED | REDISMODULE_CTX_FLAGS_LOADING) != 0
    }

    /// Whether a client's call may add a layer of `layer_bytes`, which makes a filter of `filter_bytes`.
    pub fn may_grow(self, layer_bytes: u64, filter_bytes: u64) -> bool {
        filter_bytes <= max_filter_bytes() && (layer_bytes < LARGE_LAYER || self.fits_maxmemory(layer_bytes))
    }

    /// A large layer must fit what `maxmemory` leaves if nothing is evicted for it, or half of `maxmemory` else.
    ///
    /// The server itself looks at the memory before a command only, so that one BF.RESERVE could take any amount.
    fn fits_maxmemory(self, layer_bytes: u64) -> bool {
        let (mut used, mut max, mut evicts) = (0, 0, false);
        // SAFETY: the context is valid, the section and the fields end with a zero byte, the answer is freed once,
        // and the policy's text is read before.
        unsafe {
            let info = api!(RedisModule_GetServerInfo)(self.as_ptr(), c"memory".as_ptr());
            let number = |field: &CStr| {
                let mut error: c_int = 0;
                api!(RedisModule_ServerInfoGetFieldUnsigned)(info, field.as_ptr(), &mut error)
            };
            if !info.is_null() {
                used = number(c"used_memory");
                max = number(c"maxmemory");
                let policy = api!(RedisModule_ServerInfoGetFieldC)(info, c"maxmemory_policy".as_ptr());
                evicts = !policy.is_null() && CStr::from_ptr(policy) != c"noeviction";
                api!(RedisModule_FreeServerInfo)(self.as_ptr(), info);
            }
        }
        let allowed = if evicts { max / 2 } else { max.saturating_sub(used) };
        max == 0 || layer_bytes <= allowed
    }
}

/// Whether a filter of so many bytes may come in by RESTORE: what the machine has not got is refused.
///
/// A file at start and a primary's data set are not judged by size; a server that refuses them does not start.
pub fn may_load(filter_bytes: u64) -> bool {
    // SAFETY: the server allows a null context, and answers with the flags that need none.
    let flags = unsafe { api!(RedisModule_GetContextFlags)(ptr::null_mut()) } as u32;
    flags & (REDISMODULE_CTX_FLAGS_LOADING | REDISMODULE_CTX_FLAGS_SLAVE) != 0
        || filter_bytes <= machine_bytes()
}

/// The largest filter, in bytes: `bf-max-filter-bytes`, where 0 stands for the machine's memory.
pub fn max_filter_bytes() -> u64 {
    match setting::MAX_FILTER_BYTES.integer() {
        0 => machine_bytes(),
        bytes => bytes,
    }
}

/// Memory of the machine or of the control group, whichever is smaller, in bytes; read once.
pub fn machine_bytes() -> u64 {
    static BYTES: OnceLock<u64> = OnceLock::new();
    *BYTES.get_or_init(|| group_bytes().into_iter().fold(physical_bytes(), u64::min))
}

fn physical_bytes() -> u64 {
    // SAFETY: both are plain questions to the system.
    let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
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
        let (_, controllers, path) = (fields.next(), fields.next(), fields.next().unwrap_or_default());
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
