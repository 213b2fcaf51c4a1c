//! Work on other threads, so that the server does not wait for it: freeing large values, and what
//! is repeated for the life of the process.
//!
//! Returning a gigabyte to the operating system takes some hundred milliseconds. The server frees
//! deleted values on its own threads, but not parts of a value.

use std::hint::black_box;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, Thread};

use super::system;

/// Memory that the system must be able to map before a thread is started: more than its stack and
/// what an allocator maps for it.
///
/// The allocator jemalloc crashes if a new thread calls it and it cannot map anything.
const THREAD_BYTES: usize = 64 << 20;

/// Starts a thread that lives as long as the process, and waits until its first call of the
/// allocator is done. `None` if there is not enough memory, or if no thread can be started.
fn start(name: &str, run: impl FnOnce() + Send + 'static) -> Option<Thread> {
    if !system::can_map(THREAD_BYTES) {
        return None;
    }
    let begun = Arc::new(Barrier::new(2));
    let has_begun = Arc::clone(&begun);
    let run = move || {
        drop(black_box(Box::new(0_u64)));
        begun.wait();
        drop(begun);
        run();
    };
    let started = thread::Builder::new().name(name.into()).spawn(run).ok()?;
    has_begun.wait();
    Some(started.thread().clone())
}

/// As long as the thread has this many bytes to free, further values are dropped at once: a client
/// could make garbage faster than it frees it, and no limit of memory would see that. Freeing as
/// much takes some ten milliseconds.
const MOST_PENDING: u64 = 64 << 20;

/// Bytes that the thread has to free.
static PENDING: AtomicU64 = AtomicU64::new(0);

/// Bytes that count in [`PENDING`] until this value is dropped.
struct Pending(u64);

impl Pending {
    fn new(bytes: u64) -> Self {
        PENDING.fetch_add(bytes, Ordering::Relaxed);
        Self(bytes)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        PENDING.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// The values to be freed.
type Garbage = Vec<(Box<dyn Send>, Pending)>;

fn garbage() -> MutexGuard<'static, Garbage> {
    static GARBAGE: Mutex<Garbage> = Mutex::new(Vec::new());
    GARBAGE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Frees values whenever the thread is unparked.
fn free() {
    loop {
        let values = mem::take(&mut *garbage());
        // Their bytes are subtracted after they are dropped.
        drop(values);
        thread::park();
    }
}

/// Drops a value of `bytes` bytes on another thread, which the first call starts. Drops it at once
/// if that thread has `MOST_PENDING` bytes to free, or cannot be started.
///
/// The allocators of all servers may be called from any thread.
pub fn drop_later<T: Send + 'static>(value: T, bytes: u64) {
    static FREEING: OnceLock<Thread> = OnceLock::new();
    if PENDING.load(Ordering::Relaxed) >= MOST_PENDING {
        return;
    }
    let begin = || start("bf-free", free).map(|thread| FREEING.get_or_init(|| thread));
    if let Some(thread) = FREEING.get().or_else(begin) {
        garbage().push((Box::new(value), Pending::new(bytes)));
        thread.unpark();
    }
}

/// Starts a thread that works for the life of the process. `work` returns how long to wait until it
/// is called again. False if no thread can be started.
#[cfg(target_os = "linux")]
pub fn repeat(name: &str, mut work: impl FnMut() -> std::time::Duration + Send + 'static) -> bool {
    let run = move || loop {
        thread::sleep(work());
    };
    start(name, run).is_some()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed test panics")]

    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::thread::ThreadId;

    use super::*;

    /// Reports the thread that drops it, after it has been allowed to.
    struct DropReporter(Sender<ThreadId>, Receiver<()>);

    impl Drop for DropReporter {
        fn drop(&mut self) {
            self.1.recv().unwrap();
            self.0.send(thread::current().id()).unwrap();
        }
    }

    #[test]
    fn values_are_dropped_at_once_while_many_bytes_are_pending() {
        let here = thread::current().id();
        let (dropped, by) = channel();
        let drop_one = |bytes| {
            let (allow, is_allowed) = channel();
            (allow, DropReporter(dropped.clone(), is_allowed), bytes)
        };
        // One value may have any size, and waits for its permission on its thread.
        let (allow_first, first, bytes) = drop_one(MOST_PENDING + 1);
        drop_later(first, bytes);
        let (allow, second, bytes) = drop_one(1);
        allow.send(()).unwrap();
        drop_later(second, bytes);
        assert_eq!(by.try_recv(), Ok(here));
        allow_first.send(()).unwrap();
        assert_ne!(by.recv().unwrap(), here);
        while PENDING.load(Ordering::Relaxed) != 0 {
            thread::yield_now();
        }
        let (allow, third, bytes) = drop_one(1);
        allow.send(()).unwrap();
        drop_later(third, bytes);
        assert_ne!(by.recv().unwrap(), here);
    }
}
