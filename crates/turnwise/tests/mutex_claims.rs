//! A waiter that claimed the next turn keeps its claim, however long a signal handler keeps it away.
#![cfg(all(target_os = "linux", feature = "native", not(miri)))]

use std::os::unix::thread::JoinHandleExt as _;
use std::ptr::from_ref;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::mpsc;
use std::thread::{sleep, spawn};
use std::time::Duration;
use turnwise::{RawLock, RawMutex};

static LOCK: RawMutex = RawMutex::new();
static AWAY: AtomicBool = AtomicBool::new(false);
static BACK: AtomicBool = AtomicBool::new(false);

const HANDOFF: u32 = 1 << 30;
const MS: Duration = Duration::from_millis(1);

extern "C" fn backoff(_signal: libc::c_int) {
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
fn claim_and_stay_away() -> Option<()> {
    AWAY.store(false, Relaxed);
    BACK.store(false, Relaxed);
    LOCK.lock();
    let (tell, told) = mpsc::channel();
    let wait = |name: &'static str| {
        let tell = tell.clone();
        spawn(move || {
            LOCK.lock();
            tell.send(name).expect("we listen");
            unlock();
        })
    };
    let claimant = wait("claimant");
    sleep(MS * 5);
    let seen = overtake();
    if seen {
        // SAFETY: the thread was not joined yet, and the handler touches atomics only and sleeps.
        unsafe { libc::pthread_kill(claimant.as_pthread_t() as _, libc::SIGUSR1) };
        while !AWAY.load(Relaxed) {
            sleep(MS);
        }
    }
    let other = wait("other");
    unlock();
    sleep(MS * 200);
    assert!(!seen || !LOCK.try_lock() && told.try_recv().is_err(), "somebody took the claimant's turn");
    BACK.store(true, Relaxed);
    let order = [(); 2].map(|()| told.recv_timeout(Duration::from_secs(60)).expect("both get it"));
    assert!(!seen || order == ["claimant", "other"], "{order:?}");
    for thread in [claimant, other] {
        thread.join().expect("it does not panic");
    }
    seen.then_some(())
}

#[test]
fn a_claimant_that_a_signal_handler_keeps_away_gets_its_turn() {
    let handler: extern "C" fn(libc::c_int) = backoff;
    // SAFETY: the handler is safe to run anywhere in the one thread that gets the signal.
    unsafe { libc::signal(libc::SIGUSR1, handler as libc::sighandler_t) };
    assert!((0..10).any(|_| claim_and_stay_away().is_some()), "no waiter claims the next turn");
}
