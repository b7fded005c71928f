//! The hash table: chains of dentries, walked without a lock, changed under a spin lock per chain.
//!
//! A thread that walks a chain is pinned. A dentry that is taken out keeps its `next`, so a thread that stands on it
//! comes back into the chain behind it, and misses nothing that was there all the time. Only a rename puts a dentry
//! into another chain; a thread that stands on it then goes astray, may miss its target, and finds out by
//! `rename_lock`. What it finds is right in any case, since it compares parent and name.

use super::dentry::{Dentry, UNHASHED};
use crate::host::Host;
use crate::locks::LockSet;
use std::marker::PhantomData;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::Lock;
use turnwise::platform::{IntWord, Platform, Word};

/// A chain.
#[repr(C)]
struct Bucket<H: Host, L: LockSet<H::Platform>> {
    head: <H::Platform as Platform>::Ptr<Dentry<H, L>>,
    lock: Lock<L::Spin, ()>,
}

/// All chains.
pub(super) struct Table<H: Host, L: LockSet<H::Platform>> {
    buckets: NonNull<[Bucket<H, L>]>,
    shift: u32,
    owns: PhantomData<Bucket<H, L>>,
}

// SAFETY: buckets are words and locks; dentries are `Send` and `Sync`.
unsafe impl<H: Host, L: LockSet<H::Platform>> Send for Table<H, L> {}
// SAFETY: threads share buckets, which are words and locks, and dentries, which are `Sync`.
unsafe impl<H: Host, L: LockSet<H::Platform>> Sync for Table<H, L> {}

impl<H: Host, L: LockSet<H::Platform>> Drop for Table<H, L> {
    fn drop(&mut self) {
        // SAFETY: from `allocate_many`; no reference to the table is left.
        unsafe { H::free_many(self.buckets) };
    }
}

impl<H: Host, L: LockSet<H::Platform>> Table<H, L> {
    /// Makes a table of `2^buckets_log2` empty chains.
    pub(super) fn new(buckets_log2: u32) -> Self {
        let log2 = buckets_log2.clamp(1, 28);
        let empty = |_| Bucket { head: Word::new(null_mut()), lock: Lock::new_in(()) };
        Table { buckets: H::allocate_many(1 << log2, empty), shift: u64::BITS - log2, owns: PhantomData }
    }

    #[inline]
    fn bucket(&self, hash: u64) -> &Bucket<H, L> {
        // SAFETY: allocated in `new`, freed in `drop`; there are as many as the bits that `shift` leaves can number.
        unsafe { self.buckets.cast::<Bucket<H, L>>().add((hash >> self.shift) as usize).as_ref() }
    }

    /// Returns the dentry at this place, if the chain has it. The caller is pinned.
    #[inline]
    pub(super) fn find(&self, parent: NonNull<Dentry<H, L>>, hash: u64, name: &[u8]) -> Option<NonNull<Dentry<H, L>>> {
        // ORDERING chain.link: pairs with the stores in `push` and `take_out`: the finder of a dentry sees its content.
        let mut at = NonNull::new(self.bucket(hash).head.load(Acquire));
        while let Some(found) = at {
            // SAFETY: the caller is pinned (invariant 1 of `dentry`).
            let dentry = unsafe { found.as_ref() };
            if dentry.place().is(parent, hash, name) {
                return Some(found);
            }
            // ORDERING chain.link: as above.
            at = NonNull::new(dentry.next.load(Acquire));
        }
        None
    }

    /// Lets look-ups find a dentry at its place.
    pub(super) fn push(&self, at: NonNull<Dentry<H, L>>) {
        // SAFETY: the caller has a reference.
        let dentry = unsafe { at.as_ref() };
        let bucket = self.bucket(dentry.place().hash());
        let _locked = bucket.lock.lock();
        // ORDERING chain.link: pairs with the loads in `find`, also for a thread on the dentry after a rename.
        dentry.next.store(bucket.head.load(Relaxed), Release);
        // ORDERING chain.link: pairs with the loads in `find`.
        bucket.head.store(at.as_ptr(), Release);
    }

    /// Takes a dentry out of the chain of its place; its `next` stays. No thread renames it meanwhile.
    pub(super) fn take_out(&self, at: NonNull<Dentry<H, L>>) {
        // SAFETY: the caller has a reference, or `d_lock` with the count at 0.
        let dentry = unsafe { at.as_ref() };
        let bucket = self.bucket(dentry.place().hash());
        let _locked = bucket.lock.lock();
        let mut link = &bucket.head;
        loop {
            let found = link.load(Relaxed);
            if found == at.as_ptr() {
                break;
            }
            // SAFETY: in the chain, which we have locked: alive, or killed by a thread that waits for this lock.
            link = unsafe { &(*found).next };
        }
        // ORDERING chain.link: pairs with the loads in `find`: a thread that skips this one sees what this one saw.
        link.store(dentry.next.load(Relaxed), Release);
    }

    /// Takes a dentry out for good.
    pub(super) fn unhash(&self, at: NonNull<Dentry<H, L>>) {
        // SAFETY: as in `take_out`.
        let dentry = unsafe { at.as_ref() };
        if dentry.is_unhashed() {
            return;
        }
        self.take_out(at);
        dentry.busy.state.fetch_or(UNHASHED, Relaxed);
    }

    /// Returns the length of the longest chain.
    pub(super) fn longest(&self) -> usize {
        let mut longest = 0;
        // SAFETY: allocated in `new`, freed in `drop`.
        for bucket in unsafe { self.buckets.as_ref() } {
            let _locked = bucket.lock.lock();
            let mut len = 0;
            let mut at = bucket.head.load(Relaxed);
            // SAFETY: in the chain, which we have locked.
            while let Some(dentry) = unsafe { at.as_ref() } {
                len += 1;
                at = dentry.next.load(Relaxed);
            }
            longest = longest.max(len);
        }
        longest
    }
}
