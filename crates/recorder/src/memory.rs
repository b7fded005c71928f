//! The recorder's own memory, by system calls: `malloc` may be the program's, and take its locks.

use core::ffi::c_void;
use core::ptr::{self, NonNull};
use libc::{MAP_ANONYMOUS, MAP_NORESERVE, MAP_PRIVATE, PROT_READ, PROT_WRITE};

/// Maps pages of zeros, which are zero again in a forked child.
pub(crate) fn wiped_on_fork(bytes: usize) -> Option<NonNull<u8>> {
    let memory = zeroed(bytes)?;
    // SAFETY: the mapping is ours.
    if unsafe { libc::madvise(memory.as_ptr().cast(), bytes, libc::MADV_WIPEONFORK) } != 0 {
        release(memory, bytes);
        return None;
    }
    Some(memory)
}

/// Maps pages of zeros.
pub(crate) fn zeroed(bytes: usize) -> Option<NonNull<u8>> {
    let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    // SAFETY: a new mapping, at an address of the kernel's choice.
    let memory = unsafe { libc::mmap(ptr::null_mut(), bytes, PROT_READ | PROT_WRITE, flags, -1, 0) };
    if memory == libc::MAP_FAILED { None } else { NonNull::new(memory.cast()) }
}

/// Unmaps pages.
pub(crate) fn release(memory: NonNull<u8>, bytes: usize) {
    // SAFETY: the caller's own mapping, which is no longer used.
    unsafe { libc::munmap(memory.as_ptr().cast(), bytes) };
}

/// Makes pages of the mapped file writable now, so that a full disk is an error here and not a signal later.
pub(crate) fn populate(start: *mut u8, bytes: usize) -> bool {
    const MADV_POPULATE_WRITE: libc::c_int = 23;
    // SAFETY: the mapping of the recording.
    let result = unsafe { libc::madvise(start.cast::<c_void>(), bytes, MADV_POPULATE_WRITE) };
    // Kernels before 5.14 do not know the request.
    result == 0 || errno() == libc::EINVAL
}

/// Reads the calling thread's errno.
pub(crate) fn errno() -> libc::c_int {
    // SAFETY: the C library's variable of this thread.
    unsafe { *libc::__errno_location() }
}

/// Runs something that may change errno, and restores it: the program must not see our system calls.
pub(crate) fn keeping_errno<T>(run: impl FnOnce() -> T) -> T {
    let saved = errno();
    let result = run();
    // SAFETY: errno is the C library's variable of this thread.
    unsafe { *libc::__errno_location() = saved };
    result
}

/// Fetches the cache line at an address, which need not be valid, and does not wait for it.
#[inline(always)]
pub(crate) fn fetch<T>(at: *const T) {
    // SAFETY: changes nothing, and does not fault.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::asm!("prefetcht0 [{}]", in(reg) at, options(readonly, nostack, preserves_flags));
    }
    // SAFETY: the instruction changes nothing, and does not fault.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        core::arch::asm!("prfm pldl1keep, [{}]", in(reg) at, options(readonly, nostack, preserves_flags));
    }
}
