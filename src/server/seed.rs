//! Seeds from the operating system, drawn many at once.

use std::io;
use std::sync::Mutex;

/// Seeds drawn by one system call, which costs about as much as making a tiny filter.
const POOL: usize = 64;

struct Pool {
    seeds: [u64; POOL],
    left: usize,
}

static SEEDS: Mutex<Pool> = Mutex::new(Pool { seeds: [0; POOL], left: 0 });

/// A seed that nobody can know beforehand.
///
/// # Errors
///
/// That of the system call, which a sandbox may forbid.
pub fn fresh() -> io::Result<u64> {
    let mut pool = SEEDS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if pool.left == 0 {
        draw(&mut pool.seeds)?;
        pool.left = POOL;
    }
    pool.left -= 1;
    let index = pool.left;
    // A seed is handed out once and forgotten.
    Ok(pool.seeds.get_mut(index).map_or(0, std::mem::take))
}

fn draw(seeds: &mut [u64; POOL]) -> io::Result<()> {
    let mut bytes = [0u8; POOL * size_of::<u64>()];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        // SAFETY: the pointer and the length are those of a slice that may be written.
        let got = unsafe { libc::getrandom(rest.as_mut_ptr().cast(), rest.len(), 0) };
        match usize::try_from(got) {
            Ok(got) => filled += got,
            Err(_) => match io::Error::last_os_error() {
                // A signal came before any byte.
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error => return Err(error),
            },
        }
    }
    for (seed, bytes) in seeds.iter_mut().zip(bytes.as_chunks().0) {
        *seed = u64::from_le_bytes(*bytes);
    }
    Ok(())
}
