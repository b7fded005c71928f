//! The slots of readers of locks that several CPUs read and that are hardly ever written
//! ([`turnwise::big_reader::Spreading`]): a table, mapped when a lock first needs it.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize};
use turnwise::big_reader::Slot;
use turnwise::platform::{Hint, Native, Platform};
use turnwise_interpose::zeroed;

/// The most locks that have slots at a time; others remain as they are.
const LOCKS: usize = 256;

/// The address of the lock that has each entry of the table, or 0.
static LOCK_OF: [AtomicUsize; LOCKS] = [const { AtomicUsize::new(0) }; LOCKS];

/// The first slot of the first entry; null: no lock has needed one yet.
static SLOTS: AtomicPtr<Slot> = AtomicPtr::new(core::ptr::null_mut());

/// How many slots each entry has: one for each CPU, up to 256, and a power of two.
static EACH: AtomicU32 = AtomicU32::new(0);

/// Returns the slots of this entry, numbered from 1; none for 0, and what a freed lock's memory may have.
#[inline(always)]
pub(crate) fn of(number: u32) -> &'static [Slot] {
    let index = number.wrapping_sub(1) as usize;
    // ORDERING slots.mapped: pairs with the exchange in `map`: the pages are zeros, and `EACH` is known.
    let first = SLOTS.load(Acquire);
    if index >= LOCKS || first.is_null() {
        return &[];
    }
    let each = EACH.load(Relaxed) as usize;
    // SAFETY: `map` has mapped `LOCKS` entries of `EACH` slots, for ever; zeros are closed slots.
    unsafe { core::slice::from_raw_parts(first.add(index * each), each) }
}

/// Gives the lock at this address an entry, and returns its number; 0: all are taken, or there is no memory.
#[cold]
pub(crate) fn take(lock: usize) -> u32 {
    if !map() {
        return 0;
    }
    // One that was freed without being destroyed may have left its entry to its successor.
    let own = LOCK_OF.iter().position(|of| of.load(Relaxed) == lock);
    let free = || LOCK_OF.iter().position(|of| of.compare_exchange(0, lock, Relaxed, Relaxed).is_ok());
    own.or_else(free).map_or(0, |index| index as u32 + 1)
}

/// Takes the entry back from the lock at this address, if it has it.
pub(crate) fn give_back(number: u32, lock: usize) {
    if let Some(of) = LOCK_OF.get(number.wrapping_sub(1) as usize) {
        let _ = of.compare_exchange(lock, 0, Relaxed, Relaxed);
    }
}

/// Maps the table, unless it is; returns whether it is.
fn map() -> bool {
    if !SLOTS.load(Relaxed).is_null() {
        return true;
    }
    let each = Native::hint(Hint::Cpus).next_power_of_two().min(256);
    let each = match EACH.compare_exchange(0, each, Relaxed, Relaxed) {
        Ok(_) => each,
        Err(found) => found,
    };
    let bytes = LOCKS * each as usize * size_of::<Slot>();
    let Some(pages) = zeroed(bytes) else { return false };
    // ORDERING slots.mapped: pairs with the load in `of`.
    if SLOTS.compare_exchange(core::ptr::null_mut(), pages.as_ptr().cast(), Release, Relaxed).is_err() {
        // SAFETY: mapped above, and no other thread knows it.
        unsafe { libc::munmap(pages.as_ptr().cast(), bytes) };
    }
    true
}
