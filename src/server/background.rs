//! Freeing large values on another thread, so that the server does not wait for it.
//!
//! Returning a gigabyte to the operating system takes some hundred milliseconds. The server frees
//! deleted values on its own threads, but not parts of a value.

use std::thread;

/// Drops a value on a new thread, or at once if no thread can be started.
///
/// Starting a thread takes some 20 us. The allocators of all servers may be called from any thread.
pub fn drop_later<T: Send + 'static>(value: T) {
    // If the thread cannot start, its function is dropped, and the value with it.
    drop(thread::Builder::new().name("bf-free".into()).spawn(|| drop(value)));
}
