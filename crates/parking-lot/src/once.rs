//! Initialisation by one thread, for which others wait.

use core::fmt;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::{RawLock, RawMutex};

/// The state of a [`Once`].
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum OnceState {
    /// No closure has run.
    New,
    /// A closure has panicked.
    Poisoned,
    /// A thread runs a closure.
    InProgress,
    /// A closure has completed.
    Done,
}

impl OnceState {
    const ALL: [OnceState; 4] = [OnceState::New, OnceState::Poisoned, OnceState::InProgress, OnceState::Done];

    /// Returns whether a closure has panicked, and none has completed since.
    pub fn poisoned(self) -> bool {
        self == OnceState::Poisoned
    }

    /// Returns whether a closure has completed.
    pub fn done(self) -> bool {
        self == OnceState::Done
    }
}

/// A closure that is run once, whichever thread comes first.
pub struct Once {
    /// An [`OnceState`]. It leaves `Done` never, and changes only with `running` locked.
    state: AtomicU8,
    running: RawMutex,
}

impl Once {
    /// Creates one whose closure has not run.
    pub const fn new() -> Once {
        Once { state: AtomicU8::new(OnceState::New as u8), running: RawMutex::new() }
    }

    /// Returns its state.
    pub fn state(&self) -> OnceState {
        // ORDERING: pairs with the Release store of `Done`: shows what the closure wrote.
        OnceState::ALL[usize::from(self.state.load(Acquire))]
    }

    /// Runs the closure unless one has completed; waits while another thread runs one.
    ///
    /// # Panics
    /// If an earlier closure has panicked. A closure that calls this again on the same value waits for ever.
    #[inline]
    pub fn call_once<F: FnOnce()>(&self, run: F) {
        if !self.state().done() {
            let mut run = Some(run);
            self.slow(false, &mut |_| run.take().into_iter().for_each(|run| run()));
        }
    }

    /// Does the same even if an earlier closure has panicked, as the state says that the closure receives.
    #[inline]
    pub fn call_once_force<F: FnOnce(OnceState)>(&self, run: F) {
        if !self.state().done() {
            let mut run = Some(run);
            self.slow(true, &mut |state| run.take().into_iter().for_each(|run| run(state)));
        }
    }

    #[cold]
    fn slow(&self, force: bool, run: &mut dyn FnMut(OnceState)) {
        self.running.lock();
        let before = self.state();
        let mut running = Running { once: self, after: before };
        match before {
            OnceState::Done => return,
            OnceState::Poisoned if !force => panic!("Once instance has previously been poisoned"),
            _ => {}
        }
        self.state.store(OnceState::InProgress as u8, Relaxed);
        running.after = OnceState::Poisoned;
        run(before);
        running.after = OnceState::Done;
    }
}

/// The locked mutex of a [`Once`]: unlocked when dropped, with the state that is then due.
struct Running<'a> {
    once: &'a Once,
    after: OnceState,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        // ORDERING: pairs with the Acquire load in `state`: publishes what the closure wrote.
        self.once.state.store(self.after as u8, Release);
        // SAFETY: contract of `RawLock::unlock`: `slow` has locked it, on this thread.
        unsafe { self.once.running.unlock() }
    }
}

impl Default for Once {
    fn default() -> Once {
        Once::new()
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once").field("state", &self.state()).finish()
    }
}
