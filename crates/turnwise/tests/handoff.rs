//! A waiter that has requested a hand-off, or is first in a semaphore's queue, and is kept away, here by a signal
//! handler, keeps the others from the lock only for a while: a pending hand-off lapses (P3 of each lock).
#![cfg(all(target_os = "linux", feature = "native", not(any(miri, turnwise_portable))))]

use std::os::unix::thread::JoinHandleExt as _;
use std::ptr::from_ref;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::mpsc;
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};
use turnwise::{FairSemaphore, RawLock, RawMutex, RawRwLock, RawRwSem, Semaphore};

static AWAY: AtomicBool = AtomicBool::new(false);
static BACK: AtomicBool = AtomicBool::new(false);

const MS: Duration = Duration::from_millis(1);
/// Longer than any step takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);

extern "C" fn stay_away(_signal: libc::c_int) {
    AWAY.store(true, Relaxed);
    while !BACK.load(Relaxed) {
        sleep(MS);
    }
}

/// Installs the handler. It and the statics that it reads are shared: only one test at a time has it.
fn handler() -> impl Drop {
    static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let one = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let handler: extern "C" fn(libc::c_int) = stay_away;
    // SAFETY: the handler is safe to run anywhere in the one thread that gets the signal.
    unsafe { libc::signal(libc::SIGUSR1, handler as libc::sighandler_t) };
    one
}

/// Keeps the thread in the handler, until `BACK` is set.
fn keep_away(thread: &JoinHandle<()>) {
    AWAY.store(false, Relaxed);
    BACK.store(false, Relaxed);
    // SAFETY: the thread was not joined yet, and the handler touches atomics only and sleeps.
    unsafe { libc::pthread_kill(thread.as_pthread_t() as _, libc::SIGUSR1) };
    while !AWAY.load(Relaxed) {
        sleep(MS);
    }
}

/// A lock, and the thread that requests its hand-off.
#[derive(Clone, Copy)]
struct ReservedLock {
    /// The lock's word, and its flag for the request.
    word: fn() -> &'static AtomicU32,
    request: u32,
    lock: fn(),
    try_lock: fn() -> bool,
    unlock: fn(),
    /// How the hand-off waiter acquires and releases the lock.
    comes: fn(),
    goes: fn(),
}

/// How another thread comes to the lock that is reserved for the hand-off waiter.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Other {
    /// It already sleeps when the owner leaves, which does not come back.
    Sleeps,
    /// The owner wants the lock back.
    Comes,
    /// It tries again and again.
    Tries,
}

impl ReservedLock {
    fn is_claimed(self) -> bool {
        (self.word)().load(Relaxed) & self.request != 0
    }

    /// Overtakes the waiter until it requests a hand-off. The caller has the lock; `false`: the waiter was faster.
    fn overtake(self) -> bool {
        for _ in 0..20 {
            if self.is_claimed() {
                return true;
            }
            sleep(MS * 6);
            (self.unlock)();
            (self.lock)();
            sleep(MS * 3);
        }
        self.is_claimed()
    }

    /// Checks that another thread gets the lock, though it is reserved for the hand-off waiter. The caller has the
    /// lock.
    fn is_had_by(self, other: Other) {
        let (sender, receiver) = mpsc::channel();
        let sleeper = (other == Other::Sleeps).then(|| {
            spawn(move || {
                (self.lock)();
                sender.send(()).expect("we listen");
                (self.unlock)();
            })
        });
        sleep(MS * 10);
        (self.unlock)();
        let begun = Instant::now();
        if let Some(sleeper) = sleeper {
            receiver.recv_timeout(LONG).expect("the sleeper gets the lock");
            return sleeper.join().expect("it does not panic");
        }
        assert!(!(self.try_lock)(), "nobody waited for the hand-off waiter");
        match other {
            Other::Comes => (self.lock)(),
            _ => {
                while !(self.try_lock)() {
                    assert!(begun.elapsed() < LONG, "the hand-off is pending");
                    sleep(MS);
                }
            }
        }
        (self.unlock)();
    }

    /// Runs one attempt; returns `false` if the waiter was faster, so that nothing was seen.
    fn handoff_waiter_stays_away(self, other: Other) -> bool {
        (self.lock)();
        let handoff_waiter = spawn(move || {
            (self.comes)();
            (self.goes)();
        });
        sleep(MS * 5);
        let seen = self.overtake();
        if seen {
            keep_away(&handoff_waiter);
            self.is_had_by(other);
        } else {
            (self.unlock)();
        }
        BACK.store(true, Relaxed);
        handoff_waiter.join().expect("it gets its turn, too");
        seen
    }

    fn keeps_nobody_away_for_ever(self) {
        let _one = handler();
        for other in [Other::Sleeps, Other::Comes, Other::Tries] {
            let seen = (0..10).any(|_| self.handoff_waiter_stays_away(other));
            assert!(seen, "{other:?}: no waiter requests a hand-off");
        }
    }
}

/// Returns the word with which a lock begins.
fn word<L>(lock: &'static L) -> &'static AtomicU32 {
    // SAFETY: the word comes first in a `repr(C)` lock, and the lock lives for ever.
    unsafe { &*from_ref(lock).cast::<AtomicU32>() }
}

#[test]
fn a_handoff_waiter_that_a_signal_handler_keeps_away_keeps_nobody_else_away() {
    static MUTEX: RawMutex = RawMutex::new();
    // SAFETY: every caller has the lock.
    let unlock = || unsafe { MUTEX.unlock() };
    let mutex = ReservedLock {
        word: || word(&MUTEX),
        request: 1 << 31,
        lock: || MUTEX.lock(),
        try_lock: || MUTEX.try_lock(),
        unlock,
        comes: || MUTEX.lock(),
        goes: unlock,
    };
    mutex.keeps_nobody_away_for_ever();
}

static SHARED: RawRwSem = RawRwSem::new();

/// The owner writes.
const SHARED_RESERVED: ReservedLock = ReservedLock {
    word: || word(&SHARED),
    request: 1 << 29,
    lock: || SHARED.lock(),
    try_lock: || SHARED.try_lock(),
    unlock: write_unlock,
    comes: || SHARED.lock(),
    goes: write_unlock,
};

fn write_unlock() {
    // SAFETY: every caller has the lock.
    unsafe { SHARED.unlock() }
}

#[test]
fn handoff_waiters_of_all_kinds_that_are_kept_away_keep_nobody_else_away() {
    // SAFETY: every caller of these has the lock in that mode.
    let (read_unlock, upgradable_unlock) =
        (|| unsafe { SHARED.unlock_read() }, || unsafe { SHARED.unlock_upgradable() });
    SHARED_RESERVED.keeps_nobody_away_for_ever();
    ReservedLock { comes: || SHARED.read(), goes: read_unlock, ..SHARED_RESERVED }.keeps_nobody_away_for_ever();
    ReservedLock { comes: || SHARED.upgradable_read(), goes: upgradable_unlock, ..SHARED_RESERVED }
        .keeps_nobody_away_for_ever();
}

/// The first in the queue of a semaphore without permits stays away; then a permit is released, and another gets it.
fn the_first_stays_away<const FAIR: bool>(semaphore: &'static Semaphore<FAIR>, other: Other) {
    let comes = move || drop(semaphore.acquire());
    let first = spawn(comes);
    sleep(MS * 20);
    keep_away(&first);
    let (sender, receiver) = mpsc::channel();
    let sleeper = move || {
        comes();
        sender.send(()).expect("we listen");
    };
    match other {
        Other::Sleeps => {
            spawn(sleeper);
            sleep(MS * 20);
            semaphore.release(1);
        }
        Other::Comes => {
            semaphore.release(1);
            spawn(sleeper);
        }
        Other::Tries => {
            semaphore.release(1);
            let begun = Instant::now();
            while semaphore.try_acquire().is_none() {
                assert!(begun.elapsed() < LONG, "the first keeps the permit from others");
                sleep(MS);
            }
        }
    }
    if other != Other::Tries {
        receiver.recv_timeout(LONG).unwrap_or_else(|_| panic!("{other:?}: the first keeps the permit from others"));
    }
    BACK.store(true, Relaxed);
    first.join().expect("it gets its turn, too");
    semaphore.try_acquire().expect("everybody has left").forget();
}

#[test]
fn the_first_at_a_semaphore_that_is_kept_away_keeps_nobody_else_away() {
    static SEMAPHORE: Semaphore = Semaphore::new(0);
    static FAIR: FairSemaphore = FairSemaphore::new_fair(0);
    let _one = handler();
    for other in [Other::Sleeps, Other::Comes, Other::Tries] {
        the_first_stays_away(&SEMAPHORE, other);
        the_first_stays_away(&FAIR, other);
    }
}
