//! "Does the owner run?" These systems give a thread no information about another, so this is unknown.

use crate::platform::{OnCpu, Token};

/// Returns whether threads have areas that show their CPUs.
pub(crate) fn is_registered() -> bool {
    false
}

/// Implements [`crate::platform::Platform::on_cpu`].
pub(crate) fn on_cpu_at(_token: Token, _now: impl FnOnce() -> u64) -> OnCpu {
    OnCpu::Unknown
}

/// The calling thread as a spinner, invisible to other threads.
pub(crate) struct Spinner;

impl Spinner {
    pub(crate) fn new() -> Self {
        Spinner
    }

    pub(crate) fn refresh(&self, _now: u64) {}
}

/// The state that a thread publishes to others: none.
pub(crate) struct Area;

impl Area {
    pub(crate) const fn new() -> Self {
        Area
    }

    pub(crate) fn enter(&self) {}

    pub(crate) fn leave(&self) {}
}
