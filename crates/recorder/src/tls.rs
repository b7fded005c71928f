//! The pointer that every thread has of its own, reached without a call. What it points to is its user's.
//!
//! `thread_local!` would call `__tls_get_addr`, which may allocate. The variable is declared in assembly and read with
//! the initial-exec model, as the locks do it (`turnwise::platform::native`).

core::arch::global_asm!(
    ".pushsection .tbss.turnwise_recorder,\"awT\",%nobits",
    ".hidden turnwise_recorder_state",
    ".globl turnwise_recorder_state",
    ".type turnwise_recorder_state,%object",
    ".size turnwise_recorder_state,8",
    ".p2align 3",
    "turnwise_recorder_state:",
    ".zero 8",
    ".popsection",
);

/// Where the calling thread's pointer is.
#[inline(always)]
fn place<T>() -> *mut *const T {
    let offset: usize;
    let base: usize;
    // SAFETY: reads the variable's offset from the thread pointer, and the thread pointer, which the ABI keeps at
    // %fs:0. Both are constant for a thread.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::asm!(
            "mov {offset}, qword ptr [rip + turnwise_recorder_state@GOTTPOFF]",
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
            "adrp {offset}, :gottprel:turnwise_recorder_state",
            "ldr {offset}, [{offset}, :gottprel_lo12:turnwise_recorder_state]",
            "mrs {base}, tpidr_el0",
            offset = out(reg) offset,
            base = out(reg) base,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    base.wrapping_add(offset) as *mut *const T
}

/// The calling thread's pointer; null if it has none yet.
#[inline(always)]
pub(crate) fn get<T>() -> *const T {
    #[cfg(target_arch = "x86_64")]
    {
        let state: *const T;
        // SAFETY: reads the calling thread's own variable, without an addition to wait for. Signal handlers may write
        // it; hence not `pure`.
        unsafe {
            core::arch::asm!(
                "mov {state}, qword ptr [rip + turnwise_recorder_state@GOTTPOFF]",
                "mov {state}, qword ptr fs:[{state}]",
                state = out(reg) state,
                options(readonly, nostack, preserves_flags),
            );
        }
        state
    }
    // SAFETY: the calling thread's own variable. Signal handlers may write it; hence volatile.
    #[cfg(not(target_arch = "x86_64"))]
    unsafe {
        place::<T>().read_volatile()
    }
}

/// Sets the calling thread's pointer.
pub(crate) fn set<T>(state: *const T) {
    // SAFETY: writes the calling thread's own variable.
    unsafe { place::<T>().write_volatile(state) }
}
