//! The pointer that every thread has of its own, reached without a call. What it points to is its user's.

use turnwise_interpose::thread_variable;

thread_variable! {
    /// Returns the thread pointer, and where the calling thread's variable is.
    fn place() -> "turnwise_recorder_state" of 8 bytes
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
        place().1.cast::<*const T>().read_volatile()
    }
}

/// Sets the calling thread's pointer.
pub(crate) fn set<T>(state: *const T) {
    // SAFETY: writes the calling thread's own variable.
    unsafe { place().1.cast::<*const T>().write_volatile(state) }
}
