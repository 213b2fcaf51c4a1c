//! Assigns cores to the client and the servers, so that neither moves and they do not share a core.

use std::io;

use crate::result::Result;

/// A set of cores on which a process may run.
#[derive(Clone, Copy, Debug)]
pub struct CoreSet(libc::cpu_set_t);

/// The cores of this run. The client has pinned itself to one.
#[derive(Clone, Copy, Debug)]
pub struct Cores {
    /// The core of servers whose commands are timed; `None` with only one core.
    pub server: Option<usize>,
    /// All cores of this process: for servers whose threads and children must not share a core.
    pub all: CoreSet,
}

impl Cores {
    /// Pins this process to the first core that it may use, and reserves the second for the
    /// servers.
    pub fn pin_client() -> Result<Cores> {
        let all = CoreSet::of_this_process()?;
        let mut usable = all.cores();
        let (Some(client), Some(server)) = (usable.next(), usable.next()) else {
            eprintln!("server bench: one core for client and servers, nothing is pinned");
            return Ok(Cores { server: None, all });
        };
        CoreSet::of(client).pin()?;
        Ok(Cores { server: Some(server), all })
    }

    /// The cores of a server whose commands are timed.
    pub fn of_timed(&self) -> CoreSet {
        self.server.map_or(self.all, CoreSet::of)
    }
}

impl CoreSet {
    fn of(core: usize) -> CoreSet {
        // SAFETY: a cpu_set_t of zeroes is an empty set, and `core` is below its size because it
        // was read from such a set.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(core, &mut set);
            CoreSet(set)
        }
    }

    fn of_this_process() -> io::Result<CoreSet> {
        // SAFETY: as in `of`; the call writes at most the size that is passed.
        let (set, status) = unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            let status = libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set);
            (set, status)
        };
        if status == 0 { Ok(CoreSet(set)) } else { Err(io::Error::last_os_error()) }
    }

    fn cores(&self) -> impl Iterator<Item = usize> {
        // SAFETY: the macro reads a bit of the set, and the range ends where the set does.
        (0..libc::CPU_SETSIZE as usize).filter(|&core| unsafe { libc::CPU_ISSET(core, &self.0) })
    }

    /// Restricts the calling process to these cores.
    pub fn pin(self) -> io::Result<()> {
        // SAFETY: the call reads a set of the size that is passed.
        let status = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &self.0) };
        if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}
