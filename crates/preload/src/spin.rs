//! `pthread_spin_lock`: the C library's spin lock, with our own wait.
//!
//! The word keeps the C library's format, so its init, try and unlock are used, also for a lock in memory shared with a
//! process without this library. Only the wait is ours: poll with back-off for [`SPIN_NS`]; if the lock is still taken,
//! its owner has probably lost its CPU, so yield this one, or eventually sleep ([`YieldThenSleep`]); then poll again.
//! The C library's own wait polls until its time slice ends, while the owner waits for that CPU.
//!
//! | bits of [`PROTOCOL`] | meaning |
//! |---|---|
//! | 0..32 | the word when the lock is free |
//! | 32..64 | the word of a taken one; others may be as well (x86-64: 0 and below, by the C library's waiters) |
//!
//! Where a filter may apply to system calls, the wait is also the C library's: it makes none.
//!
//! As in the C library's, there is no order among waiters, and no bound on a wait.

use crate::rules::Caller;
use crate::{live, policy, real, run_probe};
use core::sync::atomic::AtomicU32;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed};
use libc::{c_int, pthread_spinlock_t};
use turnwise::backoff::{Backoff, Exponential};
use turnwise::events::{Event, here};
use turnwise::platform::native::may_be_filtered;
use turnwise::platform::{Native, Platform, YieldThenSleep};

/// How long a waiter spins: longer than most sections, and about twice what two context switches cost.
const SPIN_NS: u64 = 10_000;

/// The C library's values for free and taken; 0: not yet known. Free and taken differ, so a known protocol is not 0.
static PROTOCOL: AtomicU64 = AtomicU64::new(0);
/// The constructor's finding, not yet used by a lock call: so the first call is noticed ([`crate::run_probe`]).
static PREPARED: AtomicU64 = AtomicU64::new(0);

/// The values of the C library's word.
#[derive(Clone, Copy)]
struct Protocol {
    free: u32,
    held: u32,
}

impl Protocol {
    #[inline(always)]
    fn of(bits: u64) -> Protocol {
        Protocol { free: bits as u32, held: (bits >> 32) as u32 }
    }

    #[inline(always)]
    fn take(self, word: &AtomicU32) -> bool {
        // ORDERING spin.acquire: pairs with the store in the C library's `pthread_spin_unlock`.
        word.compare_exchange(self.free, self.held, Acquire, Relaxed).is_ok()
    }
}

/// Finds the protocol for the constructor: makes a lock, takes it, and reads the values written.
#[cold]
pub(crate) fn prepare() -> u64 {
    let mut lock: pthread_spinlock_t = 0;
    // SAFETY: the lock is a local variable, initialised before it is used.
    let (free, held) = unsafe {
        real::pthread_spin_init(&mut lock, libc::PTHREAD_PROCESS_PRIVATE);
        let free = lock;
        real::pthread_spin_trylock(&mut lock);
        (free as u32, lock as u32)
    };
    let found = u64::from(free) | u64::from(held) << 32;
    PREPARED.store(found, Relaxed);
    found
}

/// Acquires the lock if it is free, and if this is not the first call.
#[inline(always)]
pub(crate) fn lock_at_once(word: &AtomicU32) -> bool {
    match PROTOCOL.load(Relaxed) {
        0 => false,
        known => Protocol::of(known).take(word),
    }
}

/// Acquires the lock after [`lock_at_once`] has failed.
///
/// # Safety
/// `object` is a live spin lock.
pub(crate) unsafe extern "C" fn lock(object: *mut pthread_spinlock_t, caller: Caller) -> c_int {
    // SAFETY: contract of `lock`: a live lock, of four aligned bytes that all access atomically.
    let word = unsafe { AtomicU32::from_ptr(object.cast()) };
    match PROTOCOL.load(Relaxed) {
        0 => lock_first(word, caller),
        known => wait(Protocol::of(known), word, caller),
    }
    0
}

/// Acquires the lock in the first lock call, or in any call if all locks are the C library's.
#[cold]
fn lock_first(word: &AtomicU32, caller: Caller) {
    if policy::stands_aside() {
        // SAFETY: `word` is a live spin lock of the C library's.
        unsafe { real::pthread_spin_lock(word.as_ptr().cast()) };
        return;
    }
    run_probe::used();
    let known = match PREPARED.load(Relaxed) {
        0 => prepare(),
        known => known,
    };
    PROTOCOL.store(known, Relaxed);
    let protocol = Protocol::of(known);
    if !protocol.take(word) {
        wait(protocol, word, caller);
    }
}

#[cold]
fn wait(protocol: Protocol, word: &AtomicU32, caller: Caller) {
    here::count(Event::Contended);
    live::wait_for_spin_lock(word.as_ptr().addr(), caller, || {
        let mut yielder = YieldThenSleep::new();
        while !spin(protocol, word) {
            here::count(Event::SpinTimedOut);
            if !may_be_filtered() {
                yielder.wait::<Native>();
            }
        }
        here::count(Event::Spun);
    });
}

/// Polls until the lock is taken or the time is up; returns whether it was taken.
fn spin(protocol: Protocol, word: &AtomicU32) -> bool {
    let until = Native::now() + SPIN_NS;
    let mut backoff = Exponential::<100, 2_000>::start();
    while backoff.wait::<Native>(word, |found| u32::from(found != protocol.free), Some(until)).is_ok() {
        if protocol.take(word) {
            return true;
        }
    }
    false
}
