//! The per-thread pointer, accessed without a call. Its user defines what it points to.

use turnwise_interpose::thread_variable;

thread_variable! {
    /// Returns the thread pointer, and the address of the calling thread's variable.
    fn place() -> "turnwise_recorder_state" of 8 bytes
}

/// Returns the calling thread's pointer; null if it has none yet.
#[inline(always)]
pub(crate) fn get<T>() -> *const T {
    #[cfg(target_arch = "x86_64")]
    {
        let state: *const T;
        // SAFETY: reads the calling thread's own variable, without an addition in its latency. Signal handlers may
        // write it; hence not `pure`.
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
        place().1.cast::<*const T>().read_volatile()
    }
}

/// Sets the calling thread's pointer.
pub(crate) fn set<T>(state: *const T) {
    // SAFETY: writes the calling thread's own variable.
    unsafe { place().1.cast::<*const T>().write_volatile(state) }
}
