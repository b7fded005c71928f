//! What a thread does with its [journal](crate::journal): it writes down what it takes, and counts it later.

use crate::acquire::Acquisition;
use crate::held::HELD;
use crate::journal::{self, LINES, Line, NONE, What, Written};
use crate::mapping::add;
use crate::state::State;
use crate::table;
use core::hint::{self, cold_path};
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use turnwise_recording::Entry;

/// Lines from which on they are counted as soon as the thread holds no lock.
const ENOUGH: u32 = (LINES - HELD) as u32;

impl State {
    /// Begins a journal, if the thread takes so many locks that it pays.
    pub(crate) fn consider_journal(&self) {
        if !self.written.is_on() && journal::is_due(self.table.entries(), self.writer.record()) {
            self.writer.mapping().header().journals.store(1, Relaxed);
            self.written.set_lines(0);
        }
    }

    /// Writes an acquisition down, and where it will stand if the thread gets the lock. `None`: it is to be counted at
    /// once. (A signal handler that comes in between takes the next line, or one that is overwritten then.)
    #[inline(always)]
    pub(crate) fn write_down(&self, place: Acquisition, ordered: bool) -> Option<Written> {
        let (line, depth) = (self.written.lines(), self.locks.depth());
        if line as usize >= LINES || depth >= HELD {
            return None;
        }
        let record = self.writer.record_if_there()?;
        let left = record.left.load(Relaxed);
        let under = if depth == 0 { NONE } else { self.locks.at(depth).line()? };
        if left == 1 {
            return None;
        }
        record.left.store(left.wrapping_sub(1), Relaxed);
        self.written.set_lines(line + 1);
        let (at, what) = (&self.journal.0[line as usize], What::of(place.class, place.site, ordered));
        at.address.set(place.address);
        at.what.set(what);
        at.under.set(under);
        self.locks.at(depth + 1).set_written(place.address, what, line);
        Some(Written { line, what })
    }

    /// The thread has the lock of this line.
    #[inline(always)]
    pub(crate) fn confirm_written(&self, written: Written, address: u64) {
        let depth = self.locks.depth();
        if depth >= HELD {
            return;
        }
        self.locks.set_depth(depth + 1);
        let held = self.locks.at(depth + 1);
        // As in `HeldLocks::confirm`: a signal handler may have used the place.
        if !held.is_written(address, written.what) {
            cold_path();
            held.set_written(address, written.what, written.line);
        }
    }

    /// The try failed.
    #[cold]
    pub(crate) fn strike_out(&self, written: Written) {
        // A signal handler may have forked: in the child there is no record, and no journal.
        if let Some(record) = self.writer.record_if_there() {
            record.left.store(record.left.load(Relaxed).wrapping_add(1), Relaxed);
            self.journal.0[written.line as usize].what.set(What::NOTHING);
            if self.written.lines() == written.line + 1 {
                self.written.set_lines(written.line);
            }
        }
    }

    /// Whether the journal is to be counted before the thread takes its next lock.
    #[inline(always)]
    pub(crate) fn has_written_enough(&self) -> bool {
        self.written.lines() >= ENOUGH && self.locks.depth() == 0
    }

    /// Counts what is in the journal, if the thread has one.
    pub(crate) fn count_journal(&self) {
        if !self.written.is_on() {
            return;
        }
        self.look_up_held();
        let lines = self.journal.0.get(..self.written.lines() as usize).unwrap_or_default();
        let mut entries = [ptr::null(); LINES];
        for (line, entry) in lines.iter().zip(&mut entries) {
            *entry = self.table.first(line.address.get(), line.what.get().site());
        }
        // Loads that do not wait for one another, as they would in the loop that follows.
        // SAFETY: null, or entries, which stay where they are.
        let touched = entries.iter().filter_map(|entry| unsafe { entry.as_ref() });
        hint::black_box(touched.fold(0, |all, entry| all ^ entry.address.load(Relaxed)));
        let mut contexts = [0; LINES];
        for (number, line) in lines.iter().enumerate() {
            entries[number] = self.count_line(line, entries[number]);
            // SAFETY: null, or an entry, which stays where it is.
            if let Some(entry) = unsafe { entries[number].as_ref() } {
                contexts[number] = self.see_order(lines, (&entries, &contexts), line, entry);
            }
        }
        self.written.set_lines(0);
    }

    /// Counts a line at its entry, and returns that. `likely`: null, or the entry that it may be.
    fn count_line(&self, line: &Line, likely: *const Entry) -> *const Entry {
        let (address, what) = (line.address.get(), line.what.get());
        let Some(class) = what.class() else { return ptr::null() };
        // SAFETY: null, or an entry, which stays where it is.
        let likely = unsafe { likely.as_ref() }.filter(|entry| table::is_of(entry, address, what.site()));
        match likely.or_else(|| self.entry(class, address, what.site())) {
            Some(entry) => {
                add(&entry.acquisitions, 1);
                table::show(entry);
                entry
            }
            None => {
                self.process().mapping.unattributed();
                ptr::null()
            }
        }
    }

    /// Notes under which locks a line's was taken, if that is new; answers what stands for it and them.
    fn see_order(
        &self,
        lines: &[Line],
        (entries, contexts): (&[*const Entry; LINES], &[u64; LINES]),
        line: &Line,
        entry: &Entry,
    ) -> u64 {
        let Some(below) = contexts.get(line.under.get() as usize) else { return self.locks.context(0, entry) };
        let context = self.locks.context_under(*below, entry);
        if !line.what.get().is_ordered() || entry.mutex_or_under.load(Relaxed) == context {
            return context;
        }
        if !self.notes.contexts.knows(context) {
            let under = |line: &Line| lines.get(line.under.get() as usize).map(|held| (line.under.get(), held));
            let all = core::iter::successors(under(line), |(_, held)| under(held));
            for (number, _) in all.take(HELD).filter(|(_, held)| held.address.get() != line.address.get()) {
                self.notes.note_order(&self.writer, entries[number as usize], entry);
            }
            self.notes.contexts.remember(context);
        }
        entry.mutex_or_under.store(context, Relaxed);
        context
    }

    /// Finds the entries of locks that the thread holds and has only written down.
    pub(crate) fn look_up_held(&self) {
        for depth in 1..=self.locks.depth() {
            let held = self.locks.at(depth);
            let Some((class, what)) = held.written().and_then(|what| Some((what.class()?, what))) else { continue };
            if let Some(entry) = self.entry(class, held.address(), what.site()) {
                held.set(held.lock.load(Relaxed), entry, self.locks.context(depth - 1, entry));
            }
        }
    }
}
