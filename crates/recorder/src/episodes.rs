//! Waits that are kept individually.

use crate::holder::Holder;
use crate::mapping::add;
use crate::state::State;
use crate::writer::{Cursor, one_in};
use core::cell::Cell;
use core::sync::atomic::Ordering::Relaxed;
use turnwise_recording::{ChunkKind, Entry, Episode, Ref};

/// A thread's episodes.
pub(crate) struct Episodes {
    cursor: Cursor,
    /// The episode that shows brief waits while they last.
    under_way: Cell<Option<&'static Episode>>,
}

impl State {
    /// Keeps the wait individually, if there is room. As room gets scarce, it keeps a part of the waits, so that the
    /// end of a long run is also covered.
    pub(crate) fn begin_episode(
        &self,
        entry: &'static Entry,
        stack: Option<(Ref, u32)>,
        holder: Option<Holder>,
    ) -> Option<&'static Episode> {
        let State { writer, sampling, episodes, .. } = self;
        let one_in = one_in(&writer.mapping().header().episode_pages);
        let kept = one_in.is_some_and(|one_in| sampling.waits.get().is_multiple_of(one_in));
        let taken = kept.then(|| episodes.cursor.take::<Episode>(writer, ChunkKind::Episodes)).flatten();
        let Some(episode) = taken else {
            add(&writer.record().dropped, 1);
            return None;
        };
        episode.entry.store(writer.mapping().place_of(entry), Relaxed);
        episode.thread.store(writer.index(), Relaxed);
        describe(episode, stack, holder);
        Some(episode)
    }

    /// Returns an episode that the thread keeps for brief waits: its entry is 0 between them, and readers skip it.
    pub(crate) fn brief_episode(&self, entry: &'static Entry) -> Option<&'static Episode> {
        let begin = || {
            let episode = self.begin_episode(entry, None, None)?;
            episode.entry.store(0, Relaxed);
            self.episodes.publish();
            Some(episode)
        };
        let under_way = &self.episodes.under_way;
        under_way.set(under_way.get().or_else(begin));
        under_way.get().inspect(|episode| episode.thread.store(self.writer.index(), Relaxed))
    }
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

/// Notes the stack of the wait, and the lock's holder.
pub(crate) fn describe(episode: &Episode, stack: Option<(Ref, u32)>, holder: Option<Holder>) {
    episode.stack.store(stack.map_or(0, |(stack, _)| stack), Relaxed);
    if let Some(holder) = holder {
        episode.holder.store(holder.thread + 1, Relaxed);
        episode.holder_site.store(holder.site, Relaxed);
    }
}
