//! The per-thread pointer to the state, accessed without a call.

use crate::state::State;
use turnwise_interpose::thread_variable;

thread_variable! {
    /// The calling thread's state; null if it has none yet.
    pub(crate) struct Current(*const State) as "turnwise_recorder_state" of 8 bytes
}

impl Current {
    /// Does what [`Current::get`] does, on x86-64 without an addition in its latency.
    #[inline(always)]
    pub(crate) fn quickly() -> *const State {
        #[cfg(target_arch = "x86_64")]
        {
            let state: *const State;
            // SAFETY: reads the calling thread's own variable. Signal handlers may write it; hence not `pure`.
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
        #[cfg(not(target_arch = "x86_64"))]
        Current::get()
    }
}
