//! What the system allows a server: bytes of address space, bytes of a file.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Limits of a process; none where there is no number.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits {
    /// Bytes of address space: beyond it the system has no memory to give.
    pub memory: Option<u64>,
    /// Bytes of any file: beyond it a write fails, as on a disk that is full.
    pub file: Option<u64>,
}

impl Limits {
    /// So many bytes of memory beyond what the process has now.
    pub fn memory_beyond(pid: u32, bytes: u64) -> Self {
        let status =
            std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a running process");
        let line =
            status.lines().find_map(|line| line.strip_prefix("VmSize:")).expect("a VmSize line");
        let now: u64 = line.trim().trim_end_matches(" kB").parse().expect("kilobytes");
        Limits { memory: Some(now * 1024 + bytes), file: None }
    }

    /// Files of at most so many bytes.
    pub fn files_of(bytes: u64) -> Self {
        Limits { memory: None, file: Some(bytes) }
    }

    fn all(self) -> [(libc::__rlimit_resource_t, Option<u64>); 2] {
        [(libc::RLIMIT_AS, self.memory), (libc::RLIMIT_FSIZE, self.file)]
    }

    /// Puts them on a running process. Only the soft ones, so that they can be taken off again.
    pub fn put_on(self, pid: u32) {
        for (resource, limit) in self.all() {
            let limit = libc::rlimit {
                rlim_cur: limit.unwrap_or(libc::RLIM_INFINITY),
                rlim_max: libc::RLIM_INFINITY,
            };
            // SAFETY: the limit is read only, and nothing is asked to be written.
            let done = unsafe {
                libc::prlimit(pid as libc::pid_t, resource, &limit, std::ptr::null_mut())
            };
            assert_eq!(done, 0, "prlimit: {}", io::Error::last_os_error());
        }
    }

    /// Puts them on a process before it starts.
    pub fn put_on_start(self, command: &mut Command) {
        let prepare = move || {
            // SAFETY: both are plain system calls, allowed between fork and exec.
            unsafe {
                // A write beyond the limit must fail, as on a full disk, and not end the process.
                libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
                for (resource, limit) in self.all() {
                    let Some(limit) = limit else { continue };
                    let limit = libc::rlimit { rlim_cur: limit, rlim_max: libc::RLIM_INFINITY };
                    if libc::setrlimit(resource, &limit) != 0 {
                        return Err(io::Error::last_os_error());
                    }
                }
            }
            Ok(())
        };
        // SAFETY: between fork and exec nothing is allocated or locked.
        unsafe { command.pre_exec(prepare) };
    }
}
