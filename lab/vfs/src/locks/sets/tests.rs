//! Every set keeps what the dentry cache requires of its locks.

use super::*;
use crate::locks::{Count, Rename, Shared};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use turnwise::Lock;
use turnwise::platform::Native;

/// Few: the kernels' locks hand over in order, which takes a time slice each where threads outnumber CPUs.
const ROUNDS: u32 = if cfg!(miri) { 30 } else { 200 };

fn a_killed_count_stays_dead<C: Count>() {
    let count = C::with_references(2);
    assert!(!count.put_with(|| panic!("not the last")).last);
    assert!(!count.kill_unused(|| panic!("in use")));
    let mut ran = false;
    assert!(count.put_with(|| ran = true).last && ran);
    assert!(!count.get_above_one());
    assert!(count.get_live() && count.count() == 1, "from 0 to 1");
    assert!(count.put_quickly());
    ran = false;
    assert!(count.kill_unused(|| ran = true) && ran);
    assert!(!count.get_live() && !count.get_above_one() && count.count() == 0);
    assert!(!count.kill_unused(|| panic!("twice")));
}

/// Readers get and put, one thread kills: exactly one kill, and no reference after it.
fn get_live_against_kill<C: Count>() {
    for _ in 0..ROUNDS / 20 {
        let (count, references, kills) = (C::with_references(0), AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    while count.get_live() {
                        references.fetch_add(1, Relaxed);
                        assert_eq!(kills.load(Relaxed), 0, "a reference to the dead");
                        references.fetch_sub(1, Relaxed);
                        count.put();
                        std::thread::yield_now();
                    }
                    assert_eq!(kills.load(Relaxed), 1, "it failed before the kill was done");
                });
            }
            s.spawn(|| {
                while !count.kill_unused(|| {
                    assert_eq!(references.load(Relaxed), 0);
                    kills.fetch_add(1, Relaxed);
                }) {
                    std::thread::yield_now();
                }
            });
        });
    }
}

fn renames_are_seen_whole<R: Rename>() {
    let lock = R::new_in();
    let parts = [AtomicU32::new(0), AtomicU32::new(0)];
    // ORDERING test.part: pairs with the store below, as what a rename lock protects must.
    let both = || parts.each_ref().map(|part| part.load(std::sync::atomic::Ordering::Acquire));
    std::thread::scope(|s| {
        s.spawn(|| {
            for round in 1..=ROUNDS {
                lock.lock();
                // ORDERING test.part: pairs with the load above.
                parts.iter().for_each(|part| part.store(round, std::sync::atomic::Ordering::Release));
                // SAFETY: locked above.
                unsafe { lock.unlock() };
            }
        });
        s.spawn(|| {
            for _ in 0..ROUNDS {
                let sequence = lock.read_begin();
                let [a, b] = both();
                assert!(a == b || lock.read_retry(sequence), "torn, and believed");
                lock.read();
                let [a, b] = both();
                // SAFETY: locked above.
                unsafe { lock.unlock_read() };
                assert_eq!(a, b);
            }
        });
    });
}

fn guards_exclude<L: LockSet<Native>>() {
    let (mutex, spin) = (Lock::<L::Mutex, u32>::new_in(0), Lock::<L::Spin, u32>::new_in(0));
    let (rw_spin, rw_sem) = (Shared::<L::RwSpin, u32>::new_in(0), Shared::<L::RwSem, u32>::new_in(0));
    std::thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                for _ in 0..ROUNDS / 3 {
                    *mutex.lock() += 1;
                    *spin.lock() += 1;
                    *rw_spin.write() += 1;
                    *rw_sem.write() += 1;
                    assert!(*rw_spin.read() > 0 && *rw_sem.read() > 0);
                }
            });
        }
    });
    let all = ROUNDS / 3 * 2;
    assert_eq!((*mutex.lock(), *spin.lock(), *rw_spin.read(), *rw_sem.read()), (all, all, all, all));
    let held = mutex.lock();
    assert!(mutex.try_lock().is_none());
    drop(held);
    assert!(mutex.try_lock().is_some());
}

fn whole<L: LockSet<Native>>() {
    a_killed_count_stays_dead::<L::Count>();
    get_live_against_kill::<L::Count>();
    renames_are_seen_whole::<L::Rename>();
    guards_exclude::<L>();
}

#[test]
fn linux37() {
    whole::<Linux37>();
    guards_exclude::<Linux37Patch1>();
    guards_exclude::<Linux37Patch2>();
}

#[test]
fn linux310() {
    whole::<Linux310>();
}

#[test]
fn linux310_dcache() {
    whole::<Linux310Dcache>();
}

#[test]
fn linux312() {
    whole::<Linux312>();
}

#[test]
fn today() {
    whole::<Today>();
}
