//! The locks that have models, in one list: what is modelled is also mutated.

/// One test for each lock, which calls `$check` with it.
macro_rules! each_lock {
    ($check:ident) => {
        each_lock! { $check:
            osq: Osq,
            mutex: Mutex,
            condvar: Condvar,
            spin: Spin,
            rwsem: RwSem,
            big_reader: BigReader,
            seqrwlock: SeqRwLock,
            lockref: LockRef,
            semaphore: Semaphore,
            reentrant: Reentrant,
            linux_mutex: LinuxMutex,
            rwsem_spinlock: RwsemSpinlock,
            rwsem_xadd: RwsemXadd,
            kernel_spin: KernelSpin,
            d_count: DCount,
            rename_lock: RenameLock,
            ia64_spin: Ia64Spin,
            osv_mutex: OsvMutex,
            journal: Journal,
            dcache: Dcache,
            parking: Parking,
        }
    };
    ($check:ident: $($name:ident: $lock:ident,)*) => {$(
        #[test]
        fn $name() {
            $check(Lock::$lock);
        }
    )*};
}
