//! Counts, back-off sequences, and the rules of OSv's mutex, on this machine's threads.
#![cfg(feature = "native")]

use std::cell::UnsafeCell;
use turnwise::platform::{Bare, Native, Platform};
use turnwise::raw::{RawLock, RawRwLock};
use turnwise_lineage::d_count::{CmpXchg, Count, DCount, LockRef, Put, UnderLock};
use turnwise_lineage::ia64_spin::{
    ExponentialCode, ExponentialKept, ExponentialProse, ITC_PER_US, Ia64SpinLock, Plain, Policy,
};
use turnwise_lineage::osv_mutex::{self, NoSpin, OsvMutex, OwnerAtWake, Spin, SpinAfterPush, SpinPolling, SpinToOne};
use turnwise_lineage::rename_lock::{Exclusive, RenameLock, SeqRw};
use turnwise_lineage::rwsem_xadd::{Fifo, RwsemXadd};

const ROUNDS: usize = if cfg!(miri) { 20 } else { 20_000 };
/// Rounds where a queue of tickets waits behind a preempted thread.
const IN_QUEUE: usize = if cfg!(miri) { 20 } else { 300 };
const THREADS: usize = 3;

#[test]
fn sizes_are_those_of_the_pages() {
    assert_eq!(size_of::<DCount<UnderLock>>(), 12);
    assert_eq!(size_of::<DCount<CmpXchg>>(), 12);
    assert_eq!(size_of::<DCount<LockRef>>(), 8);
    assert_eq!(size_of::<RenameLock<Exclusive>>(), 12);
    assert_eq!(size_of::<RenameLock<SeqRw>>(), 8);
    assert_eq!(size_of::<Ia64SpinLock<Plain>>(), 4);
    assert_eq!(size_of::<RwsemXadd<Fifo>>(), 32);
    assert_eq!(size_of::<OsvMutex<NoSpin>>(), 40);
    assert_eq!(size_of::<OsvMutex<Spin>>(), 40);
}

/// Takes and gives back; returns which operations took the lock.
fn counts<C: Count>() -> (Vec<bool>, Vec<Put>) {
    let count = C::new_in();
    let gets = (1..=3).map(|n| {
        let locked = count.get();
        assert_eq!(count.count(), n);
        locked
    });
    let gets = gets.collect();
    let mut last = 0;
    let puts = (0..3).map(|_| count.put_with(|| last += 1)).collect();
    assert_eq!((count.count(), last), (0, 1));
    assert!(count.try_lock() && !count.try_lock(), "left unlocked");
    (gets, puts)
}

#[test]
fn counts_take_the_lock_as_their_policy_says() {
    let put = |last, locked| Put { last, locked };
    assert_eq!(
        counts::<DCount<UnderLock>>(),
        (vec![true; 3], vec![put(false, true), put(false, true), put(true, true)])
    );
    let edge = vec![put(false, false), put(false, false), put(true, true)];
    assert_eq!(counts::<DCount<CmpXchg>>(), (vec![true, true, false], edge.clone()));
    assert_eq!(counts::<DCount<LockRef>>(), (vec![false; 3], edge));
}

#[test]
fn a_count_above_one_moves_while_somebody_has_the_lock() {
    let count = <DCount<CmpXchg>>::new_in();
    assert!(count.get() && count.get());
    count.lock();
    assert!(!count.get() && count.get_above_one());
    for _ in 0..2 {
        assert_eq!(count.put(), Put { last: false, locked: false });
    }
    // SAFETY: locked above.
    unsafe { count.unlock() };
    assert_eq!((count.count(), count.put(), count.get_above_one()), (2, Put { last: false, locked: false }, false));
}

fn counted_by_many<C: Count>() {
    let count = C::new_in();
    std::thread::scope(|s| {
        for _ in 0..THREADS {
            s.spawn(|| {
                for _ in 0..IN_QUEUE {
                    count.get();
                    count.get();
                    count.put();
                    count.put();
                }
            });
        }
    });
    assert_eq!(count.count(), 0);
}

#[test]
fn no_count_is_lost() {
    counted_by_many::<DCount<UnderLock>>();
    counted_by_many::<DCount<CmpXchg>>();
    counted_by_many::<DCount<LockRef>>();
}

#[test]
fn only_the_exclusive_rename_lock_moves_for_a_blocking_reader() {
    let (exclusive, shared) = (<RenameLock<Exclusive>>::new_in(), <RenameLock<SeqRw>>::new_in());
    let (before, still) = (exclusive.read_begin(), shared.read_begin());
    shared.read();
    assert!(shared.try_read());
    assert!(!shared.try_lock() && !shared.read_retry(still));
    exclusive.read();
    assert!(!exclusive.try_lock() && !exclusive.try_read() && exclusive.read_retry(before));
    // SAFETY: acquired above.
    unsafe {
        shared.unlock_read();
        shared.unlock_read();
        exclusive.unlock_read();
    }
    assert_eq!((exclusive.read_begin(), shared.read_begin()), (before + 2, still));
    assert!(shared.try_lock() && shared.read_retry(still) && shared.is_locked());
    // SAFETY: acquired above.
    unsafe { shared.unlock() };
    assert_eq!(shared.read_begin(), still + 2);
}

/// Returns the delays of a wait that begins at this time.
fn delays<V: Policy>(itc: u64) -> Vec<u32> {
    let delays = V::DELAYS.expect("backs off");
    std::iter::successors(Some(delays.begin(itc)), |&d| Some(delays.after(d))).take(20).collect()
}

#[test]
fn back_off_converges_to_all_ones() {
    assert!(Plain::DELAYS.is_none());
    for itc in 0..256 {
        let (code, prose) = (delays::<ExponentialCode>(itc), delays::<ExponentialProse>(itc));
        assert_eq!((code[0], prose[0]), (itc as u32 & 0x3f, itc as u32 & 0xf));
        assert!(code.iter().all(|&d| d < 1 << 13) && prose.iter().all(|&d| d < 1 << 14));
        assert_eq!((code.last(), prose.last()), (Some(&8191), Some(&16383)));
        assert_eq!(delays::<ExponentialKept>(itc), code, "the readings differ after a failed exchange only");
    }
    assert_eq!(delays::<ExponentialCode>(0)[..5], [0, 15, 31, 63, 127]);
    assert_eq!(delays::<ExponentialCode>(0x3f)[..9], [63, 127, 255, 511, 1023, 2047, 4095, 8191, 8191]);
    assert_eq!(8191 * 1000 / ITC_PER_US, 6300, "nanoseconds of the longest delay");
}

/// A number behind a lock.
struct Counter<L> {
    lock: L,
    value: UnsafeCell<usize>,
}

// SAFETY: the tests access the value with the lock held.
unsafe impl<L: Sync> Sync for Counter<L> {}

impl<L: Sync> Counter<L> {
    /// Adds on several threads, between `lock` and `unlock`.
    fn exclude(lock: L, acquire: impl Fn(&L) + Sync, release: impl Fn(&L) + Sync) -> L {
        let counter = Counter { lock, value: UnsafeCell::new(0) };
        std::thread::scope(|s| {
            for _ in 0..THREADS {
                s.spawn(|| {
                    // All of it, as one closure would otherwise capture only the cell.
                    let counter = &counter;
                    for _ in 0..ROUNDS {
                        acquire(&counter.lock);
                        // SAFETY: the lock is held.
                        unsafe { *counter.value.get() += 1 };
                        release(&counter.lock);
                    }
                });
            }
        });
        assert_eq!(counter.value.into_inner(), THREADS * ROUNDS);
        counter.lock
    }
}

fn spin_lock_excludes<V: Policy>() {
    // SAFETY: locked right before.
    let lock = Counter::exclude(<Ia64SpinLock<V>>::new_in(), Ia64SpinLock::lock, |l| unsafe { l.unlock() });
    assert!(lock.try_lock() && !lock.try_lock() && lock.is_locked());
}

#[test]
fn ia64_excludes() {
    spin_lock_excludes::<Plain>();
    spin_lock_excludes::<ExponentialCode>();
    spin_lock_excludes::<ExponentialKept>();
    spin_lock_excludes::<ExponentialProse>();
}

#[test]
fn readers_of_the_rwsem_come_together() {
    let lock = <RwsemXadd<Fifo>>::new_in();
    lock.read();
    assert!(lock.try_read() && lock.is_locked());
    assert!(!lock.try_lock());
    // SAFETY: acquired above.
    unsafe {
        lock.unlock_read();
        lock.unlock_read();
    }
    assert!(lock.try_lock() && !lock.try_read());
    let lock = <Ia64SpinLock<Plain>>::new_in();
    assert!(lock.try_read());
    assert!(!lock.try_lock() && !lock.try_read());
    // SAFETY: acquired above.
    unsafe { lock.unlock_read() };
    lock.lock();
    // SAFETY: acquired above.
    unsafe { lock.unlock() };
}

/// Tests recursion on one thread, the refusal on another, then exclusion.
fn osv<V: osv_mutex::Policy>() {
    let lock = <OsvMutex<V>>::new_in();
    // SAFETY: the callers have acquired it before, on the same thread.
    let unlock = |lock: &OsvMutex<V>| unsafe { lock.unlock() };
    lock.lock();
    lock.lock();
    assert!(lock.try_lock());
    assert_eq!(lock.depth(), 3);
    let other = || std::thread::scope(|s| s.spawn(|| (lock.try_lock(), lock.depth())).join().expect("no panic"));
    for depth in (0..3).rev() {
        assert_eq!(other(), (false, 0), "it is another's");
        unlock(&lock);
        assert_eq!(lock.depth(), depth);
    }
    assert!(!lock.is_locked());
    let acquire = |lock: &OsvMutex<V>| {
        lock.lock();
        lock.lock();
    };
    let release = |lock: &OsvMutex<V>| {
        unlock(lock);
        unlock(lock);
    };
    assert!(!Counter::exclude(lock, acquire, release).is_locked());
}

#[test]
fn osv_is_recursive_and_excludes() {
    osv::<NoSpin>();
    osv::<Spin>();
    osv::<SpinToOne>();
    osv::<SpinPolling>();
    osv::<SpinAfterPush>();
    osv::<OwnerAtWake<NoSpin>>();
}

#[test]
fn a_thread_without_a_slot_is_nobody_in_particular() {
    let lock = OsvMutex::<NoSpin, Bare>::new_in();
    lock.lock();
    assert_eq!(lock.depth(), 0);
    assert!(!lock.try_lock(), "it cannot know that it is its own");
    // SAFETY: acquired above.
    unsafe { lock.unlock() };
    assert!(lock.try_lock());
}

#[test]
fn the_first_lock_takes_a_slot() {
    let lock = <OsvMutex<NoSpin>>::new_in();
    let tokens = std::thread::spawn(move || {
        let before = Native::current();
        lock.lock();
        (before, Native::current())
    });
    let (before, after) = tokens.join().expect("no panic");
    assert_ne!(before, after);
}
