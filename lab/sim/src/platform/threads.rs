//! Names of threads for re-entrant locks.

use super::Sim;
use crate::engine;
use std::num::NonZeroU64;
use turnwise::reentrant::Threads;

// SAFETY: numbers of threads are not reused within a simulation, and none is as large as the name of a caller that is
// not a simulated thread.
unsafe impl Threads for Sim {
    fn thread() -> NonZeroU64 {
        let number = if engine::inside() { u64::from(Sim::thread()) } else { u64::from(u32::MAX) };
        NonZeroU64::MIN.saturating_add(number)
    }
}
