//! What the operating system reports of a process: memory and page faults, see proc(5).

use std::{fs, io};

/// A process by its id.
#[derive(Clone, Copy, Debug)]
pub struct Process(pub u32);

impl Process {
    /// Page faults so far that needed no disk (`minflt`).
    ///
    /// # Errors
    /// The process has ended, or `/proc` has another form.
    pub fn page_faults(self) -> io::Result<u64> {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.0))?;
        // The name in brackets may hold any characters; `minflt` is the eighth field after it.
        let after_name = text.rsplit(')').next().unwrap_or_default();
        let field = after_name.split_whitespace().nth(7).ok_or_else(|| missing("minflt"))?;
        field.parse().map_err(io::Error::other)
    }

    /// Bytes of physical memory that the process holds now (`VmRSS`).
    ///
    /// # Errors
    /// As [`Process::page_faults`].
    pub fn resident(self) -> io::Result<u64> {
        self.status("VmRSS:")
    }

    /// The most bytes of physical memory since the start, or since [`Process::reset_peak`]
    /// (`VmHWM`).
    ///
    /// # Errors
    /// As [`Process::page_faults`].
    pub fn peak(self) -> io::Result<u64> {
        self.status("VmHWM:")
    }

    /// Bytes of address space (`VmSize`).
    ///
    /// # Errors
    /// As [`Process::page_faults`].
    pub fn address_space(self) -> io::Result<u64> {
        self.status("VmSize:")
    }

    /// Sets the peak to the memory that the process holds now.
    ///
    /// # Errors
    /// The system does not allow it, or the process has ended.
    pub fn reset_peak(self) -> io::Result<()> {
        fs::write(format!("/proc/{}/clear_refs", self.0), "5")
    }

    /// Bytes of memory in huge pages (`AnonHugePages`).
    ///
    /// # Errors
    /// As [`Process::page_faults`].
    pub fn huge_pages(self) -> io::Result<u64> {
        self.kibibytes("smaps_rollup", "AnonHugePages:")
    }

    /// Threads with this name.
    ///
    /// # Errors
    /// As [`Process::page_faults`].
    pub fn threads(self, name: &str) -> io::Result<usize> {
        let mut count = 0;
        for thread in fs::read_dir(format!("/proc/{}/task", self.0))? {
            // A thread may end meanwhile.
            let found = fs::read_to_string(thread?.path().join("comm")).unwrap_or_default();
            count += usize::from(found.trim_end() == name);
        }
        Ok(count)
    }

    /// A field of `/proc/PID/status` in bytes.
    fn status(self, name: &str) -> io::Result<u64> {
        self.kibibytes("status", name)
    }

    /// A field in kibibytes of a file of the process, in bytes.
    fn kibibytes(self, file: &str, name: &str) -> io::Result<u64> {
        let text = fs::read_to_string(format!("/proc/{}/{file}", self.0))?;
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let number = line.ok_or_else(|| missing(name))?.trim_end_matches("kB").trim();
        Ok(number.parse::<u64>().map_err(io::Error::other)? * 1024)
    }
}

fn missing(field: &str) -> io::Error {
    io::Error::other(format!("/proc has no field {field}"))
}
