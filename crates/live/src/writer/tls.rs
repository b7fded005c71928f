//! The words that every thread has of its own, reached without a call: `thread_local!` would call `__tls_get_addr`,
//! which may allocate. They are declared in assembly and read with the initial-exec model, as the locks do it
//! (`turnwise::platform::native`).

use crate::layout::Block;

core::arch::global_asm!(
    ".pushsection .tbss.turnwise_live,\"awT\",%nobits",
    ".hidden turnwise_live_words",
    ".globl turnwise_live_words",
    ".type turnwise_live_words,%object",
    ".size turnwise_live_words,16",
    ".p2align 4",
    "turnwise_live_words:",
    ".zero 16",
    ".popsection",
);

/// The words of a thread. Zeros: it has not asked for a block yet.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Words {
    /// Its block; null: it has none.
    pub(super) block: *const Block,
    /// 1, and the generation of the process that the block is of.
    pub(super) generation: u64,
}

/// Returns the thread pointer and the place of the calling thread's words.
#[inline(always)]
fn place() -> (usize, *mut Words) {
    let offset: usize;
    let base: usize;
    // SAFETY: reads the variable's offset from the thread pointer, and the thread pointer, which the ABI keeps at
    // %fs:0. Both are constant for a thread.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::asm!(
            "mov {offset}, qword ptr [rip + turnwise_live_words@GOTTPOFF]",
            "mov {base}, qword ptr fs:[0]",
            offset = out(reg) offset,
            base = out(reg) base,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    // SAFETY: reads the thread pointer, which is a register and constant for a thread.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        core::arch::asm!(
            "adrp {offset}, :gottprel:turnwise_live_words",
            "ldr {offset}, [{offset}, :gottprel_lo12:turnwise_live_words]",
            "mrs {base}, tpidr_el0",
            offset = out(reg) offset,
            base = out(reg) base,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    (base, base.wrapping_add(offset) as *mut Words)
}

/// Returns the calling thread's words.
#[inline(always)]
pub(super) fn get() -> Words {
    // SAFETY: the calling thread's own variable. Signal handlers may write it; hence volatile.
    unsafe { place().1.read_volatile() }
}

/// Sets the calling thread's words.
pub(super) fn set(words: Words) {
    // SAFETY: the calling thread's own variable.
    unsafe { place().1.write_volatile(words) }
}

/// Returns the calling thread's pointer.
pub(super) fn thread_pointer() -> u64 {
    place().0 as u64
}
