//! The interface of the table of sleeping threads to a system. `proof/model` has its own systems, for the same table.

use super::{Clock, Word};

/// A system: words, locks and sleeps.
pub(crate) trait System: Sized + 'static {
    /// A word that threads park on, and the word in its record that a parked thread sleeps on.
    type Word: Word<Value = u32>;
    /// A record's link to the next in its queue.
    type Link<T: 'static>: Link<T>;
    /// A lock with the data it protects.
    type Lock<T: Send + 'static>;
    /// A thread, as one that wakes it knows it.
    type Thread: Clone;

    /// Runs `body` with the lock held.
    fn locked<T: Send, R>(lock: &Self::Lock<T>, body: impl FnOnce(&mut T) -> R) -> R;

    /// Returns the calling thread.
    fn this() -> Self::Thread;

    /// Sleeps while the word is `expected`, for `ns` nanoseconds at most. It may return spuriously.
    #[track_caller]
    fn wait(word: &Self::Word, expected: u32, ns: Option<u64>);

    /// Ends the sleep of a thread on this address; the word may be gone. A thread that changes the word and then wakes
    /// misses no sleeper.
    #[track_caller]
    fn wake(thread: &Self::Thread, word: *const Self::Word);

    /// Returns nanoseconds on a clock.
    fn time(clock: Clock) -> u64;
}

/// A pointer to a record that threads read and write one after the other, null at first.
pub(crate) trait Link<T>: Default {
    /// Returns the pointer.
    fn get(&self) -> *const T;

    /// Changes the pointer.
    fn set(&self, to: *const T);
}
