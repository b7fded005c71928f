//! The guarantees of all locks: zero bytes are unlocked, and a panic releases. (The spin locks' own tests have both,
//! too.)

use std::panic::{AssertUnwindSafe, catch_unwind};
use turnwise::{
    BigReaderLock, Condvar, FairSemaphore, LockRef, Mutex, RawLock, RawReentrantMutex, RawSeqRwLock, RwSem, Semaphore,
};

/// Returns a lock in zeroed memory, without a constructor.
fn zeroed<L>() -> L {
    // SAFETY: zero bytes are an unlocked lock for every kind of lock; this is the property under test.
    unsafe { std::mem::zeroed() }
}

#[test]
fn zero_bytes_are_unlocked() {
    let (mutex, changed): (Mutex<u32>, Condvar) = (zeroed(), zeroed());
    let mut value = mutex.try_lock().expect("no thread has it");
    assert!(changed.wait_for(&mut value, std::time::Duration::ZERO).timed_out());
    let shared: RwSem<u32> = zeroed();
    assert!(shared.try_read().is_some() && shared.try_write().is_some());
    let big: BigReaderLock<u32> = zeroed();
    assert!(big.try_read().is_some() && big.try_write().is_some());
    let (semaphore, fair): (Semaphore, FairSemaphore) = (zeroed(), zeroed());
    assert_eq!((semaphore.available(), fair.available()), (0, 0));
    semaphore.release(1);
    fair.release(1);
    assert!(semaphore.try_acquire().is_some() && fair.try_acquire().is_some());
    let references: LockRef = zeroed();
    assert!(!references.get_not_zero());
    drop(references.try_lock().expect("no thread has it"));
    assert!(zeroed::<RawSeqRwLock>().try_lock() && zeroed::<RawReentrantMutex>().try_lock());
}

#[test]
fn a_panic_releases_and_the_data_stay_as_they_were() {
    let (mutex, permits) = (Mutex::new(0), Semaphore::new(1));
    let result = catch_unwind(AssertUnwindSafe(|| {
        let mut value = mutex.lock();
        let _permit = permits.acquire();
        *value = 7;
        panic!("while both are held");
    }));
    assert!(result.is_err());
    assert_eq!(*mutex.try_lock().expect("the panic released it"), 7);
    assert!(permits.try_acquire().is_some());
}
