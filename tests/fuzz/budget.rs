//! How many cases are run, and which ones.

use std::env;
use std::io::Write;
use std::str::FromStr;
use std::time::{Duration, Instant, SystemTime};

use bloomline_harness::Random;

/// The number of bytes in a case.
const BYTES: usize = 2048;

/// The cases of one run. Each is generated from one number, so that it can be repeated alone.
pub struct Cases {
    what: String,
    first: u64,
    next: u64,
    end: Option<u64>,
    started: Instant,
    until: Option<Instant>,
    accepted: u64,
}

/// One case.
pub struct Case {
    /// The number that repeats it.
    pub seed: u64,
    /// The bytes from which the test builds its input.
    pub bytes: Vec<u8>,
}

fn number<T: FromStr>(name: &str) -> Option<T> {
    let text = env::var(name).ok().filter(|text| !text.is_empty())?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is not a number: {text}")))
}

/// The deadline of one call. A call that takes seconds on these small filters would take hours on
/// large ones.
pub fn patience() -> Duration {
    Duration::from_secs(number("FUZZ_PATIENCE").unwrap_or(20))
}

impl Cases {
    /// A fixed number of cases, the same in every run; or other cases for some time, if the
    /// environment requests that.
    pub fn of(what: &str, count: u64) -> Self {
        let seconds = number("FUZZ_SECONDS").map(Duration::from_secs);
        let count = number("FUZZ_CASES").or_else(|| seconds.is_none().then_some(count));
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |since| since.as_secs());
        let first = number("FUZZ_SEED").unwrap_or(if seconds.is_some() { now << 32 } else { 0 });
        let started = Instant::now();
        let cases = Cases {
            what: what.to_owned(),
            first,
            next: first,
            end: count.map(|count| first.wrapping_add(count)),
            started,
            until: seconds.map(|seconds| started + seconds),
            accepted: 0,
        };
        cases.report(&format!("begins with FUZZ_SEED={first}"));
        cases
    }

    /// Counts a case whose input was accepted, so that a run cannot consist of error paths only.
    pub fn accept(&mut self, is_accepted: bool) {
        self.accepted += u64::from(is_accepted);
    }

    /// Panics if nearly all cases took error paths.
    pub fn assert_not_only_errors(&self) {
        let count = self.next.wrapping_sub(self.first);
        assert!(count < 50 || self.accepted * 20 > count, "{} of {count} accepted", self.accepted);
    }

    /// The next case; `None` if the number or the time is used up.
    pub fn next(&mut self) -> Option<Case> {
        if self.end == Some(self.next) || self.until.is_some_and(|until| Instant::now() >= until) {
            return None;
        }
        let seed = self.next;
        self.next = self.next.wrapping_add(1);
        // Consecutive numbers would give consecutive states of the generator, so the number is
        // hashed first.
        let mut random = Random(Random(seed).next());
        let length = 64 + random.next() as usize % BYTES;
        Some(Case { seed, bytes: random.bytes(length) })
    }

    /// Writes to the standard error stream, because the test runner captures `println!`.
    fn report(&self, message: &str) {
        let _ = writeln!(std::io::stderr(), "fuzz {}: {message}", self.what);
    }
}

impl Drop for Cases {
    fn drop(&mut self) {
        let count = self.next.wrapping_sub(self.first);
        let seconds = self.started.elapsed().as_secs();
        self.report(&format!("{count} cases, {} of them accepted, in {seconds} s", self.accepted));
        if std::thread::panicking() {
            let seed = self.next.wrapping_sub(1);
            self.report(&format!("FAILED; to repeat it: FUZZ_SEED={seed} FUZZ_CASES=1"));
        }
    }
}
