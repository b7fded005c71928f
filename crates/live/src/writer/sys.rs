//! The system: no call is a cancellation point or takes a lock of the C library. Those of rustix leave errno alone.

use crate::layout::PAGE;
use core::ffi::{CStr, c_int, c_long};
use core::ptr::{self, NonNull};
use rustix::fd::AsFd;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap, mmap_anonymous, mprotect, munmap};
use rustix::process::{Pid, test_kill_process};
use rustix::thread::{SecureComputingMode, Timespec, nanosleep, secure_computing_mode};
use turnwise_interpose::errno;
pub(super) use turnwise_interpose::{File, keeping_errno, limit, nanoseconds, populate, store_bytes, zeroed};

/// Opens a file or a folder, if it is not a link.
pub(super) fn open(at: impl AsFd, path: &CStr, flags: OFlags, mode: u32) -> Option<File> {
    rustix::fs::openat(at, path, flags | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::from_raw_mode(mode))
        .map(File::from)
        .ok()
}

/// Maps a file's first bytes, shared. It takes two steps: if `mlockall` requires all future mappings to be in memory,
/// one step would fetch the whole file.
pub(super) fn map(file: &File, bytes: usize) -> Option<NonNull<u8>> {
    // SAFETY: a new mapping at an address of the kernel's choice touches no memory in use.
    let map = unsafe { mmap(ptr::null_mut(), bytes, ProtFlags::empty(), MapFlags::SHARED, file, 0) }.ok()?;
    // SAFETY: the mapping is new.
    if unsafe { mprotect(map, bytes, MprotectFlags::READ | MprotectFlags::WRITE) }.is_err() {
        // SAFETY: the mapping is new, and unused.
        unsafe { unmap(map.cast(), bytes) };
        return None;
    }
    // Otherwise the first fault reads ahead, by the disk's setting: 8 MB of holes took 4 to 10 ms.
    // SAFETY: the mapping is new.
    let _ = unsafe { madvise(map, bytes, Advice::Random) };
    NonNull::new(map.cast())
}

/// Replaces a mapping by private memory: later writes to it have no effect elsewhere.
///
/// # Safety
/// The mapping is ours.
pub(super) unsafe fn replace(start: *mut u8, bytes: usize) {
    let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::NORESERVE);
    // SAFETY: contract of `replace`.
    let _ = unsafe { mmap_anonymous(start.cast(), bytes, access, flags | MapFlags::FIXED) };
}

/// Unmaps a mapping.
///
/// # Safety
/// The mapping is ours, and is not used.
pub(super) unsafe fn unmap(start: *mut u8, bytes: usize) {
    // SAFETY: contract of `unmap`.
    let _ = unsafe { munmap(start.cast(), bytes) };
}

/// Returns the process's number: not the C library's cached copy, which may be missing in a forked child.
pub(super) fn process() -> u32 {
    rustix::process::getpid().as_raw_pid().cast_unsigned()
}

/// Returns the thread's number.
pub(super) fn thread() -> u32 {
    rustix::thread::gettid().as_raw_pid().cast_unsigned()
}

/// Returns whether there is no such process.
pub(super) fn is_process_gone(process: u32) -> bool {
    let Ok(process) = i32::try_from(process) else { return true };
    Pid::from_raw(process).is_some_and(|process| test_kill_process(process) == Err(Errno::SRCH))
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
    !matches!(secure_computing_mode(), Ok(SecureComputingMode::Disabled) | Err(Errno::INVAL))
}

/// Reads `CLOCK_MONOTONIC`.
pub(super) fn monotonic_ns() -> u64 {
    nanoseconds(libc::CLOCK_MONOTONIC)
}

/// Sleeps, for less time if a signal arrives.
pub(super) fn sleep_ns(ns: u64) {
    let _ = nanosleep(&Timespec { tv_sec: 0, tv_nsec: ns as c_long });
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
