//! The dentry cache: which names are where, as far as they were looked up.
//!
//! A directory's inode knows its content; the cache may forget any dentry that is not in use. docs/design.md explains
//! words, states and orders of locks; the invariants are numbered in `dentry`.
//!
//! Order of locks, outermost first: rename mutex of the file system, `i_mutex` (ancestors first), `rename_lock`,
//! `d_lock` (parents first), chain, list of unused ones.

mod counters;
pub(crate) mod dentry;
pub(crate) mod hash;
mod lru;
pub(crate) mod paths;
mod place;
mod table;

use crate::host::Host;
use crate::inode::{Inode, Space};
use crate::locks::{Count, LockSet, Rename, Shared};
pub(crate) use counters::Counter;
use counters::Counters;
use dentry::{Dentry, LISTED, REFERENCED, UNHASHED};
use lru::Lru;
use place::Place;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;
use table::Table;
use turnwise::platform::Word;

/// A pointer to a dentry that is kept alive elsewhere.
pub(crate) type DentryPtr<H, L> = NonNull<Dentry<H, L>>;

/// Dentries that one put reclaims at most, when there are too many.
const BATCH: usize = 32;

/// A value that does not share its cache lines.
#[repr(align(128))]
struct Apart<T>(T);

/// The cache, and what inodes are made from.
pub(crate) struct Dcache<H: Host, L: LockSet<H::Platform>> {
    table: Table<H, L>,
    rename: Apart<Shared<L::Rename, ()>>,
    lru: Apart<Lru<H, L>>,
    pub(crate) seed: u64,
    cache_bytes: usize,
    pub(crate) space: Space<H::Platform>,
    pub(crate) counters: Counters<H::Platform>,
}

impl<H: Host, L: LockSet<H::Platform>> Dcache<H, L> {
    pub(crate) fn new(buckets_log2: u32, cache_bytes: usize, seed: u64, space: Space<H::Platform>) -> Self {
        Dcache {
            table: Table::new(buckets_log2),
            rename: Apart(Shared::new_in(())),
            lru: Apart(Lru::new()),
            seed,
            cache_bytes,
            space,
            counters: Counters::new(),
        }
    }

    /// Returns the dentry of a root directory, with one reference; takes over one to the inode.
    pub(crate) fn root(&self, inode: &Inode<H, L>) -> DentryPtr<H, L> {
        let at = H::allocate(Dentry::new(NonNull::dangling()));
        // SAFETY: no other thread knows it yet.
        let dentry = unsafe { at.as_ref() };
        dentry.set_place(H::allocate(Place::new(at, 0, b"")));
        dentry.set_inode(inode);
        self.counters.add(Counter::Made);
        at
    }

    /// Returns the dentry at this place, if the cache has it; `None` may be wrong while there are renames. The caller
    /// is pinned.
    #[inline]
    pub(crate) fn find(&self, parent: DentryPtr<H, L>, hash: u64, name: &[u8]) -> Option<DentryPtr<H, L>> {
        self.table.find(parent, hash, name)
    }

    /// Does as [`Dcache::find`], with a `None` that is right even while there are renames.
    fn find_for_sure(&self, parent: DentryPtr<H, L>, hash: u64, name: &[u8]) -> Option<DentryPtr<H, L>> {
        let sequence = self.rename.0.raw().read_begin();
        let found = self.table.find(parent, hash, name);
        if found.is_some() || !L::read_again(self.rename.0.raw(), sequence) {
            return found;
        }
        let _no_renames = self.rename.0.read();
        self.table.find(parent, hash, name)
    }

    /// Returns the dentry at this place with a reference, if the cache has one that is alive. The caller is pinned and
    /// has a reference to the parent; if it has the directory's `i_mutex` too, no other thread makes one meanwhile.
    pub(crate) fn get_cached(&self, parent: DentryPtr<H, L>, hash: u64, name: &[u8]) -> Option<DentryPtr<H, L>> {
        loop {
            let found = self.find_for_sure(parent, hash, name)?;
            // SAFETY: the caller is pinned (invariant 1 of `dentry`).
            if L::get_found(&unsafe { found.as_ref() }.busy.count) {
                return Some(found);
            }
            // Dead, and so out of its chain (invariant 4 of `Count`): the next look-up does not find it.
        }
    }

    /// Makes a dentry for a place that has none, with one reference. `inode` comes with a reference, which it takes
    /// over. The caller has the directory's `i_mutex` and a reference to its dentry.
    pub(crate) fn make(
        &self,
        parent: DentryPtr<H, L>,
        hash: u64,
        name: &[u8],
        inode: Option<&Inode<H, L>>,
    ) -> DentryPtr<H, L> {
        // SAFETY: the caller has a reference.
        unsafe { parent.as_ref() }.busy.count.get();
        let at = H::allocate(Dentry::new(H::allocate(Place::new(parent, hash, name))));
        if let Some(inode) = inode {
            // SAFETY: no other thread knows it yet.
            unsafe { at.as_ref() }.set_inode(inode);
        }
        self.counters.add(Counter::Made);
        self.table.push(at);
        at
    }

    /// Hides a dentry from look-ups. The caller has a reference and the directory's `i_mutex`.
    pub(crate) fn detach(&self, at: DentryPtr<H, L>) {
        self.table.unhash(at);
        // SAFETY: the caller has a reference.
        self.lru.0.remove(unsafe { at.as_ref() });
    }

    /// Adds a reference.
    ///
    /// # Safety
    /// The caller has one.
    pub(crate) unsafe fn get(&self, at: DentryPtr<H, L>) {
        // SAFETY: guaranteed by the caller.
        H::within("path_get", || unsafe { at.as_ref() }.busy.count.get());
    }

    /// Drops a reference. The last one leaves the dentry to the list of unused ones, or ends it if it no longer has a
    /// name.
    ///
    /// # Safety
    /// The caller owns a reference, and does not use it any more.
    pub(crate) unsafe fn put(&self, at: DentryPtr<H, L>) {
        H::within("dput", || {
            // SAFETY: the caller owns a reference.
            if unsafe { at.as_ref() }.busy.count.put_unless_last() {
                return;
            }
            let pin = H::pin();
            // SAFETY: guaranteed by the caller.
            if unsafe { self.put_with_pin(&pin, at) }.is_some_and(|bytes| bytes > self.cache_bytes) {
                drop(pin);
                self.shrink_while(BATCH, |dcache| dcache.lru.0.len().1 > self.cache_bytes);
            }
        });
    }

    /// Does what [`Dcache::put`] does, also for the ancestors that end with it. Returns the bytes in the list of unused
    /// dentries if it grew.
    ///
    /// # Safety
    /// As [`Dcache::put`].
    unsafe fn put_with_pin(&self, pin: &H::Pin, at: DentryPtr<H, L>) -> Option<usize> {
        let (mut next, mut listed) = (Some(at), None);
        while let Some(at) = next.take() {
            // SAFETY: the caller owns a reference; later, the child did that was killed (invariant 2).
            let dentry = unsafe { at.as_ref() };
            let state = dentry.busy.state.load(Relaxed);
            // It is in the list, and marked as used: there is nothing to do at the last put.
            let quick = state & (LISTED | REFERENCED | UNHASHED) == LISTED | REFERENCED;
            let last = if quick {
                dentry.busy.count.put_quickly()
            } else {
                dentry.busy.count.put_with(|| listed = self.lru.0.add(at).or(listed)).last
            };
            if !last {
                break;
            }
            // From here on it may be dead; the pin keeps its memory.
            let state = dentry.busy.state.load(Relaxed);
            if state & UNHASHED != 0 {
                next = self.kill(pin, at); // invariant 5
            } else if quick && state & LISTED == 0 && L::get_found(&dentry.busy.count) {
                next = Some(at); // reclaim found it in use and dropped it from the list: once more, slowly
            }
        }
        listed
    }

    /// Ends a dentry that is not in use, if so; returns its parent, with the reference that it had.
    fn kill(&self, pin: &H::Pin, at: DentryPtr<H, L>) -> Option<DentryPtr<H, L>> {
        // SAFETY: the caller is pinned since before it could have been dead.
        let dentry = unsafe { at.as_ref() };
        let killed = dentry.busy.count.kill_unused(|| {
            self.lru.0.remove(dentry);
            self.table.unhash(at);
        });
        if !killed {
            return None;
        }
        // SAFETY: out of its chain and dead; we alone end it (invariant 3).
        Some(unsafe { self.end(pin, at) })
    }

    /// Gives back a dentry with its place and its reference to the inode, all of which pinned threads may still access;
    /// returns its parent, with the reference that it had.
    ///
    /// # Safety
    /// No thread can find it any more, and no other thread ends it: it is dead, or the root of a tree whose last
    /// reference the caller owns, and whose children have been reclaimed.
    pub(crate) unsafe fn end(&self, pin: &H::Pin, at: DentryPtr<H, L>) -> DentryPtr<H, L> {
        // SAFETY: guaranteed by the caller.
        let dentry = unsafe { at.as_ref() };
        self.counters.add(Counter::Killed);
        let (place, parent) = (dentry.place_ptr(), dentry.place().parent());
        if let Some(inode) = dentry.inode() {
            // SAFETY: the dentry's reference (invariant 2).
            unsafe { Inode::put(NonNull::from(inode), &self.space, pin) };
        }
        // SAFETY: guaranteed by the caller.
        unsafe {
            H::retire(pin, place);
            H::retire(pin, at);
        }
        parent
    }

    /// Reclaims up to `wanted` unused dentries, oldest first; returns how many.
    pub(crate) fn shrink(&self, wanted: usize) -> usize {
        self.shrink_while(wanted, |_| true)
    }

    fn shrink_while(&self, wanted: usize, more: impl Fn(&Self) -> bool) -> usize {
        let mut looks = self.lru.0.len().0.saturating_mul(2).min(wanted.saturating_mul(4)).saturating_add(1);
        let mut killed = 0;
        while killed < wanted && more(self) {
            let pin = H::pin();
            let Some(at) = self.lru.0.oldest(&mut looks) else {
                break;
            };
            if let Some(parent) = self.kill(&pin, at) {
                killed += 1;
                // SAFETY: the reference of the dentry that was killed.
                unsafe { self.put_with_pin(&pin, parent) };
            }
        }
        killed
    }

    /// Moves a dentry to another place, where `over` is detached. The caller has references to all, and the `i_mutex`
    /// of both directories.
    pub(crate) fn rename(&self, moved: DentryPtr<H, L>, to: (DentryPtr<H, L>, u64, &[u8]), over: DentryPtr<H, L>) {
        let (parent, hash, name) = to;
        // SAFETY: contract of `Dcache::get`: the caller has references.
        let dentry = unsafe {
            self.get(parent);
            moved.as_ref()
        };
        let place = H::allocate(Place::new(parent, hash, name));
        let renaming = self.rename.0.write();
        self.table.unhash(over);
        let old = self.rehash(moved, dentry, place);
        drop(renaming);
        // SAFETY: the caller has a reference.
        self.lru.0.remove(unsafe { over.as_ref() });
        // SAFETY: the old place kept a reference to the old parent, which the caller uses too.
        unsafe {
            let old_parent = old.as_ref().parent();
            H::retire(&H::pin(), old);
            self.put(old_parent);
        }
    }

    /// Under `rename_lock`: makes the dentry found at its new place. Returns the old one.
    fn rehash(&self, at: DentryPtr<H, L>, dentry: &Dentry<H, L>, place: NonNull<Place<H, L>>) -> NonNull<Place<H, L>> {
        self.table.take_out(at);
        let mut old = place;
        self.lru.0.resize(dentry, || old = dentry.set_place(place));
        self.table.push(at);
        old
    }

    /// Returns the number of dentries in the list of unused ones.
    pub(crate) fn unused(&self) -> usize {
        self.lru.0.len().0
    }

    /// Returns the number of dentries in the longest chain.
    pub(crate) fn longest_chain(&self) -> usize {
        self.table.longest()
    }
}
