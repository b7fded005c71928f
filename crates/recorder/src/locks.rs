//! Finds the lock at an address. A lock that is initialised where another was is a different lock.
//!
//! Threads keep the lock's number in their entries. Initialising a lock over another one changes the epoch of the
//! address, so that all threads look it up again.

use crate::mapping::{Mapping, SPREAD};
use crate::writer::Writer;
use crate::{clock, modules, stacks};
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use turnwise_recording::{Class, Entry, LOCK_SLOTS, LOCKS, Lock, Ref};

/// Returns the C library's kind of the mutex at `address`; 0 for other locks.
pub(crate) fn kind_of_mutex(class: Class, address: u64) -> u32 {
    /// The offset of `__kind` on all 64-bit machines.
    const KIND: u64 = 16;
    match class {
        // SAFETY: the program's mutex, which it is using; the C library reads the word in the same way.
        Class::Mutex => unsafe { (*((address + KIND) as *const AtomicU32)).load(Relaxed) },
        _ => 0,
    }
}

/// Returns whether the C library neither checks nor repairs what is done with a mutex of this kind.
pub(crate) fn is_plain(kind: u32) -> bool {
    /// The type, and whether it is robust or passes priorities on.
    const WHAT: u32 = 0x7f;
    const NORMAL: u32 = 0;
    const ADAPTIVE: u32 = 3;
    [NORMAL, ADAPTIVE].contains(&(kind & WHAT))
}

/// Returns whether the lock of this number is such a mutex.
pub(crate) fn is_plain_mutex(mapping: &Mapping, number: u32) -> bool {
    let lock = record(mapping, number);
    lock.class.load(Relaxed) == Class::Mutex as u32 && is_plain(lock.kind.load(Relaxed))
}

/// The step from one epoch to the next: in entries the lowest bit has a separate meaning.
const STEP: u32 = 2;
/// The number of epochs; addresses share them.
const EPOCHS: usize = 2048;
static EPOCH: [AtomicU32; EPOCHS] = [const { AtomicU32::new(0) }; EPOCHS];
/// The number of locks initialised over others after which locks that never mattered are treated as the same.
const PLENTY: u32 = 1 << 16;
/// The number of locks whose creation is recorded with its whole stack; later ones have the call site only.
const STACKS: u32 = 1024;

#[inline(always)]
fn epoch_of(address: u64) -> &'static AtomicU32 {
    // In units of an epoch's size: the offset is the address without its other bits.
    &EPOCH[(address >> 2) as usize % EPOCHS]
}

/// Returns the epoch of an address.
#[inline(always)]
pub(crate) fn epoch(address: u64) -> u32 {
    epoch_of(address).load(Relaxed)
}

/// Returns the epoch of an address, for a caller that then looks up the lock's number.
pub(crate) fn epoch_for_lookup(address: u64) -> u32 {
    // ORDERING recorder.epoch: Acquire; a thread that sees an epoch finds the lock that came with it.
    epoch_of(address).load(Acquire)
}

/// Changes all epochs in a forked child, whose numbers start afresh: no entry is left that could have an epoch.
pub(crate) fn forget_epochs() {
    for epoch in &EPOCH {
        epoch.fetch_add(STEP, Relaxed);
    }
}

/// Returns the number of the lock at `address`; `None`: there are too many.
pub(crate) fn number(mapping: &Mapping, class: Class, address: u64) -> Option<u32> {
    /// Other threads may repeatedly fill the free slot that was found.
    const TRIES: u32 = 16;
    modules::note_again(mapping, address);
    for _ in 0..TRIES {
        let slot = match find(mapping, address) {
            Lookup::Lock(_, number) if is_of(record(mapping, number), class) => return Some(number),
            Lookup::Lock(slot, number) => return replace(mapping, class, address, slot, number, 0),
            Lookup::Free(slot) => slot,
            Lookup::Full => return None,
        };
        let number = make(mapping, class, address)?;
        // ORDERING recorder.lock: AcqRel; publishes the record, or sees the one that another thread made meanwhile.
        if slot.compare_exchange(0, number + 1, AcqRel, Acquire).is_ok() {
            return Some(number);
        }
        forget(mapping, number);
    }
    None
}

/// Records that the program initialised a lock.
pub(crate) fn created(writer: &Writer, class: Class, address: u64, at: u64) {
    let mapping = writer.mapping();
    let number = match find(mapping, address) {
        Lookup::Lock(slot, old) => {
            let lock = record(mapping, old);
            let unimportant = mapping.header().locks.load(Relaxed) > PLENTY
                && lock.created_at.load(Relaxed) == at
                && lock.contended.load(Relaxed) == 0
                && is_of(lock, class);
            if unimportant {
                return;
            }
            replace(mapping, class, address, slot, old, at)
        }
        _ => number(mapping, class, address),
    };
    let Some(number) = number else { return };
    let lock = record(mapping, number);
    lock.created_at.store(at, Relaxed);
    modules::note(mapping, at);
    let stack = if number < STACKS { stacks::take(writer, at) } else { stacks::single(writer, at) };
    lock.created.store(stack, Relaxed);
}

/// Records that the program destroyed a lock.
pub(crate) fn destroyed(mapping: &Mapping, address: u64) {
    if let Lookup::Lock(_, number) = find(mapping, address) {
        record(mapping, number).destroyed.store(1, Relaxed);
    }
}

/// Records that a thread waits for a lock.
pub(crate) fn contended(mapping: &Mapping, number: u32) {
    let lock = record(mapping, number);
    if lock.contended.load(Relaxed) == 0 {
        lock.contended.store(1, Relaxed);
    }
}

/// Notes which stack and thread is about to wake sleepers; a stack of 0: not known.
pub(crate) fn is_woken_by(mapping: &Mapping, entry: &Entry, (stack, thread): (Ref, u32)) {
    let lock = record(mapping, entry.lock.load(Relaxed));
    lock.waker.store(thread, Relaxed);
    lock.woken_by.store(stack, Relaxed);
}

/// Returns which stack and thread was the last to wake sleepers, if it is known.
pub(crate) fn waker(mapping: &Mapping, entry: &Entry) -> Option<(Ref, u32)> {
    let lock = record(mapping, entry.lock.load(Relaxed));
    let stack = lock.woken_by.load(Relaxed);
    (stack != 0).then(|| (stack, lock.waker.load(Relaxed)))
}

/// Returns whether the lock at an address is of this class, and not of a module that another has replaced.
fn is_of(lock: &Lock, class: Class) -> bool {
    lock.class.load(Relaxed) == class as u32 && lock.replaced.load(Relaxed) == 0
}

fn record(mapping: &Mapping, number: u32) -> &'static Lock {
    mapping.record(&LOCKS, number as usize)
}

enum Lookup {
    /// Its slot and number.
    Lock(&'static AtomicU32, u32),
    Free(&'static AtomicU32),
    Full,
}

fn find(mapping: &Mapping, address: u64) -> Lookup {
    const MASK: u64 = LOCK_SLOTS.count - 1;
    let mut index = (address >> 3).wrapping_mul(SPREAD) >> (64 - LOCK_SLOTS.count.ilog2());
    for _ in 0..LOCK_SLOTS.count {
        let Some(slot) = mapping.reach::<AtomicU32>(&LOCK_SLOTS, index as usize) else { return Lookup::Full };
        // ORDERING recorder.lock: Acquire; a thread that finds a number finds its record filled.
        match slot.load(Acquire) {
            0 => return Lookup::Free(slot),
            number if record(mapping, number - 1).address.load(Relaxed) == address => {
                return Lookup::Lock(slot, number - 1);
            }
            _ => index = (index + 1) & MASK,
        }
    }
    Lookup::Full
}

fn make(mapping: &Mapping, class: Class, address: u64) -> Option<u32> {
    let locks = &mapping.header().locks;
    if u64::from(locks.load(Relaxed)) >= LOCKS.count {
        return None;
    }
    let number = locks.fetch_add(1, Relaxed);
    if u64::from(number) >= LOCKS.count {
        return None;
    }
    let lock: &Lock = mapping.reach(&LOCKS, number as usize)?;
    lock.address.store(address, Relaxed);
    lock.class.store(class as u32, Relaxed);
    lock.kind.store(kind_of_mutex(class, address), Relaxed);
    lock.began.store(clock::ticks(), Relaxed);
    modules::note(mapping, address);
    Some(number)
}

/// Discards a record that lost a race.
fn forget(mapping: &Mapping, number: u32) {
    record(mapping, number).address.store(0, Relaxed);
}

fn replace(mapping: &Mapping, class: Class, address: u64, slot: &AtomicU32, old: u32, at: u64) -> Option<u32> {
    let number = make(mapping, class, address)?;
    let lock = record(mapping, number);
    lock.previous.store(old + 1, Relaxed);
    lock.created_at.store(at, Relaxed);
    // ORDERING recorder.lock: AcqRel; publishes the record, or sees the one that another thread made meanwhile.
    if let Err(now) = slot.compare_exchange(old + 1, number + 1, AcqRel, Acquire) {
        forget(mapping, number);
        return Some(now - 1);
    }
    // ORDERING recorder.epoch: Release; a thread that sees the new epoch finds the new lock.
    epoch_of(address).fetch_add(STEP, Release);
    Some(number)
}
