//! System calls, none of which is a cancellation point or takes a lock of the C library.

use crate::layout::PAGE;
use core::ffi::{CStr, c_int, c_long};
use core::ptr::{self, NonNull};
use libc::{MAP_ANONYMOUS, MAP_FIXED, MAP_NORESERVE, MAP_PRIVATE, MAP_SHARED, PROT_NONE, PROT_READ, PROT_WRITE};
use turnwise_interpose::errno;
pub(super) use turnwise_interpose::{keeping_errno, nanoseconds, populate, zeroed};

/// A file descriptor that is closed on drop.
pub(super) struct Descriptor(c_int);

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: the descriptor is ours.
        unsafe { libc::syscall(libc::SYS_close, self.0) };
    }
}

/// A folder at which path names begin.
#[derive(Clone, Copy)]
pub(super) struct At(c_int);

impl At {
    /// Path names begin at the root of the file system.
    pub(super) const ROOT: At = At(libc::AT_FDCWD);
}

impl Descriptor {
    pub(super) fn at(&self) -> At {
        At(self.0)
    }

    /// Opens a file or a folder, if it is not a link.
    pub(super) fn open(at: At, path: &CStr, flags: c_int, mode: u32) -> Option<Descriptor> {
        let flags = flags | libc::O_CLOEXEC | libc::O_NOFOLLOW;
        // SAFETY: the path is a string.
        let file = unsafe { libc::syscall(libc::SYS_openat, at.0, path.as_ptr(), flags, mode) };
        Some(Descriptor(c_int::try_from(file).ok().filter(|file| *file >= 0)?))
    }

    /// Reads from the beginning, up to the end or the buffer's size.
    pub(super) fn read<'a>(&self, bytes: &'a mut [u8]) -> Option<&'a [u8]> {
        // SAFETY: the bytes are writable.
        let read = unsafe { libc::syscall(libc::SYS_read, self.0, bytes.as_mut_ptr(), bytes.len()) };
        bytes.get(..usize::try_from(read).ok()?)
    }

    /// Reads the next entries of a folder.
    pub(super) fn read_folder<'a>(&self, bytes: &'a mut [u8]) -> Option<&'a [u8]> {
        // SAFETY: the bytes are writable.
        let read = unsafe { libc::syscall(libc::SYS_getdents64, self.0, bytes.as_mut_ptr(), bytes.len()) };
        bytes.get(..usize::try_from(read).ok()?)
    }

    /// Rewinds a folder.
    pub(super) fn rewind(&self) {
        // SAFETY: changes only the descriptor's position.
        unsafe { libc::lseek(self.0, 0, libc::SEEK_SET) };
    }

    /// Returns the system's data about a file.
    pub(super) fn status(&self) -> Option<libc::stat> {
        // SAFETY: zeros are a valid result, which is writable.
        unsafe {
            let mut found = core::mem::zeroed();
            (libc::fstat(self.0, &mut found) == 0).then_some(found)
        }
    }

    /// Returns the kind of file system that it is on.
    pub(super) fn file_system(&self) -> Option<c_long> {
        // SAFETY: zeros are a valid result, which is writable.
        unsafe {
            let mut found = core::mem::zeroed::<libc::statfs>();
            (libc::fstatfs(self.0, &mut found) == 0).then_some(found.f_type as c_long)
        }
    }

    pub(super) fn set_mode(&self, mode: u32) -> bool {
        // SAFETY: changes only the file's mode.
        unsafe { libc::fchmod(self.0, mode) == 0 }
    }

    pub(super) fn set_length(&self, bytes: usize) -> bool {
        // SAFETY: changes only the file's length.
        unsafe { libc::ftruncate(self.0, bytes as libc::off_t) == 0 }
    }

    /// Allocates room on the disk for the file's first bytes.
    pub(super) fn take_room(&self, bytes: usize) -> bool {
        // SAFETY: changes only the file.
        unsafe { libc::syscall(libc::SYS_fallocate, self.0, 0, 0 as libc::off_t, bytes as libc::off_t) == 0 }
    }

    /// Maps the file's first bytes, shared. It takes two steps: if `mlockall` requires all future mappings to be in
    /// memory, one step would fetch the whole file.
    pub(super) fn map(&self, bytes: usize) -> Option<NonNull<u8>> {
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory in use.
        let map = unsafe { libc::mmap(ptr::null_mut(), bytes, PROT_NONE, MAP_SHARED, self.0, 0) };
        if map == libc::MAP_FAILED {
            return None;
        }
        // SAFETY: the mapping is new.
        if unsafe { libc::mprotect(map, bytes, PROT_READ | PROT_WRITE) } != 0 {
            // SAFETY: the mapping is new, and unused.
            unsafe { unmap(map.cast(), bytes) };
            return None;
        }
        // Otherwise the first fault reads ahead, by the disk's setting: 8 MB of holes took 4 to 10 ms.
        // SAFETY: the mapping is new.
        unsafe { libc::madvise(map, bytes, libc::MADV_RANDOM) };
        NonNull::new(map.cast())
    }
}

/// Replaces a mapping by private memory: later writes to it have no effect elsewhere.
///
/// # Safety
/// The mapping is ours.
pub(super) unsafe fn replace(start: *mut u8, bytes: usize) {
    let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    // SAFETY: contract of `replace`.
    unsafe { libc::mmap(start.cast(), bytes, PROT_READ | PROT_WRITE, flags, -1, 0) };
}

/// Unmaps a mapping.
///
/// # Safety
/// The mapping is ours, and is not used.
pub(super) unsafe fn unmap(start: *mut u8, bytes: usize) {
    // SAFETY: contract of `unmap`.
    unsafe { libc::munmap(start.cast(), bytes) };
}

pub(super) fn make_folder(at: At, path: &CStr, mode: u32) {
    // SAFETY: the path is a string.
    unsafe { libc::syscall(libc::SYS_mkdirat, at.0, path.as_ptr(), mode) };
}

pub(super) fn remove(at: At, path: &CStr) {
    // SAFETY: the path is a string.
    unsafe { libc::syscall(libc::SYS_unlinkat, at.0, path.as_ptr(), 0) };
}

/// Writes a link's target.
pub(super) fn read_link(path: &CStr, to: *mut u8, room: usize) {
    // SAFETY: the path is a string; the caller's memory has that room.
    unsafe { libc::syscall(libc::SYS_readlinkat, libc::AT_FDCWD, path.as_ptr(), to, room) };
}

pub(super) fn process() -> u32 {
    // SAFETY: only returns a number. (The C library's cached copy is not used: it may be missing in a forked child.)
    unsafe { libc::syscall(libc::SYS_getpid) as u32 }
}

pub(super) fn thread() -> u32 {
    // SAFETY: only returns a number.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

pub(super) fn user() -> u32 {
    // SAFETY: only returns a number.
    unsafe { libc::geteuid() }
}

/// Returns whether there is no such process.
pub(super) fn is_process_gone(process: u32) -> bool {
    // SAFETY: signal 0 sends no signal.
    unsafe { libc::syscall(libc::SYS_kill, process, 0) != 0 && errno() == libc::ESRCH }
}

/// Returns whether a process has no such thread.
pub(super) fn is_thread_gone(process: u32, thread: u32) -> bool {
    // SAFETY: signal 0 sends no signal.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread, 0) != 0 && errno() == libc::ESRCH }
}

/// Returns whether the process has other rights than its user's.
pub(super) fn is_secure() -> bool {
    // SAFETY: reads data that the kernel passed to the process at its start.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Returns whether the thread's system calls are filtered: the kernel reports it, or the filter refuses the query. A
/// kernel without filters, and qemu's user mode, do not support the query.
pub(super) fn is_sandboxed() -> bool {
    // SAFETY: only returns a number.
    match unsafe { libc::syscall(libc::SYS_prctl, libc::PR_GET_SECCOMP, 0, 0, 0, 0) } {
        0 => false,
        -1 => errno() != libc::EINVAL,
        _ => true,
    }
}

/// Returns whether the process may create a file of this length. It is checked first, since trying may cause a signal.
pub(super) fn may_be_long(bytes: usize) -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the result is writable.
    unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) == 0 && limit.rlim_cur >= bytes as libc::rlim_t }
}

/// Reads `CLOCK_MONOTONIC`.
pub(super) fn monotonic_ns() -> u64 {
    nanoseconds(libc::CLOCK_MONOTONIC)
}

/// Sleeps, for less time if a signal arrives.
pub(super) fn sleep_ns(ns: u64) {
    let time = libc::timespec { tv_sec: 0, tv_nsec: ns as libc::c_long };
    // SAFETY: the time is valid, and the remainder is not requested.
    unsafe { libc::syscall(libc::SYS_nanosleep, &raw const time, ptr::null_mut::<libc::timespec>()) };
}

/// Copies memory of this process, as far as it is mapped; returns how much. Reading it directly could cause a signal.
pub(super) fn copy_own(process: u32, from: u64, to: *mut u8, most: usize) -> usize {
    let local = libc::iovec { iov_base: to.cast(), iov_len: most };
    // A part that is not fully mapped is not copied at all, so each page is one part.
    let first = most.min(PAGE - from as usize % PAGE);
    let part = |start: usize, bytes: usize| libc::iovec { iov_base: (from as usize + start) as *mut _, iov_len: bytes };
    let parts = [part(0, first), part(first, most - first)];
    // SAFETY: the caller's memory has that room; the kernel checks whether the source is mapped. All arguments are
    // words: the rest of a narrower one on the stack would be undefined.
    let copied = unsafe {
        let (process, flags) = (process as usize, 0_usize);
        libc::syscall(
            libc::SYS_process_vm_readv,
            process,
            &raw const local,
            1_usize,
            parts.as_ptr(),
            parts.len(),
            flags,
        )
    };
    usize::try_from(copied).unwrap_or(0).min(most)
}

/// Runs something that no signal handler interrupts, so that none leaves it for good: those of the C library for
/// cancellation are blocked, too.
pub(super) fn without_signals<T>(run: impl FnOnce() -> T) -> T {
    let all = u64::MAX;
    let mut before = 0_u64;
    let set = |how: c_int, new: &u64, old: *mut u64| {
        // SAFETY: the kernel reads and writes sets of 64 signals.
        unsafe {
            libc::syscall(libc::SYS_rt_sigprocmask, how as c_long, ptr::from_ref(new), old, size_of::<u64>()) == 0
        }
    };
    let blocked = set(libc::SIG_SETMASK, &all, &raw mut before);
    let result = run();
    if blocked {
        set(libc::SIG_SETMASK, &before, ptr::null_mut());
    }
    result
}
