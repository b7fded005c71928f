//! The user's request to stop: Ctrl-C, or a termination signal.

use anyhow::Result;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag::{register, register_conditional_shutdown};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};
use turnwise_present::ending::INTERRUPTED;

/// The interval of checks for a request to stop.
const LOOK: Duration = Duration::from_millis(20);

/// Returns a flag that each request sets; with `second_ends`, a second one ends turnwise immediately.
pub(crate) fn flag(second_ends: bool) -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        if second_ends {
            register_conditional_shutdown(signal, INTERRUPTED.into(), Arc::clone(&stop))?;
        }
        register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

/// Returns whether the time passed before a request to stop.
pub(crate) fn sleep(time: Duration, stop: &AtomicBool) -> bool {
    let end = Instant::now() + time;
    while !stop.load(Relaxed) {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        std::thread::sleep(left.min(LOOK));
    }
    false
}
