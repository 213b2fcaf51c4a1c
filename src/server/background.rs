//! Freeing large values on another thread, so that the server does not wait for it.
//!
//! Returning a gigabyte to the operating system takes some hundred milliseconds. The server frees
//! deleted values on threads of its own; a part of a value is not deleted by the server.

use std::thread;

/// Drops a value on a thread of its own; at once if there can be no thread.
///
/// Starting a thread takes some 20 us. The allocators of all servers may be called from any thread.
pub fn drop_later<T: Send + 'static>(value: T) {
    // If the thread cannot start, its function is dropped, and the value with it.
    drop(thread::Builder::new().name("bf-free".into()).spawn(|| drop(value)));
}
