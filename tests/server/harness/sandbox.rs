//! A system that forbids a process to ask for random bytes, as a strict sandbox does.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Where the number of the system call stands in what a filter is given (`struct seccomp_data`).
const NUMBER: u32 = 0;

/// Lets `getrandom` fail with EPERM in a process and all that it starts.
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
        // SAFETY: plain system calls, allowed between fork and exec; the program is read only.
        let done = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &filter) == 0
        };
        if done { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    // SAFETY: between fork and exec nothing is allocated or locked.
    unsafe { command.pre_exec(prepare) };
}
