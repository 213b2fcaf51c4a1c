//! Which core is whose, so that client and server neither move nor meet.

use std::io;

use crate::Result;

/// The servers' core; the client has pinned itself to another.
#[derive(Clone, Copy, Debug)]
pub struct Cores {
    /// None where there is only one core.
    pub server: Option<usize>,
}

impl Cores {
    /// Pins this process to the first core it may use and keeps the second for the servers.
    pub fn pin_client() -> Result<Cores> {
        // SAFETY: a cpu_set_t of zeroes is an empty set, and the call writes within the size we give.
        let (set, status) = unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            let status = libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set);
            (set, status)
        };
        if status != 0 {
            return Err(io::Error::last_os_error().into());
        }
        // SAFETY: the macro reads a bit of the set, and the range ends where the set does.
        let mut usable =
            (0..libc::CPU_SETSIZE as usize).filter(|&core| unsafe { libc::CPU_ISSET(core, &set) });
        let (Some(client), Some(server)) = (usable.next(), usable.next()) else {
            eprintln!("server bench: one core for client and servers, nothing is pinned");
            return Ok(Cores { server: None });
        };
        pin(client)?;
        Ok(Cores { server: Some(server) })
    }
}

/// Pins the calling process to a core.
pub fn pin(core: usize) -> io::Result<()> {
    // SAFETY: as in `pin_client`; `core` came from a set of the same size.
    let status = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
