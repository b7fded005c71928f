//! Waits that are kept individually.

use crate::writer::Cursor;
use core::cell::Cell;
use turnwise_recording::Episode;

/// A thread's episodes.
pub(crate) struct Episodes {
    pub(crate) cursor: Cursor,
    /// The episode that shows brief waits while they last.
    pub(crate) under_way: Cell<Option<&'static Episode>>,
}

impl Episodes {
    /// Counts the last episode begun: from now on the reader reads it.
    pub(crate) fn publish(&self) {
        self.cursor.publish();
    }

    /// Returns whether this is the episode that shows brief waits.
    pub(crate) fn is_for_brief_waits(&self, episode: &Episode) -> bool {
        self.under_way.get().is_some_and(|ours| core::ptr::eq(ours, episode))
    }

    /// Keeps the current wait's episode, as it turned out to be one to keep: the next wait takes another.
    pub(crate) fn keep_brief_wait(&self) {
        self.under_way.set(None);
    }
}
