//! The list of unused dentries, oldest last, and how many bytes they take.
//!
//! A dentry is put there when its count falls to 0 and stays when it is used again: so a look-up of a cached name does
//! not touch the list. Reclaim drops dentries in use from the list, and passes once over recently used ones.

use super::dentry::{Dentry, LISTED, REFERENCED, UNHASHED};
use crate::host::Host;
use crate::locks::LockSet;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::Ordering::Relaxed;
use turnwise::Lock;
use turnwise::platform::{IntWord, Word};

/// The list. Links and `LISTED` change under its lock.
pub(super) struct Lru<H: Host, L: LockSet<H::Platform>> {
    ends: Lock<L::Spin, Ends<H, L>>,
}

struct Ends<H: Host, L: LockSet<H::Platform>> {
    newest: *mut Dentry<H, L>,
    oldest: *mut Dentry<H, L>,
    dentries: usize,
    bytes: usize,
}

// SAFETY: the pointers are to dentries, which are `Send` and `Sync`.
unsafe impl<H: Host, L: LockSet<H::Platform>> Send for Ends<H, L> {}

impl<H: Host, L: LockSet<H::Platform>> Ends<H, L> {
    fn push(&mut self, at: NonNull<Dentry<H, L>>) {
        // SAFETY: the caller of `Lru::add` keeps it alive, and so does the list.
        let busy = unsafe { &at.as_ref().busy };
        busy.newer.store(null_mut(), Relaxed);
        busy.older.store(self.newest, Relaxed);
        // SAFETY: in the list.
        match unsafe { self.newest.as_ref() } {
            Some(newest) => newest.busy.newer.store(at.as_ptr(), Relaxed),
            None => self.oldest = at.as_ptr(),
        }
        self.newest = at.as_ptr();
    }

    fn take(&mut self, dentry: &Dentry<H, L>) {
        let (newer, older) = (dentry.busy.newer.load(Relaxed), dentry.busy.older.load(Relaxed));
        // SAFETY: its neighbours are in the list.
        unsafe {
            match newer.as_ref() {
                Some(newer) => newer.busy.older.store(older, Relaxed),
                None => self.newest = older,
            }
            match older.as_ref() {
                Some(older) => older.busy.newer.store(newer, Relaxed),
                None => self.oldest = newer,
            }
        }
    }

    fn forget(&mut self, dentry: &Dentry<H, L>) {
        self.take(dentry);
        self.dentries -= 1;
        self.bytes -= dentry.bytes();
        dentry.busy.state.fetch_and(!(LISTED | REFERENCED), Relaxed);
    }
}

impl<H: Host, L: LockSet<H::Platform>> Lru<H, L> {
    pub(super) fn new() -> Self {
        Lru { ends: Lock::new_in(Ends { newest: null_mut(), oldest: null_mut(), dentries: 0, bytes: 0 }) }
    }

    /// Puts a dentry there that is about to be unused, or notes that it was used; returns the bytes in the list if it
    /// grew. Under `d_lock`, at the last put.
    pub(super) fn add(&self, at: NonNull<Dentry<H, L>>) -> Option<usize> {
        // SAFETY: the caller has the last reference.
        let dentry = unsafe { at.as_ref() };
        let state = dentry.busy.state.load(Relaxed);
        if state & UNHASHED != 0 {
            return None;
        }
        if state & LISTED != 0 {
            dentry.note_use(state);
            return None;
        }
        let mut ends = self.ends.lock();
        ends.push(at);
        ends.dentries += 1;
        ends.bytes += dentry.bytes();
        dentry.busy.state.fetch_or(LISTED, Relaxed);
        Some(ends.bytes)
    }

    /// Takes a dentry out, if it is there.
    pub(super) fn remove(&self, dentry: &Dentry<H, L>) {
        if dentry.busy.state.load(Relaxed) & LISTED == 0 {
            return;
        }
        let mut ends = self.ends.lock();
        if dentry.busy.state.load(Relaxed) & LISTED != 0 {
            ends.forget(dentry);
        }
    }

    /// Runs `change`, which changes the size of a dentry that may be in the list.
    pub(super) fn resize(&self, dentry: &Dentry<H, L>, change: impl FnOnce()) {
        let mut ends = self.ends.lock();
        let listed = dentry.busy.state.load(Relaxed) & LISTED != 0;
        let before = dentry.bytes();
        change();
        if listed {
            ends.bytes = ends.bytes + dentry.bytes() - before;
        }
    }

    /// Takes the oldest dentry out that was not used since the last time, checking at most `looks`. The caller is
    /// pinned, and now is the only one with this dentry from the list.
    pub(super) fn oldest(&self, looks: &mut usize) -> Option<NonNull<Dentry<H, L>>> {
        let mut ends = self.ends.lock();
        while *looks > 0 {
            *looks -= 1;
            let at = NonNull::new(ends.oldest)?;
            // SAFETY: in the list; a thread that kills it takes it out first.
            let dentry = unsafe { at.as_ref() };
            if dentry.busy.state.load(Relaxed) & REFERENCED == 0 {
                ends.forget(dentry);
                return Some(at);
            }
            dentry.busy.state.fetch_and(!REFERENCED, Relaxed);
            ends.take(dentry);
            ends.push(at);
        }
        None
    }

    /// Returns how many dentries are in the list, and their bytes.
    pub(super) fn len(&self) -> (usize, usize) {
        let ends = self.ends.lock();
        (ends.dentries, ends.bytes)
    }
}
