//! Counts for the locks that a thread holds: how long it holds them, and which it took under which.

use crate::clock;
use crate::detail::{self, Acquisition, HoldClass, Limit};
use crate::held::{Contexts, HELD, Held, HeldLocks, NEVER_HELD, PENDING};
use crate::mapping::{SPREAD, add};
use crate::sampling::HOLD_ONE_IN;
use crate::state::State;
use crate::waits::{self, Waited};
use crate::writer::{Cursor, Writer};
use core::cell::Cell;
use core::hint::cold_path;
use core::ptr;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;
use turnwise_recording::{ChunkKind, Edge, Entry, Episode, LAST_EDGE, Thread};

/// The number of orders that a thread remembers.
const NOTED: usize = 8192;
/// The number of edges that one thread may write: 256 pages of them.
const EDGES: u32 = (256 * turnwise_recording::PAGE / size_of::<Edge>() as u64) as u32;

/// The facts about a hold.
#[derive(Clone, Copy)]
pub(crate) struct HoldInfo {
    /// The acquisitions that the hold stands for, if it is measured.
    pub(crate) measured: Option<HoldClass>,
    pub(crate) episode: Option<&'static Episode>,
    /// The condition variable whose wait ended with this acquisition; 0: none.
    pub(crate) woken_by: u64,
    /// The wait before it, if that is still to be counted: it was short, and is counted after the release, so that
    /// waiters need not wait for that.
    pub(crate) wait: Option<Waited>,
}

impl HoldInfo {
    /// The release is to be seen, but there is nothing to record about the hold.
    const NOTHING: HoldInfo = HoldInfo { measured: None, episode: None, woken_by: 0, wait: None };
}

/// The counts due after the release of a lock that the thread holds.
struct Pending {
    /// Ticks at the acquisition.
    since: Cell<u64>,
    info: Cell<HoldInfo>,
}

/// What a thread remembers of its holds besides the locks.
pub(crate) struct HoldNotes {
    /// For the held locks, from the first.
    pending: [Pending; HELD],
    pub(crate) contexts: Contexts,
    /// The number of edges written.
    written: Cell<u32>,
    /// What has been written: pairs of locks of which the thread took the second under the first alone, and contexts of
    /// more. Atomics for the same reason as [`Contexts`].
    noted: [AtomicU64; NOTED],
    edges: Cursor,
    /// The number of misuses noted.
    pub(crate) misused: Cell<u32>,
    pub(crate) misuses: Cursor,
}

/// Counts an acquisition in advance. `false`: its hold is to be measured, so nothing is counted.
#[inline(always)]
pub(crate) fn count(record: &Thread, entry: &Entry) -> bool {
    let (left, so_far) = (record.left.load(Relaxed), entry.acquisitions.load(Relaxed));
    if left == 1 {
        cold_path();
        return false;
    }
    record.left.store(left.wrapping_sub(1), Relaxed);
    entry.acquisitions.store(so_far.wrapping_add(1), Relaxed);
    true
}

/// Takes back what `count` counted.
pub(crate) fn uncount(record: &Thread, entry: &Entry) {
    record.left.store(record.left.load(Relaxed).wrapping_add(1), Relaxed);
    entry.acquisitions.store(entry.acquisitions.load(Relaxed).wrapping_sub(1), Relaxed);
}

impl HoldNotes {
    /// Forgets the notes of the previous thread.
    pub(crate) fn begin(&self) {
        self.written.set(0);
        self.misused.set(0);
        self.noted.iter().for_each(|known| known.store(0, Relaxed));
        self.contexts.clear();
    }

    /// Announces a lock as [`HeldLocks::announce`] does, for a thread that may have noted this order some time ago.
    pub(crate) fn announce(&self, locks: &HeldLocks, entry: &Entry, address: u64, ordered: bool) -> bool {
        if locks.depth() >= HELD {
            return false;
        }
        if ordered && locks.depth() != 0 {
            let context = locks.context(locks.depth(), entry);
            let others = locks.all().iter().filter(|held| held.address() != address);
            if self.has_noted(context)
                || self.is_no_news(others.map(|held| held.entry.load(Relaxed).cast_const()), entry)
            {
                self.contexts.remember(context);
            }
        }
        locks.announce(&self.contexts, entry, address, ordered)
    }

    /// Returns the slot of a key, which is not 0.
    fn slot(&self, key: u64) -> &AtomicU64 {
        &self.noted[(key.wrapping_mul(SPREAD) >> 32) as usize % NOTED]
    }

    pub(crate) fn has_noted(&self, key: u64) -> bool {
        self.slot(key).load(Relaxed) == key
    }

    pub(crate) fn remember(&self, key: u64) {
        self.slot(key).store(key, Relaxed);
    }

    /// Returns whether the thread took a lock under each of these alone before: then it matters no more that it does so
    /// under all of them.
    fn is_no_news(&self, mut held: impl Iterator<Item = *const Entry>, entry: *const Entry) -> bool {
        held.all(|held| self.has_noted(pair(held, entry)))
    }

    /// Records that the thread took a lock under others, once for each context (more often if the table is too small).
    /// The acquired lock may be among them. `None` instead of a lock: it is not known, and so it is not known either
    /// who would be kept away; nothing is recorded then.
    pub(crate) fn note_order(
        &self,
        writer: &Writer,
        held: impl Iterator<Item = Option<&'static Entry>> + Clone,
        entry: &Entry,
        context: u64,
    ) {
        let lock = entry.lock.load(Relaxed);
        let others = held.clone().flatten().filter(|held| held.lock.load(Relaxed) != lock);
        let number = held.clone().count() as u32;
        let is_known = self.has_noted(context) || self.is_no_news(others.map(ptr::from_ref), entry);
        if is_known || held.clone().any(|held| held.is_none()) || self.written.get() + number > EDGES {
            return;
        }
        let acquisition = self.written.get() + 1;
        for (place, held) in (1..).zip(held.clone().flatten()) {
            let Some(edge) = self.edges.take::<Edge>(writer, ChunkKind::Edges) else { return };
            edge.held.store(writer.mapping().place_of(held), Relaxed);
            edge.acquired.store(writer.mapping().place_of(entry), Relaxed);
            edge.thread.store(writer.index(), Relaxed);
            edge.acquisition.store(acquisition | if place == number { LAST_EDGE } else { 0 }, Relaxed);
            self.edges.publish();
        }
        self.written.set(self.written.get() + number);
        let key = match held.flatten().next() {
            Some(only) if number == 1 => pair(only, entry),
            _ => context,
        };
        self.remember(key);
    }
}

/// Returns the key of a lock that was taken under another alone. Entries are cache lines, so 32 bits of their addresses
/// distinguish those within 256 GB.
fn pair(first: *const Entry, second: *const Entry) -> u64 {
    let [first, second] = [first, second].map(|entry| (entry.addr() / size_of::<Entry>()) as u32);
    u64::from(first) << 32 | u64::from(second)
}

/// All operations on a thread's holds that take more than [`HeldLocks`] alone.
impl State {
    /// Adds a lock acquired without a wait that the thread did not announce. `ordered`: it would have waited for it.
    pub(crate) fn push_without_wait(&self, entry: &'static Entry, ordered: bool) {
        let record = self.writer.record();
        let mut left = record.left.load(Relaxed).wrapping_sub(1);
        if left == 0 && self.steps.see_all() {
            add(&record.ahead, 1);
            left = 1;
        }
        record.left.store(left, Relaxed);
        let so_far = entry.acquisitions.load(Relaxed);
        let single = so_far < self.sampling.first_acquisitions.get();
        let since = if left == 0 || single { self.sample(entry, left == 0, single) } else { 0 };
        let stands_for = if single { HoldClass::Single } else { HoldClass::Sampled };
        let measured = (since != 0).then_some(stands_for);
        let info = HoldInfo { measured, episode: None, woken_by: 0, wait: None };
        self.push(entry, ordered, since, info);
    }

    /// Begins to measure a hold; returns ticks, or 0.
    fn sample(&self, entry: &Entry, due: bool, single: bool) -> u64 {
        let record = self.writer.record();
        if due {
            let interval = if self.steps.are_due() { 1 } else { self.sampling.interval(HOLD_ONE_IN) };
            add(&record.ahead, u64::from(interval));
            record.left.store(interval, Relaxed);
        }
        let limit = if due { Limit::Samples } else { Limit::Rare };
        let Some(detail) = detail::of(&self.writer, &entry.detail, limit) else {
            if !due {
                self.sampling.first_acquisitions.set(0); // there are too many entries
            }
            return 0;
        };
        let at = clock::ticks();
        let weight = if single { 1 } else { HOLD_ONE_IN };
        detail::acquired(&self.writer, detail, Acquisition { at, weight, waited: None });
        at
    }

    /// Adds a lock acquired after a wait.
    pub(crate) fn push_after_wait(&self, entry: &'static Entry, since: u64, info: HoldInfo) {
        // This acquisition is not one that the sample counts.
        add(&self.writer.record().ahead, 1);
        self.push(entry, true, since, info);
    }

    /// Adds a lock acquired after a wait for it.
    pub(crate) fn push_after_lock_wait(
        &self,
        entry: &'static Entry,
        at: u64,
        measured: Option<HoldClass>,
        episode: Option<&'static Episode>,
        waited: Waited,
    ) {
        // A long wait is counted immediately: the release may never be seen.
        let wait = (!waits::is_very_long(waited.ticks)).then_some(waited);
        self.push_after_wait(entry, at, HoldInfo { measured, episode, woken_by: 0, wait });
        if wait.is_none() {
            waited.count(&self.writer, entry, at);
        }
    }

    /// Adds a lock, acquired at the ticks `since`.
    fn push(&self, entry: &'static Entry, ordered: bool, since: u64, mut info: HoldInfo) {
        self.look_up_held();
        let State { locks, notes, writer, .. } = self;
        add(&entry.acquisitions, 1);
        let address = entry.address.load(Relaxed);
        while let Some(given_up) = locks.find(NEVER_HELD) {
            self.remove_held(given_up);
        }
        let mut depth = locks.depth();
        let mut context = locks.context(depth, entry);
        // Whether it was taken under these before: then their orders are already noted.
        let seen = entry.mutex_or_under.load(Relaxed) == context;
        let again = locks.all().iter().any(|held| held.address() == address);
        let is_new = ordered && !seen && depth != 0 && !locks.has_forgotten();
        if is_new {
            notes.note_order(writer, locks.all().iter().map(Held::entry), entry, context);
        }
        if depth == HELD {
            self.remove_held(1);
            locks.forget_one();
            depth -= 1;
            context = locks.context(depth, entry);
        } else if is_new {
            notes.contexts.remember(context);
            entry.mutex_or_under.store(context, Relaxed);
        }
        // A recursive or repeated read acquisition: the first hold is the one that is measured.
        info.measured = info.measured.filter(|_| !again);
        let is_due = info.measured.is_some() || info.wait.is_some();
        let bits = if is_due || self.steps.see_all() { PENDING } else { 0 };
        if bits != 0 {
            notes.pending[depth].since.set(since);
            notes.pending[depth].info.set(if is_due { info } else { HoldInfo::NOTHING });
        }
        locks.at(depth + 1).set(address | bits, entry, context);
        locks.set_depth(depth + 1);
        self.steps.acquired(writer, entry, depth);
    }

    /// Notes that a release and its counts are complete: from here on the program's code runs.
    pub(crate) fn go_on(&self) {
        if self.steps.go_on(&self.writer, self.locks.depth()) {
            return;
        }
        // The steps end here, for which every acquisition was seen; from now on a sample is.
        let record = self.writer.record();
        if record.left.load(Relaxed) == 1 {
            let interval = self.sampling.interval(HOLD_ONE_IN);
            add(&record.ahead, u64::from(interval - 1));
            record.left.store(interval, Relaxed);
        }
    }

    /// Removes a lock that the thread releases; returns what there is to count.
    pub(crate) fn take_out(&self, address: u64) -> Option<PendingCount> {
        self.look_up_held();
        let now = self.steps.now();
        let Some(index) = self.locks.find(address) else {
            self.locks.release_unknown();
            return None;
        };
        let held = self.locks.at(index);
        let entry = held.entry();
        if let (Some(now), Some(entry)) = (now, entry) {
            self.steps.released(&self.writer, entry, now);
        }
        let count = entry.filter(|_| held.lock.load(Relaxed) & PENDING != 0).map(|entry| {
            let Pending { since, info } = &self.notes.pending[index - 1];
            let (since, info) = (since.get(), info.get());
            PendingCount { entry, since, until: if info.measured.is_some() { clock::ticks() } else { 0 }, info }
        });
        self.remove_held(index);
        count
    }

    /// Removes the lock of this index.
    fn remove_held(&self, index: usize) {
        let State { locks, notes, .. } = self;
        let depth = locks.depth();
        for to in index..depth {
            let from = locks.at(to + 1);
            let entry = from.entry.load(Relaxed);
            let line = from.line();
            let (at, pending) = (&notes.pending[to - 1], &notes.pending[to]);
            if from.lock.load(Relaxed) & PENDING != 0 {
                at.info.set(pending.info.get());
                at.since.set(pending.since.get());
            }
            match (line, from.written()) {
                (Some(line), Some(what)) => locks.at(to).set_written(from.lock.load(Relaxed), what, u64::from(line)),
                _ => locks.at(to).set(from.lock.load(Relaxed), entry, locks.context(to - 1, entry)),
            }
        }
        locks.set_depth(depth - 1);
    }

    /// Returns the condition variable whose wait gave the thread this lock; 0: none did.
    pub(crate) fn woken_by(&self, address: u64) -> u64 {
        let index = self.locks.find(address);
        let index = index.filter(|index| self.locks.at(*index).lock.load(Relaxed) & PENDING != 0);
        index.map_or(0, |index| self.notes.pending[index - 1].info.get().woken_by)
    }
}

/// The counts due once the lock is free.
pub(crate) struct PendingCount {
    entry: &'static Entry,
    since: u64,
    until: u64,
    info: HoldInfo,
}

impl PendingCount {
    pub(crate) fn count(&self, writer: &Writer) {
        let info = &self.info;
        if let Some(wait) = info.wait {
            wait.count(writer, self.entry, self.since);
        }
        let Some(measured) = info.measured else { return };
        let ticks = self.until.saturating_sub(self.since);
        if let Some(episode) = info.episode {
            episode.released.store(self.until, Relaxed);
        }
        for word in [&self.entry.detail, &writer.record().detail] {
            if let Some(detail) = detail::of(writer, word, Limit::Waits) {
                detail::held(detail, ticks, measured);
            }
        }
    }
}
