//! Ticks as nanoseconds since the recording began.

use turnwise_recording::{CLOCK_TSC, HeaderCopy};

/// Two clocks, compared at two moments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    start: u64,
    ns_per_tick: f64,
}

impl Clock {
    pub(super) fn of(header: &HeaderCopy) -> Clock {
        let ticks = header.ticks_end.saturating_sub(header.ticks_start);
        let ns = header.monotonic_end.saturating_sub(header.monotonic_start);
        let measured = if ticks == 0 { 1.0 } else { ns as f64 / ticks as f64 };
        Clock { start: header.ticks_start, ns_per_tick: if header.clock == CLOCK_TSC { measured } else { 1.0 } }
    }

    /// Converts a length of time.
    pub(super) fn ns(&self, ticks: u64) -> u64 {
        (ticks as f64 * self.ns_per_tick).round() as u64
    }

    /// Converts a point in time.
    pub(super) fn since_start(&self, at: u64) -> u64 {
        self.ns(at.saturating_sub(self.start))
    }
}

#[cfg(test)]
mod tests {
    use super::Clock;

    impl Clock {
        /// A clock with ticks of a nanosecond.
        pub(in crate::analysis) const NANOSECONDS: Clock = Clock { start: 0, ns_per_tick: 1.0 };
    }
}
