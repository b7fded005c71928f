//! The recorder's own memory, by system calls: `malloc` may be the program's, and take its locks.

use core::ptr::NonNull;
pub(crate) use turnwise_interpose::{errno, keeping_errno, zeroed};

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

/// Unmaps pages.
pub(crate) fn release(memory: NonNull<u8>, bytes: usize) {
    // SAFETY: the caller's own mapping, which is no longer used.
    unsafe { libc::munmap(memory.as_ptr().cast(), bytes) };
}

/// Makes pages of the mapped file writable now, so that a full disk is an error here and not a signal later.
pub(crate) fn populate(start: *mut u8, bytes: usize) -> bool {
    matches!(turnwise_interpose::populate(start, bytes), Ok(()) | Err(libc::EINVAL))
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
