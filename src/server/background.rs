//! Work on other threads, so that the server does not wait for it: freeing large values, and what
//! is repeated for the life of the process.
//!
//! Returning a gigabyte to the operating system takes some hundred milliseconds. The server frees
//! deleted values on its own threads, but not parts of a value.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// As long as threads have this many bytes to free, further values are dropped at once: a client
/// could make garbage faster than they free it, and no limit of memory would see that. Freeing as
/// much takes some ten milliseconds.
const MOST_PENDING: u64 = 64 << 20;

/// Bytes that threads have to free.
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

/// Drops a value of `bytes` bytes on a new thread. Drops it at once if threads still have to free
/// `MOST_PENDING` bytes, or if no thread can be started.
///
/// Starting a thread takes some 20 us. The allocators of all servers may be called from any thread.
pub fn drop_later<T: Send + 'static>(value: T, bytes: u64) {
    if PENDING.load(Ordering::Relaxed) >= MOST_PENDING {
        return;
    }
    // The bytes are dropped after the value. If the thread cannot start, its function is dropped,
    // and both with it.
    let both = (value, Pending::new(bytes));
    drop(thread::Builder::new().name("bf-free".into()).spawn(|| drop(both)));
}

/// Starts a thread that works for the life of the process. `work` returns how long to wait until it
/// is called again. Does nothing if no thread can be started.
#[cfg(target_os = "linux")]
pub fn repeat(name: &str, mut work: impl FnMut() -> std::time::Duration + Send + 'static) {
    let run = move || loop {
        thread::sleep(work());
    };
    drop(thread::Builder::new().name(name.into()).spawn(run));
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed test panics")]

    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::thread::ThreadId;

    use super::*;

    /// Reports the thread that drops it, after it has been allowed to.
    struct Value(Sender<ThreadId>, Receiver<()>);

    impl Drop for Value {
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
            (allow, Value(dropped.clone(), is_allowed), bytes)
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
