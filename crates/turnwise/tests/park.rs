//! The parts of `Native` on which the locks rely, on every system: sleeping, waking, and slots that are reused.
#![cfg(feature = "native")]

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc;
use std::thread::{scope, sleep, spawn};
use std::time::{Duration, Instant};
use turnwise::Mutex;
use turnwise::platform::{Clock, Deadline, Lane, Native, Parked, Platform};

const LANES: [Lane; 3] = [Lane::Waiters, Lane::First, Lane::Readers];
const MOMENT: Duration = Duration::from_millis(if cfg!(miri) { 1000 } else { 30 });
const ROUNDS: u32 = if cfg!(miri) { 20 } else { 5_000 };

/// Wakes until a thread was there to be woken.
fn wake_until_one_woke(word: &AtomicU32, lane: Lane) {
    while Native::wake(word, lane, 1) == 0 {
        std::thread::yield_now();
    }
}

#[test]
fn a_wake_up_goes_to_one_lane_of_one_word() {
    static WORDS: [AtomicU32; 2] = [const { AtomicU32::new(7) }; 2];
    let (sender, receiver) = mpsc::channel();
    let mut threads = Vec::new();
    for (word, place) in WORDS.iter().zip(0..) {
        for lane in LANES.into_iter().chain(LANES) {
            let sender = sender.clone();
            threads.push(spawn(move || {
                assert_eq!(Native::park(word, 7, lane, None), Parked::Woken);
                sender.send((lane, place)).expect("the test listens");
            }));
        }
    }
    sleep(MOMENT); // most fall asleep
    for lane in [Lane::First, Lane::Readers, Lane::Waiters] {
        for place in [1, 0] {
            for _ in 0..2 {
                wake_until_one_woke(&WORDS[place], lane);
                assert_eq!(receiver.recv(), Ok((lane, place)));
            }
            assert_eq!(Native::wake(&WORDS[place], lane, u32::MAX), 0, "none is left in this lane");
        }
    }
    for thread in threads {
        thread.join().expect("no panic");
    }
}

#[test]
fn a_thread_does_not_sleep_on_another_value() {
    let word = AtomicU32::new(1);
    assert_eq!(Native::park(&word, 2, Lane::Waiters, None), Parked::Changed);
}

#[test]
fn a_sleep_ends_at_its_deadline_and_not_before() {
    let word = AtomicU32::new(0);
    for clock in [Clock::Monotonic, Clock::Realtime] {
        let (begin, now) = (Instant::now(), if clock == Clock::Monotonic { Native::now() } else { Native::wall() });
        let at = now + MOMENT.as_nanos() as u64;
        assert_eq!(Native::park(&word, 0, Lane::First, Some(Deadline { clock, at })), Parked::TimedOut);
        assert!(begin.elapsed() >= MOMENT - Duration::from_millis(1), "{clock:?}: {:?}", begin.elapsed());
        let past = Some(Deadline { clock, at: now.saturating_sub(1) });
        assert_eq!(Native::park(&word, 0, Lane::First, past), Parked::TimedOut);
    }
    assert_eq!(Native::wake(&word, Lane::First, u32::MAX), 0, "who gave up sleeps no more");
}

/// Sleepers that time out just when they are woken are counted on one side: woken, or not.
#[test]
fn as_many_are_woken_as_wake_ups_say() {
    static WORD: AtomicU32 = AtomicU32::new(0);
    static END: AtomicBool = AtomicBool::new(false);
    let (woken, said) = (AtomicU64::new(0), AtomicU64::new(0));
    scope(|threads| {
        let sleepers = [0, 1, 2, 3].map(|number| {
            let woken = &woken;
            threads.spawn(move || {
                for round in 0..ROUNDS {
                    let at = Native::now() + u64::from(round % 16) * 10_000;
                    let deadline = Some(Deadline { clock: Clock::Monotonic, at });
                    match Native::park(&WORD, 0, LANES[(round as usize + number) % 3], deadline) {
                        Parked::Woken => woken.fetch_add(1, Relaxed),
                        Parked::TimedOut => continue,
                        other => panic!("{other:?}: the word never changes, and there are no signals"),
                    };
                }
            })
        });
        let said = &said;
        threads.spawn(move || {
            for round in 0.. {
                said.fetch_add(Native::wake(&WORD, LANES[round % 3], round as u32 % 4).into(), Relaxed);
                if END.load(Relaxed) {
                    return;
                }
                std::thread::yield_now();
            }
        });
        let ends = sleepers.map(|sleeper| sleeper.join());
        END.store(true, Relaxed);
        assert!(ends.iter().all(Result::is_ok));
    });
    assert_eq!(woken.load(Relaxed), said.load(Relaxed));
}

#[test]
fn no_wake_up_is_lost_between_a_look_at_the_word_and_the_sleep() {
    let word = AtomicU32::new(0);
    let pass = |mine: u32| {
        for _ in 0..ROUNDS {
            while word.load(Relaxed) != mine {
                Native::park(&word, 1 - mine, Lane::Waiters, None);
            }
            word.store(1 - mine, Relaxed);
            Native::wake(&word, Lane::Waiters, 1);
        }
    };
    scope(|threads| {
        threads.spawn(|| pass(1));
        pass(0);
    });
}

#[test]
fn threads_that_come_and_go_give_their_slots_back() {
    const THREADS: usize = if cfg!(miri) { 24 } else { 100 };
    /// Requests a slot when the thread is about to end.
    struct Late;
    impl Drop for Late {
        fn drop(&mut self) {
            Native::me();
        }
    }
    std::thread_local! {
        static LATE: Late = const { Late };
    }
    let mut tokens = BTreeSet::new();
    for number in 0..THREADS {
        let token = spawn(move || {
            if number % 2 == 0 {
                LATE.with(|_| ());
            }
            let token = Native::me().expect("a slot is free").token;
            LATE.with(|_| ());
            token.get()
        });
        tokens.insert(token.join().expect("no panic"));
    }
    // Other tests take some at the same time.
    assert!(tokens.len() < THREADS / 3, "{tokens:?}");
}

#[test]
fn the_destructor_of_a_thread_local_may_wait_for_a_lock() {
    static LOCK: Mutex<u32> = Mutex::new(0);
    struct Late;
    impl Drop for Late {
        fn drop(&mut self) {
            *LOCK.lock() += 1;
        }
    }
    std::thread_local! {
        static EARLY: Late = const { Late };
        static LATE: Late = const { Late };
    }
    let guard = LOCK.lock();
    let thread = spawn(|| {
        EARLY.with(|_| ());
        Native::me();
        LATE.with(|_| ());
    });
    sleep(MOMENT);
    drop(guard);
    thread.join().expect("no panic");
    assert_eq!(*LOCK.lock(), 2);
}

#[test]
fn a_thread_is_woken_though_its_word_is_gone() {
    for _ in 0..ROUNDS.min(200) {
        let word = Box::new(AtomicU32::new(0));
        let address = &raw const *word;
        scope(|threads| {
            let sleeper = threads.spawn(|| Native::park(&word, 0, Lane::Readers, None));
            wake_until_one_woke(&word, Lane::Readers);
            assert_eq!(sleeper.join().expect("no panic"), Parked::Woken);
        });
        drop(word);
        assert_eq!(Native::wake(address, Lane::Readers, 1), 0);
    }
}
