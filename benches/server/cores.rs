//! Assigns cores to the client and the servers, so that neither moves and they do not share a core.

use bloomline_harness::CoreSet;

use crate::result::Result;

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
        let all = CoreSet::of_this_thread()?;
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
