//! The spin locks on real threads. No more threads than the smallest machine has CPUs queue for long: a queue behind a
//! preempted thread costs a time slice per place.
#![cfg(feature = "native")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use turnwise::backoff::{Exponential, NoBackoff, Proportional};
use turnwise::platform::{Clock, Deadline, Native, Platform};
use turnwise::raw::{RawLock, RawTimedLock};
use turnwise::{Lock, McsLock, QueuedSpinLock, SpinLock, TicketLock};

const THREADS: usize = 3;
const ROUNDS: u64 = if cfg!(miri) { 10 } else { 400 };

/// Two counters that every section leaves equal.
#[derive(Default)]
struct Pair(u64, u64);

impl Pair {
    fn add(&mut self) {
        assert_eq!(self.0, self.1, "two owners at once");
        self.0 += 1;
        std::hint::black_box(&mut *self);
        self.1 += 1;
    }
}

/// Runs `round` on a few threads that yield now and then; the queue advances although they outnumber the CPUs.
fn on_threads(round: impl Fn() + Sync) {
    std::thread::scope(|s| {
        for _ in 0..THREADS {
            s.spawn(|| {
                for n in 0..ROUNDS {
                    round();
                    if n % 16 == 0 {
                        std::thread::yield_now();
                    }
                }
            });
        }
    });
}

fn excludes<R: RawLock>(lock: Lock<R, Pair>) {
    on_threads(|| lock.lock().add());
    assert_eq!(lock.into_inner().0, THREADS as u64 * ROUNDS);
}

#[test]
fn ttas_excludes() {
    excludes(SpinLock::new(Pair::default()));
    excludes(SpinLock::<_, Exponential>::const_new_in(Pair::default()));
}

#[test]
fn ticket_excludes() {
    excludes(TicketLock::new(Pair::default()));
    excludes(TicketLock::<_, Proportional>::const_new_in(Pair::default()));
}

#[test]
fn queued_excludes() {
    excludes(QueuedSpinLock::new(Pair::default()));
}

#[test]
fn mcs_excludes() {
    let lock = McsLock::new(Pair::default());
    on_threads(|| lock.with(Pair::add));
    assert_eq!(lock.into_inner().0, THREADS as u64 * ROUNDS);
}

fn tries_and_times_out<R: RawTimedLock>(lock: Lock<R, Pair>) {
    let held = lock.lock();
    assert!(lock.is_locked());
    std::thread::scope(|s| {
        s.spawn(|| {
            assert!(lock.try_lock().is_none());
            let start = Instant::now();
            assert!(lock.try_lock_for(Duration::from_millis(5)).is_none());
            assert!(start.elapsed() >= Duration::from_millis(5));
            let start = Instant::now();
            let wall = Deadline { clock: Clock::Realtime, at: Native::wall() + 5_000_000 };
            assert!(lock.try_lock_until(wall).is_none());
            assert!(start.elapsed() >= Duration::from_millis(4));
        });
    });
    drop(held);
    assert!(lock.try_lock_for(Duration::ZERO).is_some());
    let past = Deadline { clock: Clock::Realtime, at: 1 };
    assert!(lock.try_lock_until(past).is_some(), "a free lock is taken, late or not");
    assert!(!lock.is_locked());
}

#[test]
fn timed_waits_end_and_leave_the_lock_usable() {
    tries_and_times_out(SpinLock::new(Pair::default()));
    tries_and_times_out(SpinLock::<_, Exponential>::const_new_in(Pair::default()));
    tries_and_times_out(TicketLock::new(Pair::default()));
    tries_and_times_out(TicketLock::<_, Proportional>::const_new_in(Pair::default()));
    tries_and_times_out(QueuedSpinLock::new(Pair::default()));
}

fn gets_it_in_time<R: RawTimedLock>(lock: Lock<R, Pair>) {
    let held = lock.lock();
    std::thread::scope(|s| {
        s.spawn(|| assert!(lock.try_lock_for(Duration::from_secs(60)).is_some()));
        std::thread::sleep(Duration::from_millis(5));
        drop(held);
    });
}

#[test]
fn timed_waits_get_a_lock_that_is_released_in_time() {
    gets_it_in_time(SpinLock::new(Pair::default()));
    gets_it_in_time(TicketLock::new(Pair::default()));
    gets_it_in_time(QueuedSpinLock::new(Pair::default()));
}

fn releases_on_panic<R: RawLock>(lock: Lock<R, Pair>) {
    let result = catch_unwind(AssertUnwindSafe(|| {
        let _held = lock.lock();
        panic!("in a section");
    }));
    assert!(result.is_err());
    assert!(lock.try_lock().is_some());
}

#[test]
fn a_panic_releases() {
    releases_on_panic(SpinLock::new(Pair::default()));
    releases_on_panic(TicketLock::new(Pair::default()));
    releases_on_panic(QueuedSpinLock::new(Pair::default()));
    let lock = McsLock::new(Pair::default());
    let result = catch_unwind(AssertUnwindSafe(|| lock.with(|_| panic!("in a section"))));
    assert!(result.is_err());
    assert!(lock.try_with(|_| ()).is_some());
}

#[test]
fn mcs_try_fails_while_held_and_nothing_is_left_in_line() {
    let lock = McsLock::new(0);
    lock.with(|n| {
        *n = 1;
        assert!(lock.is_locked());
        assert_eq!(lock.try_with(|_| ()), None);
    });
    assert!(!lock.is_locked());
    assert_eq!(lock.try_with(|n| *n), Some(1));
}

/// Lets threads join the queue one after the other while `lock` is held, and returns the order in which they got it.
/// `word` shows the lock's word, which changes when a thread joins.
fn order_of(lock: impl Fn(&mut dyn FnMut()) + Sync, word: impl Fn() -> String) -> Vec<usize> {
    const LINE: usize = 4;
    let order = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|s| {
        lock(&mut || {
            for me in 0..LINE {
                let before = word();
                let (order, lock) = (&order, &lock);
                s.spawn(move || lock(&mut || order.lock().unwrap().push(me)));
                while word() == before {
                    std::thread::yield_now();
                }
            }
        });
    });
    order.into_inner().unwrap()
}

#[test]
fn lines_are_served_in_order() {
    let ticket = TicketLock::new(());
    let in_ticket = |section: &mut dyn FnMut()| {
        let _held = ticket.lock();
        section();
    };
    assert_eq!(order_of(in_ticket, || format!("{:?}", ticket.raw())), [0, 1, 2, 3]);
    let queued = QueuedSpinLock::new(());
    let in_queued = |section: &mut dyn FnMut()| {
        let _held = queued.lock();
        section();
    };
    assert_eq!(order_of(in_queued, || format!("{:?}", queued.raw())), [0, 1, 2, 3]);
    let mcs = McsLock::new(());
    let in_mcs = |section: &mut dyn FnMut()| mcs.with(|()| section());
    assert_eq!(order_of(in_mcs, || format!("{:?}", mcs.raw())), [0, 1, 2, 3]);
}

#[test]
fn a_guard_may_be_dropped_by_another_thread() {
    let lock = QueuedSpinLock::new(1);
    let held = lock.lock();
    std::thread::scope(|s| {
        s.spawn(move || drop(held));
    });
    assert!(!lock.is_locked());
}

#[test]
fn statics_and_zeroed_memory_are_unlocked() {
    static LOCK: SpinLock<u32, NoBackoff> = SpinLock::new(4);
    assert_eq!(*LOCK.lock(), 4);
    // SAFETY: zero bytes are a valid value, unlocked: every lock guarantees it.
    let (a, b, c): (SpinLock<u32>, TicketLock<u32>, QueuedSpinLock<u32>) = unsafe { std::mem::zeroed() };
    assert_eq!((*a.lock(), *b.lock(), *c.lock()), (0, 0, 0));
    // SAFETY: zero bytes are a valid value, unlocked: `RawMcsLock` guarantees it, too.
    let mcs: McsLock<u32> = unsafe { std::mem::zeroed() };
    assert_eq!(mcs.with(|n| *n), 0);
}

#[test]
fn unsized_data_works() {
    let lock: &SpinLock<[u8]> = &SpinLock::new([1, 2, 3]);
    lock.lock()[0] = 9;
    assert_eq!(lock.lock().iter().sum::<u8>(), 14);
    let lock: &McsLock<dyn Fn() -> u8 + Send> = &McsLock::new(|| 5);
    assert_eq!(lock.with(|f| f()), 5);
}

#[test]
fn waiters_see_a_release_while_backing_off() {
    let lock = SpinLock::<(), Exponential<1_000, 100_000>>::const_new_in(());
    let released = AtomicBool::new(false);
    let held = lock.lock();
    std::thread::scope(|s| {
        s.spawn(|| {
            let _held = lock.lock();
            assert!(released.load(Ordering::Relaxed));
        });
        std::thread::sleep(Duration::from_millis(2));
        released.store(true, Ordering::Relaxed);
        drop(held);
    });
}
