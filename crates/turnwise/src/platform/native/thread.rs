//! Slots and tokens. A thread takes a slot the first time that it meets contention and gives it back when it
//! exits; until then, and when all [`SLOTS`] are taken, it is [`Token::ANONYMOUS`], which costs it the queue of
//! spinners (it parks instead) and nothing else.
//!
//! Taking a slot allocates nothing and takes no lock: the free slots are a stack of indices.

use super::super::{Me, ThreadSlot, Token};
use super::{Native, on_cpu, tls};
use crate::osq::Node;
use crate::platform::slot::Private;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, compiler_fence};

/// Threads that can hold a slot at the same time. (Few under Miri, which pays for the table's size with each look.)
pub const SLOTS: usize = if cfg!(miri) { 32 } else { 4096 };

/// The first token with a slot; those below are special.
const FIRST: u32 = 2;

/// A thread that never asked for a slot.
const STAGE_NEW: u32 = 0;
/// A thread with a slot.
const STAGE_SLOT: u32 = 1;
/// A thread that is taking a slot: a signal handler that locks meanwhile must not take another.
const STAGE_TAKING: u32 = 3;
/// A thread that gave its slot back, since it exits; it gets no other.
const STAGE_GONE: u32 = 2;

pub(super) struct Entry {
    pub(super) slot: ThreadSlot<Native>,
    pub(super) area: on_cpu::Area,
    /// While free: the next free slot's index + 1, or 0.
    next_free: AtomicU32,
}

static TABLE: [Entry; SLOTS] = [const {
    Entry {
        slot: ThreadSlot { node: Node::new(), released: AtomicU32::new(0), private: Private::new() },
        area: on_cpu::Area::new(),
        next_free: AtomicU32::new(0),
    }
}; SLOTS];

/// Top of the stack of free slots: index + 1 in the low half, a count of changes in the high half (against ABA).
static FREE: AtomicU64 = AtomicU64::new(0);
/// Slots that were never taken start here.
static FRESH: AtomicU32 = AtomicU32::new(0);
/// The key whose destructor gives a slot back, or -1 before the constructor ran.
static EXIT_KEY: AtomicI64 = AtomicI64::new(-1);

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

#[cold]
fn register() -> Option<Me<Native>> {
    let words = tls::words();
    // SAFETY: the calling thread's own words.
    if unsafe { (*words).stage } != STAGE_NEW {
        return None;
    }
    // ORDERING thread.key: pairs with the Release in `start`; the key exists.
    let key = libc::pthread_key_t::try_from(EXIT_KEY.load(Acquire)).ok()?; // before the constructor: stay anonymous
    set_stage(STAGE_TAKING);
    let index = take_slot(key);
    set_stage(if index.is_some() { STAGE_SLOT } else { STAGE_NEW });
    let (token, entry) = (Token::new(index? + FIRST)?, &TABLE[index? as usize]);
    // SAFETY: the calling thread's own words.
    unsafe { (*words).token = token.get() };
    Some(Me { token, slot: &entry.slot })
}

/// Stores the calling thread's stage where its signal handlers see it.
fn set_stage(stage: u32) {
    // ORDERING thread.stage: compiler fences; the only observer is a signal handler of this thread.
    compiler_fence(SeqCst);
    // SAFETY: the calling thread's own words.
    unsafe { (*tls::words()).stage = stage };
    compiler_fence(SeqCst);
}

/// Takes a slot that the destructor of `key` will give back; its index.
fn take_slot(key: libc::pthread_key_t) -> Option<u32> {
    let index = pop_free()?;
    // SAFETY: the key was created in `start`; the value is the index + 1, so it is not null and the destructor runs.
    // The C library keeps the first keys' values in the thread's descriptor: no allocation.
    if unsafe { libc::pthread_setspecific(key, core::ptr::without_provenance(index as usize + 1)) } != 0 {
        push_free(index);
        return None;
    }
    TABLE[index as usize].slot.private.reset();
    TABLE[index as usize].area.enter();
    Some(index)
}

/// Runs in an exiting thread.
extern "C" fn thread_exits(value: *mut libc::c_void) {
    let words = tls::words();
    // SAFETY: the calling thread's own words.
    unsafe {
        (*words).token = Token::ANONYMOUS.get();
        (*words).stage = STAGE_GONE;
    }
    let index = (value.addr() - 1) as u32;
    TABLE[index as usize].area.leave();
    push_free(index);
}

fn pop_free() -> Option<u32> {
    // ORDERING thread.free: Acquire pairs with the Release in `push_free`; shows `next_free` and the clean slot.
    let mut top = FREE.load(Acquire);
    while top as u32 != 0 {
        let index = top as u32 - 1;
        let next = u64::from(TABLE[index as usize].next_free.load(Relaxed));
        let new = (top >> 32).wrapping_add(1) << 32 | next;
        // ORDERING thread.free: as above; nobody acquires what a pop releases.
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
        // ORDERING thread.free: Release pairs with the Acquire in `pop_free`.
        match FREE.compare_exchange(top, new, Release, Relaxed) {
            Ok(_) => return,
            Err(found) => top = found,
        }
    }
}

/// Runs before `main`, or when the library is loaded: what needs the loader or may allocate happens here, never
/// on a lock path.
extern "C" fn start() {
    on_cpu::start();
    super::spin::start();
    let mut key = 0;
    // SAFETY: `key` is writable and `thread_exits` has the destructor's signature.
    if unsafe { libc::pthread_key_create(&mut key, Some(thread_exits)) } == 0 {
        // ORDERING thread.key: pairs with the Acquire in `register`.
        EXIT_KEY.store(i64::from(key), Release);
    }
    // Miri knows no fork.
    if !cfg!(miri) {
        // SAFETY: registers a handler that touches statics only.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    }
}

/// In a forked child: the other threads are gone, and so may be their memory. Their slots stay taken: an inherited
/// queue may still name them.
extern "C" fn in_child() {
    let own = tls::token().get().checked_sub(FIRST);
    for (index, entry) in (0..).zip(&TABLE[..(FRESH.load(Relaxed) as usize).min(SLOTS)]) {
        entry.area.forget_others(own == Some(index));
    }
}

#[used]
#[cfg_attr(not(miri), unsafe(link_section = ".init_array.00101"))]
#[cfg_attr(miri, unsafe(link_section = ".init_array"))] // the one section that Miri runs
static START: extern "C" fn() = start;
