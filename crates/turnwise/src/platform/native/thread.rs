//! Slots and tokens. A thread takes a slot the first time that it meets contention and gives it back when it
//! exits; until then, and when all [`SLOTS`] are taken, it is [`Token::ANONYMOUS`], which costs it the queue of
//! spinners (it parks instead) and nothing else.
//!
//! Taking a slot allocates nothing and takes no lock: the free slots are a stack of indices.

use super::super::{Me, ThreadSlot, Token};
use super::{Native, system, tls};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicU32, AtomicU64, compiler_fence};

/// The number of threads that can have a slot at the same time. (Few under Miri, which pays for the table's size with
/// each look.)
pub const SLOTS: usize = if cfg!(miri) { 32 } else { 4096 };

/// The first token with a slot; those below are special.
const FIRST: u32 = 2;

/// The stage of a thread that never asked for a slot.
const STAGE_NEW: u32 = 0;
/// The stage of a thread with a slot.
const STAGE_SLOT: u32 = 1;
/// The stage of a thread that is taking a slot: a signal handler that locks meanwhile must not take another.
const STAGE_TAKING: u32 = 3;
/// The stage of a thread that gave its slot back, since it exits; it gets no other.
const STAGE_GONE: u32 = 2;

pub(super) struct Entry {
    pub(super) slot: ThreadSlot<Native>,
    pub(super) area: system::Area,
    /// The kernel's number of the thread that has the slot, or had it last; 0: it is another process's, or not known.
    pub(super) tid: AtomicU32,
    /// The next free slot's index + 1, or 0, while the slot is free.
    next_free: AtomicU32,
}

static TABLE: [Entry; SLOTS] = [const {
    Entry {
        slot: ThreadSlot::const_new_in(),
        area: system::Area::new(),
        tid: AtomicU32::new(0),
        next_free: AtomicU32::new(0),
    }
}; SLOTS];

/// The top of the stack of free slots: index + 1 in the low half, a count of changes in the high half (against ABA).
static FREE: AtomicU64 = AtomicU64::new(0);
/// The first of the slots that were never taken.
static FRESH: AtomicU32 = AtomicU32::new(0);

pub(super) fn entry(token: Token) -> Option<&'static Entry> {
    token.get().checked_sub(FIRST).and_then(|index| TABLE.get(index as usize))
}

pub(super) fn slot(token: Token) -> &'static ThreadSlot<Native> {
    &entry(token).expect("a token that Native::me gave out").slot
}

#[inline]
pub(super) fn me() -> Option<Me<Native>> {
    let token = tls::token();
    match entry(token) {
        Some(entry) => Some(Me { token, slot: &entry.slot }),
        None => register(),
    }
}

/// Gives the calling thread its slot before it meets contention, so that locks that it takes until then name it, too.
/// Half of all slots stay for threads that need one to wait.
pub fn introduce() {
    let (are_free, fresh) = (FREE.load(Relaxed) as u32 != 0, FRESH.load(Relaxed) as usize);
    if are_free || fresh < SLOTS / 2 {
        me();
    }
}

/// Returns the kernel's number of the thread that has this token, 0 if it is not known: for diagnosis. A thread that
/// exits meanwhile may have given its token to another.
#[must_use]
#[inline]
pub fn thread_of(token: u32) -> u32 {
    Token::new(token).and_then(entry).map_or(0, |entry| entry.tid.load(Relaxed))
}

#[cold]
fn register() -> Option<Me<Native>> {
    // SAFETY: the words are the calling thread's own; no reference to them is kept.
    if unsafe { (*tls::words()).stage } != STAGE_NEW || !system::are_exits_noticed() {
        return None;
    }
    set_stage(STAGE_TAKING);
    let me = take_slot();
    if me.is_none() {
        set_stage(STAGE_NEW);
    }
    me
}

/// Stores the calling thread's stage where its signal handlers see it.
fn set_stage(stage: u32) {
    // ORDERING thread.stage: compiler fences; the only observer is a signal handler of this thread.
    compiler_fence(SeqCst);
    // SAFETY: the words are the calling thread's own; no reference to them is kept.
    unsafe { (*tls::words()).stage = stage };
    compiler_fence(SeqCst);
}

/// Takes a slot that goes back when the calling thread exits.
fn take_slot() -> Option<Me<Native>> {
    let index = pop_free()?;
    let (token, entry) = (Token::new(index + FIRST)?, &TABLE[index as usize]);
    let noticed = system::notice_exit(|| {
        entry.slot.private.reset();
        entry.tid.store(system::tid(), Relaxed);
        // SAFETY: the words are the calling thread's own; no reference to them is kept.
        unsafe { (*tls::words()).token = token.get() };
        set_stage(STAGE_SLOT);
        // Last: a thread that a signal handler ends before this exits with its token.
        entry.area.enter();
    });
    if !noticed {
        push_free(index);
        return None;
    }
    Some(Me { token, slot: &entry.slot })
}

/// Whether the calling thread is just taking a slot.
#[cfg(all(target_os = "linux", not(turnwise_portable)))]
pub(super) fn is_taking_slot() -> bool {
    // SAFETY: the words are the calling thread's own; no reference to them is kept.
    unsafe { (*tls::words()).stage == STAGE_TAKING }
}

/// Gives the calling thread's slot back, if its token has one, and lets it take no other: it exits.
pub(super) fn exits(token: Token) {
    let words = tls::words();
    // SAFETY: the words are the calling thread's own; no reference to them is kept.
    unsafe {
        (*words).token = Token::ANONYMOUS.get();
        (*words).stage = STAGE_GONE;
    }
    give_back(token);
}

/// Gives the slot of a token back, if it has one: its thread does not use it any more.
pub(super) fn give_back(token: Token) {
    if let Some(entry) = entry(token) {
        entry.area.leave();
        push_free(token.get() - FIRST);
    }
}

/// Returns the slots that were ever taken.
#[cfg(all(target_os = "linux", not(turnwise_portable)))]
pub(super) fn taken() -> impl Iterator<Item = &'static Entry> {
    TABLE[..(FRESH.load(Relaxed) as usize).min(SLOTS)].iter()
}

fn pop_free() -> Option<u32> {
    // ORDERING thread.free: Acquire pairs with the Release in `push_free`; shows `next_free` and the clean slot.
    let mut top = FREE.load(Acquire);
    while top as u32 != 0 {
        let index = top as u32 - 1;
        let next = u64::from(TABLE[index as usize].next_free.load(Relaxed));
        let new = (top >> 32).wrapping_add(1) << 32 | next;
        // ORDERING thread.free: Acquire pairs with the Release in `push_free`; a pop releases nothing.
        match FREE.compare_exchange(top, new, Acquire, Acquire) {
            Ok(_) => return Some(index),
            Err(found) => top = found,
        }
    }
    let fresh = FRESH.fetch_update(Relaxed, Relaxed, |n| (n < SLOTS as u32).then_some(n + 1));
    fresh.ok()
}

fn push_free(index: u32) {
    let mut top = FREE.load(Relaxed);
    loop {
        TABLE[index as usize].next_free.store(top as u32, Relaxed);
        let new = (top >> 32).wrapping_add(1) << 32 | u64::from(index + 1);
        // ORDERING thread.free: Release pairs with the Acquire in `pop_free`; shows `next_free` and the clean slot.
        match FREE.compare_exchange(top, new, Release, Relaxed) {
            Ok(_) => return,
            Err(found) => top = found,
        }
    }
}

// These are here, though they are about the folder `linux`: a linker that takes single objects out of a static library
// takes this one, since every lock that waits needs its slots.
#[cfg(all(target_os = "linux", not(turnwise_portable)))]
#[used]
#[cfg_attr(not(miri), unsafe(link_section = ".init_array.00101"))]
#[cfg_attr(miri, unsafe(link_section = ".init_array"))] // the one section that Miri runs
static START: extern "C" fn() = system::start;

#[cfg(all(target_os = "linux", not(turnwise_portable)))]
#[used]
#[cfg_attr(not(miri), unsafe(link_section = ".fini_array.00101"))]
static END: extern "C" fn() = system::end;
