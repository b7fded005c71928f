//! A thread's use of its [journal](crate::journal): it writes down its acquisitions, and counts them later.

use crate::held::HELD;
use crate::journal::{self, LINES, Line, NO_LINE, What};
use crate::mapping::add;
use crate::state::State;
use crate::{memory, table};
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;
use turnwise_recording::Entry;

/// The line from which all lines before it are counted as soon as the thread holds no lock.
pub(crate) const ENOUGH: u64 = (LINES - HELD) as u64;

/// The entry at which a line was counted.
struct Counted {
    /// Null: none.
    entry: *const Entry,
    /// Identifies it and the locks under which it was taken.
    context: u64,
}

impl State {
    /// Begins a journal, if the thread takes enough locks for it to pay.
    pub(crate) fn consider_journal(&self) {
        if self.next_line.get() == 0 && journal::is_due(self.table.entries(), self.writer.record()) {
            self.writer.mapping().header().journals.store(1, Relaxed);
            self.next_line.set(1);
        }
    }

    /// Writes down an acquisition that the thread is about to try, and returns its line. `None`: it is to be counted
    /// immediately, or the lines are to be counted first. (A signal handler in between takes the next line, or one that
    /// is then overwritten.)
    #[inline(always)]
    pub(crate) fn write_down(&self, address: u64, what: What, end: u64) -> Option<u64> {
        let (line, depth) = (self.next_line.get(), self.locks.depth());
        if line >= end || depth >= HELD || self.locks.has_forgotten() {
            return None;
        }
        let record = self.writer.record_if_there()?;
        let left = record.left.load(Relaxed);
        let under = self.locks.at(depth).line()?;
        if left == 1 {
            return None;
        }
        record.left.store(left.wrapping_sub(1), Relaxed);
        self.next_line.set(line + 1);
        let at = self.journal.0.get(line as usize)?;
        at.address.set(address);
        at.what.set(what);
        at.under.set(under);
        Some(line)
    }

    /// Strikes out a line whose try failed.
    #[cold]
    pub(crate) fn strike_out(&self, line: u64) {
        // A signal handler may have forked: in the child there is no record, and no journal.
        if let Some(record) = self.writer.record_if_there() {
            record.left.store(record.left.load(Relaxed).wrapping_add(1), Relaxed);
            self.journal.0[line as usize].what.set(What::NOTHING);
            if self.next_line.get() == line + 1 {
                self.next_line.set(line);
            }
        }
    }

    /// Returns whether the journal is to be counted before the thread takes its next lock.
    pub(crate) fn has_written_enough(&self) -> bool {
        self.next_line.get() >= ENOUGH && self.locks.depth() == 0
    }

    /// Counts what is in the journal, if the thread has one.
    pub(crate) fn count_journal(&self) {
        if self.next_line.get() == 0 {
            return;
        }
        self.look_up_held();
        let lines = self.journal.0.get(..self.next_line.get() as usize).unwrap_or_default();
        let mut counted = [const { Counted { entry: ptr::null(), context: 0 } }; LINES];
        // These loads are independent: slots and entries of many locks have left the caches.
        lines.iter().for_each(|line| self.table.fetch_first(line.address.get(), line.what.get().site()));
        for (line, counted) in lines.iter().zip(&mut counted) {
            counted.entry = self.table.first(line.address.get(), line.what.get().site());
            memory::fetch(counted.entry);
        }
        let mut reads = 0;
        for (number, line) in lines.iter().enumerate().skip(1) {
            let entry = self.count_line(line, counted[number].entry);
            counted[number] = match entry {
                Some(entry) => Counted { entry, context: self.see_order(lines, &counted, line, entry) },
                None => Counted { entry: ptr::null(), context: 0 },
            };
            reads += u64::from(line.what.get().is_read());
        }
        add(&self.writer.record().reads, reads);
        self.next_line.set(1);
    }

    /// Counts a line at its entry, which it returns. `likely`: null, or the probable entry.
    #[inline(always)]
    fn count_line(&self, line: &Line, likely: *const Entry) -> Option<&'static Entry> {
        let (address, what) = (line.address.get(), line.what.get());
        // SAFETY: null, or an entry, which stays where it is.
        let likely = unsafe { likely.as_ref() }.filter(|entry| table::is_of(entry, address, what.site()));
        let entry = match likely {
            Some(entry) => entry,
            None => self.find_for_line(address, what)?,
        };
        add(&entry.acquisitions, 1);
        table::show(entry);
        Some(entry)
    }

    /// Returns the entry of a line that is not in its first place in the table.
    #[cold]
    fn find_for_line(&self, address: u64, what: What) -> Option<&'static Entry> {
        let class = what.class()?;
        let found = self.table.full_look_up(address, what.site()).or_else(|| self.entry(class, address, what.site()));
        if found.is_none() {
            self.process().mapping.unattributed();
        }
        found
    }

    /// Notes under which locks a line's lock was taken, if that is new; returns the context of it and them.
    #[inline(always)]
    fn see_order(&self, lines: &[Line], counted: &[Counted; LINES], line: &Line, entry: &Entry) -> u64 {
        let below = match line.under.get() {
            NO_LINE => return self.locks.context(0, entry),
            under => &counted[under as usize % LINES],
        };
        let context = self.locks.context_under(below.context, entry);
        if line.what.get().is_ordered() && entry.mutex_or_under.load(Relaxed) != context {
            self.see_new_order(lines, counted, line, entry, context);
        }
        context
    }

    /// Does the work of [`State::see_order`] under locks other than those of the last acquisition.
    #[cold]
    fn see_new_order(&self, lines: &[Line], counted: &[Counted; LINES], line: &Line, entry: &Entry, context: u64) {
        if !self.notes.contexts.knows(context) {
            let under = |line: &Line| Some(line.under.get()).filter(|under| *under != NO_LINE);
            let lower = |line: &Line| under(line).and_then(|under| Some((under, lines.get(under as usize)?)));
            let all = core::iter::successors(lower(line), |(_, held)| lower(held)).take(HELD);
            // SAFETY: null, or an entry, which stays where it is.
            let held = all.map(|(number, _)| unsafe { counted[number as usize].entry.as_ref() });
            self.notes.note_order(&self.writer, held, entry, context);
            self.notes.contexts.remember(context);
        }
        entry.mutex_or_under.store(context, Relaxed);
    }

    /// Finds the entries of locks that the thread holds and has only written down.
    pub(crate) fn look_up_held(&self) {
        if self.next_line.get() == 0 {
            return;
        }
        for depth in 1..=self.locks.depth() {
            let held = self.locks.at(depth);
            let Some((class, what)) = held.written().and_then(|what| Some((what.class()?, what))) else { continue };
            if let Some(entry) = self.entry(class, held.address(), what.site()) {
                held.set(held.lock.load(Relaxed), entry, self.locks.context(depth - 1, entry));
            }
        }
    }
}
