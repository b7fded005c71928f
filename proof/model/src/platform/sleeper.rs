//! A thread that sleeps on a word.

use std::fmt;
use turnwise::platform::Lane;

/// A thread asleep.
#[derive(Clone, Copy)]
pub(super) struct Sleeper {
    pub(super) thread: usize,
    /// The word that it sleeps on, by address: it may be gone.
    pub(super) word: *const (),
    pub(super) lane: Lane,
    pub(super) expected: u32,
    pub(super) moved: bool,
}

impl fmt::Display for Sleeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moved = if self.moved { ", moved there by a requeue" } else { "" };
        write!(f, "word {:p} in lane {:?}, which held {:#x}{moved}", self.word, self.lane, self.expected)
    }
}
