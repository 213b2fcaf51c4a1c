//! Seeds from the operating system, read in batches.

use std::io;
use std::mem;
use std::sync::Mutex;

use crate::server::system;

/// Seeds per read, which takes two system calls of 256 bytes. One system call costs about as much
/// as creating a tiny filter.
const BATCH: usize = 64;

/// Unused seeds: the first `left` of the array.
struct Pool {
    seeds: [u64; BATCH],
    left: usize,
}

static POOL: Mutex<Pool> = Mutex::new(Pool { seeds: [0; BATCH], left: 0 });

/// A seed that nobody can predict.
///
/// # Errors
///
/// The error of the system call: a sandbox may forbid it.
pub fn random() -> io::Result<u64> {
    let mut pool = POOL.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if pool.left == 0 {
        let mut bytes = [0; BATCH * size_of::<u64>()];
        system::fill_random(&mut bytes)?;
        for (seed, bytes) in pool.seeds.iter_mut().zip(bytes.as_chunks().0) {
            *seed = u64::from_le_bytes(*bytes);
        }
        pool.left = BATCH;
    }
    pool.left -= 1;
    let index = pool.left;
    // A seed is returned once, and erased from the pool.
    Ok(pool.seeds.get_mut(index).map_or(0, mem::take))
}
