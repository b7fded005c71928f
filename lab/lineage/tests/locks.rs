//! The locks on this machine's threads.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use turnwise::raw::{RawLock, RawRwLock};
use turnwise_lineage::d_count::Count;
use turnwise_lineage::linux_mutex::{Baseline, LinuxMutex, NoSpin, Patch1, Patch1And2};
use turnwise_lineage::{BiasedRwLock, DCount, Ia64SpinLock, KernelTicketLock, OsvMutex, QueuedRwLock, RenameLock};
use turnwise_lineage::{
    RwsemSpinlock, RwsemXadd, d_count, ia64_spin, osv_mutex, rename_lock, rwsem_spinlock, rwsem_xadd,
};

/// Rounds per thread.
const ROUNDS: usize = if cfg!(miri) { 20 } else { 20_000 };

/// A number behind a lock.
struct Counter<L> {
    lock: L,
    value: UnsafeCell<usize>,
}

// SAFETY: the tests access the value with the lock held.
unsafe impl<L: Sync> Sync for Counter<L> {}

impl<L> Counter<L> {
    const fn new(lock: L) -> Self {
        Counter { lock, value: UnsafeCell::new(0) }
    }
    fn add(&self) {
        // SAFETY: the caller has the lock to write.
        unsafe { *self.value.get() += 1 };
    }
    fn get(&self) -> usize {
        // SAFETY: the caller has the lock.
        unsafe { *self.value.get() }
    }
}

macro_rules! mutual_exclusion {
    ($($name:ident: $lock:ty;)*) => {$(
        #[test]
        fn $name() {
            let counter = Counter::new(<$lock>::new_in());
            std::thread::scope(|s| {
                for _ in 0..3 {
                    s.spawn(|| for _ in 0..ROUNDS {
                        counter.lock.lock();
                        counter.add();
                        // SAFETY: locked above.
                        unsafe { counter.lock.unlock() };
                    });
                }
            });
            assert_eq!(counter.get(), 3 * ROUNDS);
            assert!(counter.lock.try_lock() && !counter.lock.try_lock() && counter.lock.is_locked());
            // SAFETY: locked above.
            unsafe { counter.lock.unlock() };
            assert!(!counter.lock.is_locked());
        }
    )*};
}

mutual_exclusion! {
    baseline: LinuxMutex<Baseline>;
    patch_1: LinuxMutex<Patch1>;
    patches_1_and_2: LinuxMutex<Patch1And2>;
    no_spin: LinuxMutex<NoSpin>;
    ticket: KernelTicketLock;
}

macro_rules! readers_and_writers {
    ($($name:ident: $lock:ty;)*) => {$(
        #[test]
        fn $name() {
            let counter = Counter::new(<$lock>::new_in());
            let (lock, data) = (&counter.lock, &counter);
            std::thread::scope(|s| {
                for _ in 0..2 {
                    s.spawn(|| for _ in 0..ROUNDS {
                        lock.lock();
                        data.add();
                        // SAFETY: locked above.
                        unsafe { lock.unlock() };
                    });
                    s.spawn(|| for _ in 0..ROUNDS {
                        lock.read();
                        assert!(data.get() <= 2 * ROUNDS);
                        // SAFETY: locked above.
                        unsafe { lock.unlock_read() };
                    });
                }
            });
            assert_eq!(data.get(), 2 * ROUNDS);
            assert!(!lock.is_locked());
            assert!(lock.try_read() && lock.try_read() && !lock.try_lock() && lock.is_locked());
            // SAFETY: two read locks, taken above.
            unsafe {
                lock.unlock_read();
                lock.unlock_read();
            }
            assert!(lock.try_lock() && !lock.try_read() && !lock.try_lock());
            // SAFETY: locked above.
            unsafe { lock.unlock() };
            assert!(!lock.is_locked());
        }
    )*};
}

readers_and_writers! {
    rwsem_spinlock_fifo: RwsemSpinlock<rwsem_spinlock::Fifo>;
    rwsem_spinlock_stealing: RwsemSpinlock<rwsem_spinlock::Stealing>;
    rwsem_xadd_fifo: RwsemXadd<rwsem_xadd::Fifo>;
    rwsem_xadd_stealing: RwsemXadd<rwsem_xadd::Stealing>;
    rwsem_xadd_fast_stealing: RwsemXadd<rwsem_xadd::FastStealing>;
    biased: BiasedRwLock;
    queued: QueuedRwLock;
}

macro_rules! downgrade_and_lists {
    ($($name:ident: $lock:ty;)*) => {$(
        #[test]
        fn $name() {
            let lock = <$lock>::new_in();
            lock.lock();
            // SAFETY: locked above.
            unsafe { lock.downgrade() };
            assert!(lock.try_read() && !lock.try_lock());
            std::thread::scope(|s| {
                s.spawn(|| {
                    lock.lock();
                    // SAFETY: locked above.
                    unsafe { lock.unlock() };
                });
                while lock.has_no_waiters() {
                    std::thread::yield_now();
                }
                assert!(!lock.try_read(), "a reader does not pass a writer in the list");
                // SAFETY: two read locks, one from the downgrade.
                unsafe {
                    lock.unlock_read();
                    lock.unlock_read();
                }
            });
            assert!(!lock.is_locked() && lock.has_no_waiters());
        }
    )*};
}

downgrade_and_lists! {
    spinlock_fifo_list: RwsemSpinlock<rwsem_spinlock::Fifo>;
    spinlock_stealing_list: RwsemSpinlock<rwsem_spinlock::Stealing>;
    xadd_fifo_list: RwsemXadd<rwsem_xadd::Fifo>;
    xadd_stealing_list: RwsemXadd<rwsem_xadd::Stealing>;
    xadd_fast_stealing_list: RwsemXadd<rwsem_xadd::FastStealing>;
}

#[test]
fn a_failed_try_leaves_no_trace() {
    let lock = <BiasedRwLock>::new_in();
    assert!(lock.try_lock());
    (0..100).for_each(|_| assert!(!lock.try_read() && !lock.try_lock()));
    // SAFETY: locked above.
    unsafe { lock.unlock() };
    assert!(!lock.is_locked());
    let lock = <QueuedRwLock>::new_in();
    assert!(lock.try_lock());
    (0..100).for_each(|_| assert!(!lock.try_read() && !lock.try_lock()));
    // SAFETY: locked above.
    unsafe { lock.unlock() };
    assert!(!lock.is_locked());
}

/// Returns a lock made of zero bytes.
///
/// # Safety
/// `L` consists of words.
unsafe fn zeroed<L>() -> L {
    // SAFETY: guaranteed by the caller; a word of zeroes is a word.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

#[test]
fn zero_bytes_are_an_unlocked_lock() {
    // SAFETY: these locks consist of words.
    unsafe {
        assert!(zeroed::<LinuxMutex<Patch1And2>>().try_lock());
        assert!(zeroed::<KernelTicketLock>().try_lock());
        assert!(zeroed::<RwsemSpinlock<rwsem_spinlock::Stealing>>().try_lock());
        assert!(zeroed::<RwsemXadd<rwsem_xadd::Stealing>>().try_lock());
        assert!(zeroed::<BiasedRwLock>().try_lock());
        assert!(zeroed::<QueuedRwLock>().try_lock());
        assert!(zeroed::<OsvMutex<osv_mutex::Spin>>().try_lock());
        assert!(zeroed::<Ia64SpinLock<ia64_spin::Plain>>().try_lock());
        assert!(zeroed::<RenameLock<rename_lock::SeqRw>>().try_lock());
        assert!(zeroed::<DCount<d_count::UnderLock>>().try_lock());
        assert_eq!(zeroed::<DCount<d_count::LockRef>>().count(), 0);
    }
}

#[test]
#[cfg(target_pointer_width = "64")]
fn sizes_are_as_published() {
    let (both, one, off) =
        (size_of::<LinuxMutex<Patch1And2>>(), size_of::<LinuxMutex<Patch1>>(), size_of::<LinuxMutex<NoSpin>>());
    assert_eq!((both - one, off - one), (8, 0));
    assert_eq!(both, 40);
}

#[test]
fn what_is_printed_is_what_the_kernel_has() {
    let mutex = <LinuxMutex<Baseline>>::new_in();
    assert!(format!("{mutex:?}").contains("count: 1"));
    mutex.lock();
    assert!(format!("{mutex:?}").contains("count: 0"));
    let rwsem = <RwsemSpinlock<rwsem_spinlock::Fifo>>::new_in();
    rwsem.lock();
    assert!(format!("{rwsem:?}").contains("activity: -1"));
    let biased = <BiasedRwLock>::new_in();
    biased.read();
    assert!(format!("{biased:?}").contains(&format!("count: {}", turnwise_lineage::biased_rwlock::BIAS - 1)));
}
