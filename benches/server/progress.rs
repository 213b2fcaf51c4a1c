//! One line on stderr that shows the progress of the bench.

use std::io::{IsTerminal, Write};
use std::time::Instant;

/// The line. On a terminal it is overwritten in place; elsewhere it is printed when the group
/// changes.
pub struct Progress {
    started: Instant,
    steps: usize,
    done: usize,
    is_terminal: bool,
    last_group: String,
}

impl Progress {
    pub fn new(steps: usize) -> Progress {
        Progress {
            started: Instant::now(),
            steps,
            done: 0,
            is_terminal: std::io::stderr().is_terminal(),
            last_group: String::new(),
        }
    }

    /// Shows what starts now, without counting a step.
    pub fn show(&mut self, group: &str, what: &str) {
        let percent = 100 * self.done / self.steps.max(1);
        let seconds = self.started.elapsed().as_secs();
        if self.is_terminal {
            eprint!("\r\x1b[K{percent:3} % {seconds:4} s  {group}: {what}");
            // A line that cannot be printed is no reason to stop.
            let _ = std::io::stderr().flush();
        } else if self.last_group != group {
            eprintln!("{percent:3} % {seconds:4} s  {group}");
            self.last_group = group.to_owned();
        }
    }

    /// Counts one step as done.
    pub fn step(&mut self) {
        self.done += 1;
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        let end = if self.is_terminal { "\r\x1b[K" } else { "" };
        eprintln!(
            "{end}{} of {} steps in {} s",
            self.done,
            self.steps,
            self.started.elapsed().as_secs()
        );
    }
}
