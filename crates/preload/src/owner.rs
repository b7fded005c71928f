//! A thread's identity for mutexes that must know their owner: its thread pointer.
//!
//! Unlike turnwise's tokens it is never shared; unlike a thread id it costs no system call and stays the same in a
//! forked child, so a child handler can release what the parent's thread took. No two threads that live at the same
//! time share it. If a thread exits with a mutex locked, the thread that reuses its memory becomes the owner; POSIX
//! leaves that case undefined.

/// Returns the calling thread's identity; never 0.
#[inline(always)]
pub(crate) fn current() -> usize {
    let pointer: usize;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the ABI keeps the thread pointer at %fs:0.
    unsafe {
        core::arch::asm!("mov {p}, fs:[0]", p = out(reg) pointer, options(pure, readonly, nostack, preserves_flags));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: the ABI keeps the thread pointer in TPIDR_EL0.
    unsafe {
        core::arch::asm!("mrs {}, tpidr_el0", out(reg) pointer, options(pure, nomem, nostack, preserves_flags));
    }
    pointer
}
