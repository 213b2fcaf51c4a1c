//! A process that may not request random bytes from the system, as in a strict sandbox.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The offset of the number of the system call in `struct seccomp_data`.
const NUMBER: u32 = 0;

/// Makes `getrandom` fail with EPERM in a process and in all processes that it starts.
pub fn forbid_getrandom(command: &mut Command) {
    let prepare = || {
        let step =
            |code: u32, k: u32, jt: u8, jf: u8| libc::sock_filter { code: code as u16, jt, jf, k };
        let mut program = [
            step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, NUMBER, 0, 0),
            step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, libc::SYS_getrandom as u32, 0, 1),
            step(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32, 0, 0),
            step(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0, 0),
        ];
        let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
        // SAFETY: both are plain system calls, allowed between fork and exec. The kernel only reads
        // the program.
        let done = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &filter) == 0
        };
        if done { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    // SAFETY: the closure neither allocates nor locks between fork and exec.
    unsafe { command.pre_exec(prepare) };
}
