//! Work that takes a known time without reading a clock: a chain of dependent arithmetic, measured once per process.

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Runs `steps` dependent steps from `seed`: each needs the result of the one before, so none can overlap.
#[inline(never)]
#[must_use]
pub fn work(seed: u64, steps: u32) -> u64 {
    let mut x = seed | 1;
    for _ in 0..steps {
        x ^= x >> 29;
        x = x.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    x
}

/// Returns a number from half of `steps` to one and a half times as many, `steps` in the mean, which the high half of
/// `seed` determines: a result of [`work`] serves as a random number.
#[inline(always)]
#[must_use]
pub fn about(seed: u64, steps: u32) -> u32 {
    steps / 2 + (((seed >> 32) * (u64::from(steps) + 1)) >> 32) as u32
}

/// Returns how many steps of [`work`] take about `time` on this machine, call included. Measured at the first call for
/// each `time`, then remembered: every sample of a process works equally hard.
#[must_use]
pub fn steps_for(time: Duration) -> u32 {
    static KNOWN: Mutex<Option<HashMap<Duration, u32>>> = Mutex::new(None);
    if time.is_zero() {
        return 0;
    }
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    *known.get_or_insert_default().entry(time).or_insert_with(|| calibrate(time.as_nanos() as f64))
}

/// Returns the nanoseconds that `work(_, steps)` takes, as called in a loop: the fastest of several batches, since
/// interruptions only ever add.
#[must_use]
pub fn cost_ns(steps: u32) -> f64 {
    const BATCHES: u32 = 20;
    let calls = (40_000 / (steps + 1)).max(1);
    let batch = || {
        let begin = Instant::now();
        let mut x = 1;
        for _ in 0..calls {
            x = black_box(work(x, black_box(steps)));
        }
        begin.elapsed().as_secs_f64() * 1e9 / f64::from(calls)
    };
    (0..BATCHES).map(|_| batch()).fold(f64::INFINITY, f64::min)
}

/// Makes three corrections from a first guess; the cost is nearly linear in the steps.
fn calibrate(target_ns: f64) -> u32 {
    const MOST: f64 = 1e9;
    let mut steps = (target_ns / (cost_ns(20_000) / 20_000.0)).clamp(1.0, MOST);
    for _ in 0..3 {
        let cost = cost_ns(steps as u32);
        steps = (steps * target_ns / cost).clamp(1.0, MOST);
    }
    steps.round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_steps_take_more_time() {
        assert!(cost_ns(10_000) > 3.0 * cost_ns(1_000));
    }

    #[test]
    fn steps_vary_evenly_around_their_number() {
        assert_eq!((about(0, 40), about(u64::MAX, 40), about(u64::MAX, 0)), (20, 60, 0));
        let seeds = std::iter::successors(Some(1), |&seed| Some(work(seed, 1)));
        let sum: u32 = seeds.take(1000).map(|seed| about(seed, 40)).sum();
        assert!((39_000..41_000).contains(&sum), "{sum}");
    }

    #[test]
    fn calibration_is_in_the_right_range_and_remembered() {
        let time = Duration::from_micros(5);
        let steps = steps_for(time);
        assert_eq!(steps, steps_for(time));
        // Generous: the machine may be busy, which makes the steps seem expensive.
        let cost = cost_ns(steps);
        assert!((1_000.0..25_000.0).contains(&cost), "{steps} steps cost {cost} ns");
        assert_eq!(steps_for(Duration::ZERO), 0);
    }
}
