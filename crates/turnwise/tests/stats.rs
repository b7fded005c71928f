//! Counters of the locks: events are counted as they happened.
#![cfg(feature = "native")]

#[cfg(not(feature = "stats"))]
#[test]
fn counters_that_are_off_take_no_room() {
    use turnwise::{Condvar, LockRef, LockRefCell, Mutex, QueuedSpinLock, SeqRwLock, SpinLock, TicketLock};
    use turnwise::{RawMcsLock, RawMutex, RawSeqRwLock};
    let raw_mutex = if cfg!(feature = "spin") { 8 } else { 4 };
    assert_eq!(size_of::<RawMutex>(), raw_mutex);
    assert_eq!(size_of::<Condvar>(), 16);
    assert_eq!(size_of::<RawMcsLock>(), size_of::<usize>());
    // The order checker puts classes into typed locks.
    if cfg!(not(feature = "order-check")) {
        assert_eq!(size_of::<Mutex<()>>(), raw_mutex);
        assert_eq!(size_of::<SeqRwLock<u64>>(), size_of::<RawSeqRwLock>() + 8);
        assert_eq!(size_of::<LockRef>(), 8);
        assert_eq!(size_of::<LockRefCell<u64>>(), 16);
        assert_eq!(size_of::<SpinLock<()>>(), 4);
        assert_eq!(size_of::<TicketLock<()>>(), 4);
        assert_eq!(size_of::<QueuedSpinLock<()>>(), 4);
    }
}

#[cfg(feature = "stats")]
mod on {
    use std::time::Duration;
    use turnwise::events::{Event, Kind, Stats, totals};
    use turnwise::{Condvar, LockRef, LockRefCell, McsLock, Mutex, MutexGuard};
    use turnwise::{QueuedSpinLock, RwSem, Semaphore, SeqRwLock, SpinLock, TicketLock};

    const ROUNDS: u64 = if cfg!(miri) { 20 } else { 2_000 };

    /// The number of acquisitions by each of two threads.
    fn contend(section: impl Fn() + Sync) {
        std::thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| (0..ROUNDS).for_each(|_| section()));
            }
        });
    }

    /// Returns whether `is_so` holds in one of several tries: in any single one a thread may be delayed until it times
    /// out, or until the lock is free.
    fn once(is_so: impl Fn() -> bool) -> bool {
        (0..50).any(|_| is_so())
    }

    /// Checks that every acquisition was counted once.
    fn adds_up(stats: Stats) {
        assert_eq!(stats.acquisitions(), 2 * ROUNDS, "{stats}");
        assert_eq!(stats[Event::TryFailed] + stats[Event::TimedOut] + stats[Event::Recursed], 0, "{stats}");
    }

    #[test]
    fn every_acquisition_is_counted_once() {
        let mutex = Mutex::new(());
        contend(|| drop(mutex.lock()));
        adds_up(mutex.stats());
        let spin = SpinLock::new(());
        contend(|| drop(spin.lock()));
        adds_up(spin.stats());
        let ticket = TicketLock::new(());
        contend(|| drop(ticket.lock()));
        adds_up(ticket.stats());
        let queued = QueuedSpinLock::new(());
        contend(|| drop(queued.lock()));
        adds_up(queued.stats());
        let mcs = McsLock::new(());
        contend(|| mcs.with(|()| ()));
        adds_up(mcs.raw().stats());
        let rwsem = RwSem::new(());
        contend(|| drop(rwsem.read()));
        adds_up(rwsem.stats());
        contend(|| drop(rwsem.write()));
        assert_eq!(rwsem.stats().acquisitions(), 4 * ROUNDS);
        let semaphore = Semaphore::new(1);
        contend(|| drop(semaphore.acquire()));
        adds_up(semaphore.stats());
    }

    #[test]
    fn a_sequence_lock_counts_every_owner() {
        let lock = SeqRwLock::new(0_u64);
        (0..ROUNDS).for_each(|_| assert_eq!(lock.read(), 0));
        assert_eq!(lock.stats(), Stats::ZERO, "an optimistic read does not lock");
        contend(|| drop(lock.blocking_read()));
        adds_up(lock.stats());
        contend(|| *lock.write() += 1);
        assert_eq!(lock.stats().acquisitions(), 4 * ROUNDS);
        assert_eq!(lock.read(), 2 * ROUNDS);
        let held = lock.write();
        assert!(lock.try_blocking_read().is_none() && lock.try_write().is_none());
        // On another thread: the order checker would call it a self-deadlock.
        let gives_up = || assert!(lock.try_write_for(Duration::from_millis(5)).is_none());
        std::thread::scope(|s| _ = s.spawn(gives_up));
        drop(held);
        let stats = lock.stats();
        // `try_write_for` begins with a try.
        assert_eq!((stats[Event::TryFailed], stats[Event::TimedOut]), (3, 1), "{stats}");
    }

    #[test]
    fn a_lockref_counts_its_lock_and_not_its_references() {
        let before = totals(Kind::LockRef);
        let refs = LockRef::new(1);
        for _ in 0..ROUNDS {
            refs.get();
            assert_eq!(refs.put(), 1);
        }
        assert_eq!(refs.stats(), Stats::ZERO);
        contend(|| drop(refs.lock()));
        adds_up(refs.stats());
        let cell = LockRefCell::new(1, 0);
        contend(|| *cell.lock() += 1);
        adds_up(cell.stats());
        assert!((totals(Kind::LockRef) - before).acquisitions() >= 4 * ROUNDS);
        drop(cell.put_or_lock().expect("the last one"));
        assert_eq!(cell.stats().acquisitions(), 2 * ROUNDS + 1);
    }

    #[test]
    fn waits_for_a_lockref_are_counted_as_they_end() {
        assert!(once(a_wait_for_a_lockref_sleeps), "nobody sleeps");
    }

    fn a_wait_for_a_lockref_sleeps() -> bool {
        let cell = LockRefCell::new(1, ());
        let held = cell.lock();
        std::thread::scope(|s| {
            s.spawn(|| {
                assert!(cell.try_lock().is_none());
                assert!(cell.try_lock_for(Duration::from_millis(if cfg!(miri) { 3000 } else { 20 })).is_none());
            });
        });
        drop(held);
        let stats = cell.stats();
        // `try_lock_for` begins with a try.
        assert_eq!((stats[Event::TryFailed], stats[Event::TimedOut], stats[Event::Acquired]), (2, 1, 1), "{stats}");
        assert_eq!(stats.acquisitions(), 1);
        stats[Event::Slept] >= 1
    }

    #[test]
    fn a_try_that_fails_and_a_wait_that_gives_up_are_counted() {
        assert!(once(a_wait_that_gives_up_sleeps), "nobody sleeps");
    }

    fn a_wait_that_gives_up_sleeps() -> bool {
        let mutex = Mutex::new(());
        let held = mutex.lock();
        std::thread::scope(|s| {
            s.spawn(|| {
                assert!(mutex.try_lock().is_none());
                assert!(mutex.try_lock_for(Duration::from_millis(5)).is_none());
            });
        });
        drop(held);
        let stats = mutex.stats();
        // `try_lock_for` begins with a try.
        assert_eq!((stats[Event::TryFailed], stats[Event::TimedOut], stats[Event::Acquired]), (2, 1, 1), "{stats}");
        assert_eq!(stats.acquisitions(), 1);
        stats[Event::Slept] >= 1
    }

    #[test]
    fn a_fair_release_is_a_hand_off_and_a_sleeper_is_woken() {
        assert!(once(a_fair_release_wakes), "no hand-off");
    }

    fn a_fair_release_wakes() -> bool {
        let mutex = Mutex::new(());
        let before = mutex.stats();
        let held = mutex.lock();
        std::thread::scope(|s| {
            s.spawn(|| drop(mutex.lock()));
            while mutex.stats()[Event::Contended] == 0 {
                std::thread::yield_now();
            }
            // A sleep is counted when it is over: give it time to begin.
            std::thread::sleep(Duration::from_millis(if cfg!(miri) { 3000 } else { 50 }));
            MutexGuard::unlock_fair(held);
        });
        let between = mutex.stats() - before;
        println!("{between}");
        assert_eq!(between[Event::Contended], 1, "{between}");
        between[Event::HandedOff] == 1 && between[Event::Woken] >= 1
    }

    #[test]
    fn notifications_that_find_somebody_are_counted() {
        let (ready, changed) = (Mutex::new(false), Condvar::new());
        changed.notify_all();
        assert_eq!(changed.stats(), Stats::ZERO);
        std::thread::scope(|s| {
            s.spawn(|| changed.wait_while(&mut ready.lock(), |ready| !*ready));
            // The waiter may not be there yet.
            while changed.stats()[Event::Notified] == 0 {
                changed.notify_one();
                std::thread::yield_now();
            }
            *ready.lock() = true;
            changed.notify_all();
        });
        assert!(changed.stats()[Event::Notified] >= 1);
    }

    #[test]
    fn totals_outlive_their_locks() {
        let before = totals(Kind::TicketLock);
        let own = {
            let lock = TicketLock::new(());
            (0..7).for_each(|_| drop(lock.lock()));
            lock.stats()
        };
        let between = totals(Kind::TicketLock) - before;
        assert_eq!(own[Event::Acquired], 7);
        assert!(between[Event::Acquired] >= 7, "{between}");
    }
}
