//! A directory entry in memory: a place, and the inode there, or the knowledge that there is none.
//!
//! Two parts on lines of their own, since a look-up that passes through reads only the first:
//!
//! | word | what | changed by |
//! |---|---|---|
//! | `place` | parent and name | renames, under `rename_lock` |
//! | `next` | the next one in the hash chain | under the chain's lock |
//! | `what` | number and kind of the inode; 0: negative | with `inode` |
//! | `inode` | the inode; null: negative | create, under the directory's `i_mutex` |
//! | `count` | references, with `d_lock` | any thread that has or gets one |
//! | `state` | [`UNHASHED`], [`LISTED`], [`REFERENCED`] | see there |
//! | `newer`, `older` | neighbours in the list of unused ones | under the list's lock |
//!
//! Invariants, cited in the SAFETY comments of this module's siblings:
//! 1. A dentry's memory, its places and its inode stay while any thread that may have found them is pinned: they are
//!    retired, never freed, and only when no further thread can find them.
//! 2. A dentry holds a reference to its parent and one to its inode. So a parent of a live dentry is live.
//! 3. The thread that kills a dentry (whose `kill_unused` returned so) has taken it out of its chain before, under
//!    `d_lock`, and alone retires it.
//! 4. A dentry that is found live may be used until its reference is given back; one that is found only under a pin may
//!    only be read, and may be dead.
//! 5. `UNHASHED` is set by a thread that has a reference, under the directory's `i_mutex`; so a thread that brings the
//!    count to 0 afterwards sees it, and kills the dentry.
//! 6. A hashed dentry with count 0 is in the list of unused ones, or about to be put there by the thread that brought
//!    it to 0, or about to be killed by the thread that took it from there.
//! 7. Under a directory's `i_mutex` no other thread adds children to it, makes one positive, renames one or unhashes
//!    one, except that unused ones may be killed.
//! 8. A directory's inode has one dentry that is not dead, if any: its one entry is looked up under its parent's
//!    `i_mutex`. So `what` of a directory never changes while the dentry lives.

use super::place::Place;
use crate::host::Host;
use crate::inode::{Inode, Kind};
use crate::locks::{Count, LockSet};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::platform::{IntWord, Platform, Word};

/// No look-up finds it: the name was removed, or now has another meaning.
pub(crate) const UNHASHED: u32 = 1;
/// It is in the list of unused ones. Changes under the list's lock.
pub(crate) const LISTED: u32 = 2;
/// It was used since reclaim last looked for one.
pub(crate) const REFERENCED: u32 = 4;

type Ptr<H, T> = <<H as Host>::Platform as Platform>::Ptr<T>;
type U32<H> = <<H as Host>::Platform as Platform>::U32;
type U64<H> = <<H as Host>::Platform as Platform>::U64;

/// See the module's documentation.
#[repr(C, align(64))]
pub(crate) struct Dentry<H: Host, L: LockSet<H::Platform>> {
    place: Ptr<H, Place<H, L>>,
    pub(super) next: Ptr<H, Dentry<H, L>>,
    what: U64<H>,
    inode: Ptr<H, Inode<H, L>>,
    pub(crate) busy: Busy<H, L>,
}

/// The part that is written when the dentry is used.
#[repr(C, align(64))]
pub(crate) struct Busy<H: Host, L: LockSet<H::Platform>> {
    pub(crate) count: L::Count,
    pub(crate) state: U32<H>,
    pub(super) newer: Ptr<H, Dentry<H, L>>,
    pub(super) older: Ptr<H, Dentry<H, L>>,
}

/// What a dentry stands for, as a look-up needs it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// Nothing: there is no such name.
    Negative,
    /// A directory with this number.
    Directory(u64),
    /// A symbolic link.
    Symlink,
    /// Anything else.
    Other,
}

const DIRECTORY: u64 = 1;
const SYMLINK: u64 = 2;
const OTHER: u64 = 3;

impl What {
    #[inline]
    fn of_word(word: u64) -> What {
        match word & 3 {
            0 => What::Negative,
            DIRECTORY => What::Directory(word >> 2),
            SYMLINK => What::Symlink,
            _ => What::Other,
        }
    }
}

fn word_for<H: Host, L: LockSet<H::Platform>>(inode: &Inode<H, L>) -> u64 {
    let kind = match inode.kind() {
        Kind::Directory => DIRECTORY,
        Kind::Symlink => SYMLINK,
        _ => OTHER,
    };
    inode.number() << 2 | kind
}

impl<H: Host, L: LockSet<H::Platform>> Dentry<H, L> {
    /// Creates one with one reference, the caller's; negative, not in any chain.
    pub(super) fn new(place: NonNull<Place<H, L>>) -> Self {
        Dentry {
            place: Word::new(place.as_ptr()),
            next: Word::new(null_mut()),
            what: Word::new(0),
            inode: Word::new(null_mut()),
            busy: Busy {
                count: L::Count::with_references(1),
                state: Word::new(0),
                newer: Word::new(null_mut()),
                older: Word::new(null_mut()),
            },
        }
    }

    /// Returns where it is now. The reference is good while the caller is pinned, has a reference to the dentry and a
    /// lock that keeps renames away, or owns the dentry alone; the signature cannot say that.
    #[inline]
    pub(crate) fn place(&self) -> &Place<H, L> {
        // ORDERING dentry.place: pairs with the store in `set_place`: a thread that sees a place sees its content.
        let place = self.place.load(Acquire);
        // SAFETY: never null; invariant 1.
        unsafe { &*place }
    }

    /// Returns the place as a pointer, for the caller that retires it: a reference would not be valid for that.
    pub(super) fn place_ptr(&self) -> NonNull<Place<H, L>> {
        // SAFETY: never null.
        unsafe { NonNull::new_unchecked(self.place.load(Relaxed)) }
    }

    /// Gives it another place, under `rename_lock`; the old one is the caller's to retire.
    pub(super) fn set_place(&self, place: NonNull<Place<H, L>>) -> NonNull<Place<H, L>> {
        let old = self.place.load(Relaxed);
        // ORDERING dentry.place: pairs with the load in `place`.
        self.place.store(place.as_ptr(), Release);
        // SAFETY: never null.
        unsafe { NonNull::new_unchecked(old) }
    }

    /// Returns what it stands for at this moment.
    #[inline]
    pub(crate) fn what(&self) -> What {
        // ORDERING dentry.what: pairs with the store in `set_inode`: a thread that sees an inode sees its content.
        What::of_word(self.what.load(Acquire))
    }

    /// Returns whether it stands for nothing.
    pub(crate) fn is_negative(&self) -> bool {
        self.what() == What::Negative
    }

    /// Returns whether it stands for a directory.
    pub(crate) fn is_directory(&self) -> bool {
        matches!(self.what(), What::Directory(_))
    }

    /// Returns its inode at this moment, if there is one. Good while the caller is pinned or has a reference.
    #[inline]
    pub(crate) fn inode(&self) -> Option<&Inode<H, L>> {
        // ORDERING dentry.inode: pairs with the store in `set_inode`.
        let inode = self.inode.load(Acquire);
        // SAFETY: the dentry holds a reference to it (invariant 2), and it stays as stated (invariant 1).
        unsafe { inode.as_ref() }
    }

    /// Makes it positive; takes over one reference of the caller's to the inode. Under the directory's `i_mutex`.
    pub(crate) fn set_inode(&self, inode: &Inode<H, L>) {
        // ORDERING dentry.inode: pairs with the load in `inode`.
        self.inode.store(std::ptr::from_ref(inode).cast_mut(), Release);
        // ORDERING dentry.what: pairs with the load in `what`; after the inode, which a reader of this word then sees.
        self.what.store(word_for(inode), Release);
    }

    /// Charges a look of the kernel's that decides nothing here: whether something is mounted on the dentry, or whether
    /// the user may do something with its inode. All users are root, and there is one tree.
    #[inline(always)]
    pub(crate) fn charge_look(&self) {
        H::Platform::touch(std::ptr::from_ref(&self.what).cast(), size_of_val(&self.what), false);
    }

    /// Notes a use of a dentry in this state: if it is in the list, reclaim shall spare it. (If it leaves the list
    /// meanwhile, it is spared once when it comes back.)
    #[inline]
    pub(crate) fn note_use(&self, state: u32) {
        if state & (LISTED | REFERENCED) == LISTED {
            self.busy.state.fetch_or(REFERENCED, Relaxed);
        }
    }

    /// Returns whether no look-up finds it any more.
    pub(crate) fn is_unhashed(&self) -> bool {
        self.busy.state.load(Relaxed) & UNHASHED != 0
    }

    /// Returns the bytes of memory that the dentry takes.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + self.place().bytes()
    }
}

#[cfg(test)]
mod tests {
    /// With the library's feature `stats`, which tests do without, locks count and are larger.
    #[test]
    fn a_dentry_is_two_lines() {
        assert_eq!(size_of::<super::Dentry<crate::Metal, crate::locks::Today>>(), 128);
    }
}
