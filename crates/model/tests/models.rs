//! Every model holds.

use turnwise_model::check::{Lock, Width};
use turnwise_model::models;

fn hold(lock: Lock) {
    let width = Width::from_environment();
    let mut failed = Vec::new();
    for model in models::of(lock) {
        let outcome = model.run(width, &[]);
        println!("{:>9} executions {:>6} ms  {}", outcome.executions, outcome.elapsed.as_millis(), model.name);
        if let Some(failure) = outcome.failure {
            println!("{failure}");
            failed.push(model.name);
        }
    }
    assert!(failed.is_empty(), "these models fail: {failed:#?}");
}

/// One test for each lock.
macro_rules! locks {
    ($($name:ident: $lock:ident,)*) => {$(
        #[test]
        fn $name() {
            hold(Lock::$lock);
        }
    )*};
}

locks! {
    osq: Osq,
    mutex: Mutex,
    condvar: Condvar,
    spin: Spin,
    rwsem: RwSem,
    seqrwlock: SeqRwLock,
    lockref: LockRef,
    semaphore: Semaphore,
    reentrant: Reentrant,
    linux_mutex: LinuxMutex,
    rwsem_spinlock: RwsemSpinlock,
    rwsem_xadd: RwsemXadd,
    kernel_spin: KernelSpin,
}

#[test]
fn d_count() {
    hold(Lock::DCount);
}

#[test]
fn rename_lock() {
    hold(Lock::RenameLock);
}

#[test]
fn ia64_spin() {
    hold(Lock::Ia64Spin);
}

#[test]
fn osv_mutex() {
    hold(Lock::OsvMutex);
}
