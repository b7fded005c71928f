//! Detection of whether a filter (seccomp) may vet the system calls of this process.
//!
//! A filter may end the process for a call that its author did not foresee, and the author observes the program's calls
//! with the C library's locks. So once there may be a filter, the locks make no other calls than those would, and with
//! the same operations: they wait and wake by futex, whichever lane a thread is in. The cost is small: yields, and
//! wake-ups of a single lane, are lost.
//!
//! Nothing here queries the kernel later than at the start: the query itself may be forbidden by then. Code that can
//! see that a filter is about to be installed calls [`assume_filtered`].

use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;

static MAY_BE_FILTERED: AtomicBool = AtomicBool::new(false);

/// Returns whether a filter may vet the system calls of this process: as far as it was detected ([`find_filter`]) or
/// announced ([`assume_filtered`]).
#[inline]
pub fn may_be_filtered() -> bool {
    MAY_BE_FILTERED.load(Relaxed)
}

/// Makes the locks of this process permanently avoid all system calls that the C library's own would not make: to be
/// called before a filter is installed.
pub fn assume_filtered() {
    MAY_BE_FILTERED.store(true, Relaxed);
}

/// Finds out whether this thread already has a filter, as in a container; if that is unknown, it may have one.
pub fn find_filter() {
    let mut bytes = [0; 8192];
    let text = read(c"/proc/self/status", &mut bytes);
    if !text.is_some_and(|text| text.len() < 8192 && has_no_filter(text)) {
        assume_filtered();
    }
}

/// Returns whether this process status reports that there is no filter, or comes from a kernel without filters.
fn has_no_filter(status: &[u8]) -> bool {
    let mode = status.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"Seccomp:"));
    !status.is_empty() && mode.is_none_or(|mode| mode.trim_ascii() == b"0")
}

/// Reads the beginning of a file, by calls that every program makes while it is loaded.
fn read<'a>(path: &core::ffi::CStr, bytes: &'a mut [u8]) -> Option<&'a [u8]> {
    // SAFETY: the path is a string, and the bytes are writable.
    unsafe {
        let file = libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return None;
        }
        let read = libc::syscall(libc::SYS_read, file, bytes.as_mut_ptr(), bytes.len());
        libc::syscall(libc::SYS_close, file);
        bytes.get(..usize::try_from(read).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::has_no_filter;

    #[test]
    fn a_filter_is_there_unless_the_kernel_says_that_there_is_none() {
        assert!(has_no_filter(b"Name:\tx\nNoNewPrivs:\t1\nSeccomp:\t0\nSeccomp_filters:\t0\n"));
        assert!(has_no_filter(b"Name:\tx\nThreads:\t1\n"), "a kernel without filters");
        for mode in ["1", "2", "", "x"] {
            extern crate std;
            let status = std::format!("Name:\tx\nSeccomp:\t{mode}\nSeccomp_filters:\t0\n");
            assert!(!has_no_filter(status.as_bytes()), "{mode}");
        }
        assert!(!has_no_filter(b""));
    }
}
