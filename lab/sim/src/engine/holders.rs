//! Which threads request, hold and release which lock, as the workload reports it: for hand-off statistics, for the
//! trace, and for the report about a run that makes no progress.

use super::Engine;
use super::trace::Happened;
use crate::spec::Ps;

/// Acquisitions, by where the last owner was.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Handoffs {
    /// By the thread that had the lock before.
    pub same_thread: u64,
    /// Another thread that ran on the same node.
    pub same_node: u64,
    /// A thread that ran on another node.
    pub other_node: u64,
}

/// A lock that the workload speaks of.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) name: String,
    /// Threads that have it.
    pub(crate) holders: Vec<u32>,
    /// The thread that had it last, and its node.
    last: Option<(u32, u32)>,
}

impl Engine {
    fn lock_number(&mut self, address: usize) -> u32 {
        let fresh = self.locks.len() as u32;
        let number = *self.lock_numbers.entry(address).or_insert(fresh);
        if number == fresh {
            let name = self.name_of(address);
            self.locks.push(Known { name, ..Known::default() });
        }
        number
    }

    pub(crate) fn asks(&mut self, address: usize) {
        let lock = self.lock_number(address);
        let now = self.now;
        self.thread().asks = Some((lock, now));
        self.trace(Happened::Asks { lock });
    }

    pub(crate) fn acquired(&mut self, address: usize, exclusive: bool) {
        let lock = self.lock_number(address);
        let (thread, node) = (self.current, self.lines.node(self.current_cpu));
        self.thread().asks = None;
        let known = &mut self.locks[lock as usize];
        known.holders.push(thread);
        let counts = &mut self.counts.handoffs;
        match known.last.replace((thread, node)) {
            Some((last, _)) if last == thread => counts.same_thread += 1,
            Some((_, last)) if last == node => counts.same_node += 1,
            Some(_) => counts.other_node += 1,
            None => {}
        }
        self.trace(Happened::Acquires { lock, exclusive });
    }

    pub(crate) fn released(&mut self, address: usize) {
        let lock = self.lock_number(address);
        let thread = self.current;
        let holders = &mut self.locks[lock as usize].holders;
        if let Some(place) = holders.iter().rposition(|&holder| holder == thread) {
            holders.swap_remove(place);
        }
        self.trace(Happened::Releases { lock });
    }

    /// Returns the thread that has waited longest for a lock, and since when.
    pub(crate) fn longest_wait(&self) -> Option<(u32, Ps)> {
        let asking = (0..).zip(&self.threads).filter_map(|(number, t)| Some((t.asks?.1, number)));
        asking.min().map(|(since, number)| (number, since))
    }
}
