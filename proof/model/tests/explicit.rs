//! Every explicit-state check holds.

use turnwise_model::check::{Lock, Width};
use turnwise_model::explicit;
use turnwise_model::report::Row;

fn hold(lock: Lock) {
    let width = Width::from_environment();
    let mut failed = Vec::new();
    let mut row = Row::new(lock, "explicit", "states");
    for check in explicit::of(lock) {
        let outcome = check.run(width, &[]);
        println!("{outcome}  {}: {:?}", check.name, outcome.seen);
        row.add(outcome.tried, outcome.elapsed);
        row.lines.extend(&outcome.seen);
        if let Some(failure) = outcome.failure {
            println!("{failure}");
            failed.push(check.name);
        }
    }
    assert!(failed.is_empty(), "these checks fail: {failed:#?}");
    row.tell().expect("the table's folder can be written");
}

macro_rules! each_lock {
    ($($name:ident: $lock:ident,)*) => {$(
        #[test]
        fn $name() {
            hold(Lock::$lock);
        }
    )*};
}

each_lock! {
    mutex: Mutex,
    rwsem: RwSem,
    big_reader: BigReader,
    semaphore: Semaphore,
    osq: Osq,
    lockref: LockRef,
    condvar: Condvar,
    reentrant: Reentrant,
    preload_cond: PreloadCond,
    preload_word: PreloadWord,
    slots: Slots,
    parking: Parking,
}
