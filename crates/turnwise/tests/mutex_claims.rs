//! Two waiters that both believe that they claimed the next turn: one was away in a signal handler when its promise
//! lapsed, and comes back to the other's claim.
#![cfg(all(feature = "native", not(miri)))]

use std::os::unix::thread::JoinHandleExt as _;
use std::ptr::from_ref;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::mpsc;
use std::thread::{sleep, spawn};
use std::time::Duration;
use turnwise::RawMutex;
use turnwise::platform::{Deadline, Native};

static LOCK: RawMutex = RawMutex::new();
static AWAY: AtomicBool = AtomicBool::new(false);
static BACK: AtomicBool = AtomicBool::new(false);

const HANDOFF: u32 = 1 << 30;
const MS: Duration = Duration::from_millis(1);

extern "C" fn stay_away(_signal: libc::c_int) {
    AWAY.store(true, Relaxed);
    while !BACK.load(Relaxed) {
        sleep(MS);
    }
}

fn claimed() -> bool {
    // SAFETY: the word comes first in a `repr(C)` lock, and the lock lives for ever.
    let word = unsafe { &*from_ref(&LOCK).cast::<AtomicU32>() };
    word.load(Relaxed) & HANDOFF != 0
}

fn unlock() {
    // SAFETY: the callers have the lock.
    unsafe { LOCK.unlock() };
}

/// Overtakes who waits until it claims the next turn. The caller has the lock; `false`: the waiter was faster.
fn overtake() -> bool {
    for _ in 0..20 {
        if claimed() {
            return true;
        }
        sleep(MS * 6);
        unlock();
        LOCK.lock();
        sleep(MS * 3);
    }
    claimed()
}

/// `None`: the waiters were faster, so that nothing was seen.
fn two_claims() -> Option<()> {
    AWAY.store(false, Relaxed);
    BACK.store(false, Relaxed);
    LOCK.lock();
    let timed = spawn(|| {
        let got = LOCK.lock_until(Deadline::after::<Native>(MS * 800));
        if got {
            unlock();
        }
        got
    });
    sleep(MS * 5);
    let mut seen = overtake();
    if seen {
        // SAFETY: the thread was not joined yet, and the handler touches atomics only and sleeps.
        unsafe { libc::pthread_kill(timed.as_pthread_t(), libc::SIGUSR1) };
        while !AWAY.load(Relaxed) {
            sleep(MS);
        }
    }
    unlock();
    LOCK.lock(); // past the lapsed promise
    let (tell, told) = mpsc::channel();
    let patient = spawn(move || {
        LOCK.lock();
        unlock();
        tell.send(())
    });
    sleep(MS * 5);
    seen &= overtake();
    BACK.store(true, Relaxed);
    seen &= !timed.join().expect("it does not panic");
    unlock();
    told.recv_timeout(Duration::from_secs(5)).expect("who claims the next turn is woken when the lock is free");
    patient.join().expect("it does not panic").expect("we listen");
    seen.then_some(())
}

#[test]
fn who_gives_up_another_ones_claim_wakes_it() {
    let handler: extern "C" fn(libc::c_int) = stay_away;
    // SAFETY: the handler is safe to run anywhere in the one thread that gets the signal.
    unsafe { libc::signal(libc::SIGUSR1, handler as libc::sighandler_t) };
    assert!((0..10).any(|_| two_claims().is_some()), "no waiter claims the next turn");
}
