//! Limits of the operating system on a server: bytes of address space, bytes per file.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::process::Process;

/// Limits of a process. `None` is no limit.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits {
    /// Bytes of address space. Beyond them allocations fail.
    pub memory: Option<u64>,
    /// Bytes per file. Beyond them a write fails, as on a full disk.
    pub file: Option<u64>,
}

impl Limits {
    /// A limit on memory: the address space that the process has now, and `bytes` more.
    pub fn memory_beyond(pid: u32, bytes: u64) -> Self {
        let now = Process(pid).address_space().expect("a running process");
        Limits { memory: Some(now + bytes), file: None }
    }

    /// A limit on files: at most `bytes` each.
    pub fn files_of(bytes: u64) -> Self {
        Limits { memory: None, file: Some(bytes) }
    }

    fn all(self) -> [(libc::__rlimit_resource_t, Option<u64>); 2] {
        [(libc::RLIMIT_AS, self.memory), (libc::RLIMIT_FSIZE, self.file)]
    }

    /// Applies the limits to a running process. Only the soft limits change, so that they can be
    /// lifted again.
    pub fn put_on(self, pid: u32) {
        for (resource, limit) in self.all() {
            let limit = libc::rlimit {
                rlim_cur: limit.unwrap_or(libc::RLIM_INFINITY),
                rlim_max: libc::RLIM_INFINITY,
            };
            // SAFETY: the kernel reads the limit and writes nothing, since the last pointer is
            // null.
            let done = unsafe {
                libc::prlimit(pid as libc::pid_t, resource, &limit, std::ptr::null_mut())
            };
            assert_eq!(done, 0, "prlimit: {}", io::Error::last_os_error());
        }
    }

    /// Applies the limits to a process before it starts.
    pub fn put_on_start(self, command: &mut Command) {
        let prepare = move || {
            // SAFETY: both are plain system calls, allowed between fork and exec.
            unsafe {
                // A write beyond the limit must fail as on a full disk. By default the signal
                // would end the process.
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
        // SAFETY: the closure neither allocates nor locks between fork and exec.
        unsafe { command.pre_exec(prepare) };
    }
}
