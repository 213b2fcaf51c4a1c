//! How many cases are run, and which.

use std::env;
use std::io::Write;
use std::str::FromStr;
use std::time::{Duration, Instant, SystemTime};

use bloomline_harness::Random;

/// Bytes that a case is made of.
const BYTES: usize = 2048;

/// The cases of one run. Each is made of one number, so that it can be repeated alone.
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
    /// What repeats it.
    pub seed: u64,
    /// What it is made of.
    pub bytes: Vec<u8>,
}

fn number<T: FromStr>(name: &str) -> Option<T> {
    let text = env::var(name).ok().filter(|text| !text.is_empty())?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}

/// How long one call may take: what takes seconds on filters this small would take hours on real
/// ones.
pub fn patience() -> Duration {
    Duration::from_secs(number("FUZZ_PATIENCE").unwrap_or(20))
}

impl Cases {
    /// So many cases, always the same; or, where the environment asks for it, others for some time.
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
        cases.say(&format!("begins with FUZZ_SEED={first}"));
        cases
    }

    /// Counts a case in which the input was accepted, so that more than error paths was tried.
    pub fn accept(&mut self, is_accepted: bool) {
        self.accepted += u64::from(is_accepted);
    }

    /// Panics if error paths were all that was tried.
    pub fn assert_reached_the_inside(&self) {
        let count = self.next.wrapping_sub(self.first);
        assert!(count < 100 || self.accepted * 20 > count, "{} of {count} accepted", self.accepted);
    }

    /// The next case, if its time has not run out.
    pub fn next(&mut self) -> Option<Case> {
        if self.end == Some(self.next) || self.until.is_some_and(|until| Instant::now() >= until) {
            return None;
        }
        let seed = self.next;
        self.next = self.next.wrapping_add(1);
        // The generator's own step from one number to the next would make neighbours alike.
        let mut random = Random(Random(seed).next());
        let length = 64 + random.next() as usize % BYTES;
        Some(Case { seed, bytes: random.bytes(length) })
    }

    /// Past the test runner, which keeps what is printed to itself.
    fn say(&self, message: &str) {
        let _ = writeln!(std::io::stderr(), "fuzz {}: {message}", self.what);
    }
}

impl Drop for Cases {
    fn drop(&mut self) {
        let count = self.next.wrapping_sub(self.first);
        let seconds = self.started.elapsed().as_secs();
        self.say(&format!("{count} cases, {} of them accepted, in {seconds} s", self.accepted));
        if std::thread::panicking() {
            let seed = self.next.wrapping_sub(1);
            self.say(&format!("FAILED; once more with FUZZ_SEED={seed} FUZZ_CASES=1"));
        }
    }
}
