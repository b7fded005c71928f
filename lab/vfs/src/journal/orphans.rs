//! Files that are being shortened: a crash in between would be found.

use super::Journal;
use crate::host::{Host, Work};
use crate::locks::LockSet;

impl<H: Host, L: LockSet<H::Platform>> Journal<H, L> {
    /// Puts a file on the list of those that a crash would leave half done.
    pub(super) fn add_orphan(&self, inode: u64) -> u32 {
        let mut orphans = self.orphans.lock();
        H::charge(Work::Exactly { ns: self.config.orphan_ns });
        orphans.add(inode)
    }

    /// Takes it off again.
    pub(super) fn remove_orphan(&self, orphan: u32) {
        let mut orphans = self.orphans.lock();
        H::charge(Work::Exactly { ns: self.config.orphan_ns });
        orphans.remove(orphan);
    }
}

/// A list of files, which are added and removed in constant time.
#[derive(Default)]
pub(super) struct Orphans {
    slots: Vec<Slot>,
    /// The first of the slots that are free.
    free: Option<u32>,
    first: Option<u32>,
}

#[derive(Clone, Copy)]
struct Slot {
    inode: u64,
    previous: Option<u32>,
    /// In the list, or among those that are free.
    next: Option<u32>,
}

impl Orphans {
    pub(super) fn add(&mut self, inode: u64) -> u32 {
        let slot = Slot { inode, previous: None, next: self.first };
        let at = match self.free {
            Some(at) => {
                self.free = self.slots[at as usize].next;
                self.slots[at as usize] = slot;
                at
            }
            None => {
                self.slots.push(slot);
                self.slots.len() as u32 - 1
            }
        };
        if let Some(next) = slot.next {
            self.slots[next as usize].previous = Some(at);
        }
        self.first = Some(at);
        at
    }

    pub(super) fn remove(&mut self, at: u32) {
        let Slot { previous, next, .. } = self.slots[at as usize];
        match previous {
            Some(previous) => self.slots[previous as usize].next = next,
            None => self.first = next,
        }
        if let Some(next) = next {
            self.slots[next as usize].previous = previous;
        }
        self.slots[at as usize].next = self.free;
        self.free = Some(at);
    }

    pub(super) fn all(&self) -> Vec<u64> {
        let slot = |at: u32| &self.slots[at as usize];
        std::iter::successors(self.first, |&at| slot(at).next).map(|at| slot(at).inode).collect()
    }
}
