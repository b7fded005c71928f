//! Counts for the locks that a thread holds: how long it holds them, and which it took under which.

use crate::clock;
use crate::detail::{self, Acquisition, HoldClass, Limit};
use crate::held::{HELD, Held, NEVER_HELD, PENDING};
use crate::mapping::add;
use crate::notes::{HoldInfo, Pending};
use crate::sampling::HOLD_ONE_IN;
use crate::state::State;
use crate::waits::{self, Waited};
use crate::writer::Writer;
use core::hint::cold_path;
use core::sync::atomic::Ordering::Relaxed;
use turnwise_recording::{Entry, Episode, Thread};

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
