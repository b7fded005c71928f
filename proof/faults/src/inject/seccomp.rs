//! A filter that shows chosen system calls to the tracer before the kernel sees them.

use libc::{BPF_ABS, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, sock_filter, sock_fprog};
use std::io;

/// A program of the kernel's packet filter.
#[derive(Clone)]
pub(crate) struct Filter(Vec<sock_filter>);

fn op(code: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: code as u16, jt, jf, k }
}

impl Filter {
    /// Shows the tracer these calls, and lets all others pass. The number of a call is the first word of what the
    /// filter sees.
    pub(crate) fn shows(calls: &[libc::c_long]) -> Self {
        let mut program = vec![op(BPF_LD | BPF_W | BPF_ABS, 0, 0, 0)];
        for (before, call) in calls.iter().enumerate() {
            let to_trace = (calls.len() - before) as u8;
            program.push(op(BPF_JMP | BPF_JEQ | BPF_K, *call as u32, to_trace, 0));
        }
        program.push(op(BPF_RET | BPF_K, libc::SECCOMP_RET_ALLOW, 0, 0));
        program.push(op(BPF_RET | BPF_K, libc::SECCOMP_RET_TRACE, 0, 0));
        Filter(program)
    }

    /// Puts it in force for this thread and all its descendants. Allocates nothing: it runs between fork and exec.
    pub(crate) fn install(&self) -> io::Result<()> {
        let program = sock_fprog { len: self.0.len() as u16, filter: self.0.as_ptr().cast_mut() };
        let program = std::ptr::from_ref(&program);
        // SAFETY: prctl reads the program, which outlives the calls, and writes nothing.
        let refused = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
                || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, program) != 0
        };
        if refused { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}
