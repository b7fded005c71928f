//! Turns on the CPU among threads that contend for one lock.

use super::policy;
use crate::platform::Platform;
use crate::platform::slot::{Private, Quantum};

/// Offers the CPU at the end of a turn.
///
/// A `patient` thread contends seldom: it reads the clock each time, and only a longer gap counts.
pub(crate) fn yield_quantum<P: Platform>(private: &Private, address: usize, patient: bool, turn_ns: u64) {
    let turn_ticks = policy().turn_ticks;
    let (ticks, gap_ns) = if patient { (1, turn_ns * 2) } else { (turn_ticks as u32, turn_ns / 2) };
    let mut turn = private.quantum.get();
    turn.ticks = turn.ticks.wrapping_add(1);
    if turn.ticks.is_multiple_of(ticks) {
        let now = P::now();
        // After a gap the thread was off the CPU, or did something else: its turn begins anew.
        if turn.address != address || now.saturating_sub(turn.seen) > gap_ns {
            turn = Quantum { address, since: now, ..turn };
        } else if now.saturating_sub(turn.since) > turn_ns {
            P::offer();
            turn.since = P::now();
        }
        turn.seen = now.max(turn.since);
    }
    private.quantum.set(turn);
}
