//! The versions of the mutex: what the paper changed.

use super::mcs::SpinnerQueue;
use crate::sealed::Sealed;
use turnwise::platform::Platform;

/// A version of the mutex. The four types below are all there are.
pub trait Policy: Sealed + Send + Sync + 'static {
    /// Whether waiters spin while the owner runs.
    const SPINS: bool;
    /// Patch 1: whether waiters poll the count before an atomic operation on it that may fail.
    const LOOKS_FIRST: bool;
    /// Patch 2: the type of the spinners' queue.
    type Spinners<P: Platform>: Spinners<P>;
}

versions! {
    /// The mutex of Linux 3.7: every spinner tries a compare-exchange, free or not, as soon as there is no owner.
    Baseline { const SPINS: bool = true; const LOOKS_FIRST: bool = false; type Spinners<P: Platform> = Crowd; }
    /// Baseline with patch 1: poll the count first.
    Patch1 { const SPINS: bool = true; const LOOKS_FIRST: bool = true; type Spinners<P: Platform> = Crowd; }
    /// Baseline with both patches: the spinners queue, and only the first competes.
    Patch1And2 {
        const SPINS: bool = true;
        const LOOKS_FIRST: bool = true;
        type Spinners<P: Platform> = SpinnerQueue<P>;
    }
    /// Both patches, compiled without spinning.
    NoSpin { const SPINS: bool = false; const LOOKS_FIRST: bool = true; type Spinners<P: Platform> = Crowd; }
}

/// How the spinners relate to each other.
pub trait Spinners<P: Platform>: Sealed + Send + Sync + 'static {
    /// Whether a thread checks for a running owner before it begins to spin.
    const GATE: bool;
    /// Creates a queue without spinners, on any platform.
    fn new_in() -> Self;
    /// Runs one round of a spinner.
    fn round<R>(&self, round: impl FnOnce() -> R) -> R;
}

/// Spinners that do not coordinate.
pub struct Crowd;

impl<P: Platform> Spinners<P> for Crowd {
    const GATE: bool = false;
    fn new_in() -> Self {
        Crowd
    }
    #[inline]
    fn round<R>(&self, round: impl FnOnce() -> R) -> R {
        round()
    }
}

impl<P: Platform> Spinners<P> for SpinnerQueue<P> {
    const GATE: bool = true;
    fn new_in() -> Self {
        SpinnerQueue::new_in()
    }
    #[inline]
    fn round<R>(&self, round: impl FnOnce() -> R) -> R {
        self.take_turn(round)
    }
}

impl Sealed for Crowd {}
impl<P: Platform> Sealed for SpinnerQueue<P> {}
