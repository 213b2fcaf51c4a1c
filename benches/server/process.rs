//! What the system tells of a server's process: memory and page faults.

use std::fs;

use crate::Result;

/// A process by its id.
#[derive(Clone, Copy, Debug)]
pub struct Process(pub u32);

impl Process {
    /// Page faults so far that needed no disk (`minflt` of proc(5)).
    pub fn page_faults(self) -> Result<u64> {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.0))?;
        // The name in brackets may hold anything; the eighth field after it is ours.
        let after_name = text.rsplit(')').next().unwrap_or_default();
        let field = after_name.split_whitespace().nth(7).ok_or("no minflt in /proc")?;
        Ok(field.parse()?)
    }

    /// Bytes of memory it holds now.
    pub fn resident(self) -> Result<u64> {
        self.status("VmRSS:")
    }

    /// The most it held since its start, or since [`Process::reset_peak`].
    pub fn peak(self) -> Result<u64> {
        self.status("VmHWM:")
    }

    /// Lets the peak begin anew at what is held now.
    pub fn reset_peak(self) -> Result<()> {
        Ok(fs::write(format!("/proc/{}/clear_refs", self.0), "5")?)
    }

    fn status(self, name: &str) -> Result<u64> {
        let text = fs::read_to_string(format!("/proc/{}/status", self.0))?;
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let kilobytes: u64 =
            line.ok_or("a field is missing in /proc")?.trim_end_matches("kB").trim().parse()?;
        Ok(kilobytes * 1024)
    }
}
