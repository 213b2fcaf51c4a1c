//! Lines on stderr that show the progress of the bench.

use std::time::Instant;

/// What runs now. A line is printed when the group changes.
pub struct Progress {
    started: Instant,
    steps: usize,
    done: usize,
    last_group: String,
}

impl Progress {
    pub fn new(steps: usize) -> Progress {
        Progress { started: Instant::now(), steps, done: 0, last_group: String::new() }
    }

    /// Shows what starts now, without counting a step.
    pub fn show(&mut self, group: &str) {
        if self.last_group != group {
            let percent = 100 * self.done / self.steps.max(1);
            eprintln!("{percent:3} % {:4} s  {group}", self.started.elapsed().as_secs());
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
        let seconds = self.started.elapsed().as_secs();
        eprintln!("{} of {} steps in {seconds} s", self.done, self.steps);
    }
}
