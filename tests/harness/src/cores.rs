//! The cores on which a process may run.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// A set of cores.
#[derive(Clone, Copy, Debug)]
pub struct CoreSet(libc::cpu_set_t);

impl CoreSet {
    /// One core, which must be of [`CoreSet::of_this_thread`].
    pub fn of(core: usize) -> CoreSet {
        // SAFETY: a cpu_set_t of zeroes is an empty set, and `core` is below its size because it
        // was read from such a set.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(core, &mut set);
            CoreSet(set)
        }
    }

    /// The cores on which this thread may run.
    ///
    /// # Errors
    /// That of the operating system.
    pub fn of_this_thread() -> io::Result<CoreSet> {
        // SAFETY: as in `of`; the call writes at most the size that is passed.
        let (set, status) = unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            let status = libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set);
            (set, status)
        };
        if status == 0 { Ok(CoreSet(set)) } else { Err(io::Error::last_os_error()) }
    }

    /// The numbers of the cores.
    pub fn cores(&self) -> impl Iterator<Item = usize> {
        // SAFETY: the macro reads a bit of the set, and the range ends where the set does.
        (0..libc::CPU_SETSIZE as usize).filter(|&core| unsafe { libc::CPU_ISSET(core, &self.0) })
    }

    /// Restricts the calling thread, and what it starts, to these cores.
    ///
    /// # Errors
    /// That of the operating system.
    pub fn pin(self) -> io::Result<()> {
        // SAFETY: the call reads a set of the size that is passed.
        let status = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &self.0) };
        if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Restricts a process to these cores before it starts, and has the system kill it when the
    /// thread that starts it ends: an interrupted bench runs no destructors.
    pub fn pin_on_start(self, command: &mut Command) {
        let prepare = move || {
            // SAFETY: the system call takes only numbers.
            let status = unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
            if status == 0 { self.pin() } else { Err(io::Error::last_os_error()) }
        };
        // SAFETY: the closure neither allocates nor locks between fork and exec.
        unsafe { command.pre_exec(prepare) };
    }
}
