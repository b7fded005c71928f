//! Resource limits of a process (`ulimit`, setrlimit): a program that reaches one reports which, and what to do.

use anyhow::{Context, Result};
use std::alloc::{GlobalAlloc, Layout, System};
use std::io;
use std::process::ExitCode;

/// The stack size below which the first stack (`ulimit -s`) is not used.
const STACK_BYTES: u64 = 2 << 20;

/// Returns the limit in force; `None`: there is none.
pub fn limit(resource: libc::__rlimit_resource_t) -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the result is writable.
    let known = unsafe { libc::getrlimit(resource, &mut limit) } == 0;
    (known && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

/// Returns what to do about an error caused by a limit on this process; `None`: it has another cause, or states it
/// itself.
pub fn remedy(error: &anyhow::Error) -> Option<String> {
    let errno = |cause: &(dyn std::error::Error + 'static)| {
        let system = cause.downcast_ref::<io::Error>().and_then(io::Error::raw_os_error);
        system.or_else(|| cause.downcast_ref::<rustix::io::Errno>().map(|errno| errno.raw_os_error()))
    };
    let errno = error.chain().find_map(errno)?;
    let (resource, what, flag) = match errno {
        libc::EMFILE => (libc::RLIMIT_NOFILE, "open files", "-n"),
        libc::EFBIG => (libc::RLIMIT_FSIZE, "the size of files in bytes", "-f"),
        libc::EAGAIN => (libc::RLIMIT_NPROC, "processes and threads of this user", "-u"),
        libc::ENOMEM => (libc::RLIMIT_AS, "address space in bytes", "-v"),
        libc::E2BIG => (libc::RLIMIT_STACK, "the stack in bytes, of which arguments get a quarter", "-s"),
        _ => return None,
    };
    let most = limit(resource).filter(|_| !format!("{error:#}").contains("ulimit"))?;
    Some(format!("the limit on {what} is {most}: raise it (ulimit {flag})"))
}

/// Runs the program on a stack that is large enough, whatever the limit on its first one is.
pub fn with_stack(run: impl FnOnce() -> ExitCode + Send) -> Result<ExitCode> {
    let Some(most) = limit(libc::RLIMIT_STACK).filter(|most| *most < STACK_BYTES) else { return Ok(run()) };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(4 * STACK_BYTES as usize).spawn_scoped(scope, run);
        let thread = thread.with_context(|| {
            format!("the limit on the stack is {most} bytes (ulimit -s), and there is no other: raise it to 8192")
        })?;
        Ok(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// The system's allocator for a program that cannot continue without memory: it exits with a message, like one that
/// cannot read a file.
pub struct Memory;

// SAFETY: all is the system's, except that no result is null.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: contract of `alloc`.
        had(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: contract of `alloc_zeroed`.
        had(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: contract of `realloc`.
        had(unsafe { System.realloc(memory, layout, bytes) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: contract of `dealloc`.
        unsafe { System.dealloc(memory, layout) };
    }
}

#[inline]
fn had(memory: *mut u8) -> *mut u8 {
    if memory.is_null() {
        end();
    }
    memory
}

/// Ends the program when memory is exhausted.
#[cold]
fn end() -> ! {
    const LIMITED: &str = "turnwise: no memory left: raise the limit on address space (ulimit -v, -d)\n";
    const FULL: &str = "turnwise: no memory left on this machine\n";
    let limited = limit(libc::RLIMIT_AS).or_else(|| limit(libc::RLIMIT_DATA)).is_some();
    let text = if limited { LIMITED } else { FULL };
    // SAFETY: writes these bytes, and ends the process.
    unsafe {
        libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len());
        libc::_exit(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_a_limit_is_reported_with_its_remedy() {
        let of = |errno| anyhow::Error::new(io::Error::from_raw_os_error(errno)).context("cannot start it");
        let shown = remedy(&of(libc::EMFILE)).expect("every process has a limit on open files");
        assert!(shown.starts_with("the limit on open files is ") && shown.ends_with("raise it (ulimit -n)"), "{shown}");
        let other: anyhow::Error = rustix::io::Errno::MFILE.into();
        assert_eq!(remedy(&other), Some(shown));
        assert_eq!(remedy(&of(libc::ENOENT)), None);
        assert_eq!(remedy(&of(libc::EMFILE).context("raise `ulimit -n`")), None, "it is said already");
    }
}
