//! A dentry's reference count: no count lost, one last put, alone with what the others did before.

use super::*;
use crate::check::Lock;
use turnwise_lineage::d_count::{CmpXchg, DCount, LockRef, Policy, UnderLock};

impl<V: Policy> Exclusive for DCount<V, Loom> {
    fn make() -> Self {
        Self::new_in()
    }
    fn lock(&self) {
        self.lock();
    }
    fn try_lock(&self) -> bool {
        self.try_lock()
    }
    fn unlock(&self) {
        // SAFETY: the caller has the lock.
        unsafe { self.unlock() };
    }
    fn is_settled(&self) -> bool {
        let free = self.try_lock();
        if free {
            Exclusive::unlock(self);
        }
        free && self.count() == 0
    }
}

const fn model(name: &'static str, preemptions: (usize, usize), shows: Shows, body: fn()) -> Model {
    Model { name, lock: Lock::DCount, setup: PLAIN, preemptions, shows, body }
}

const LAST: Shows = &["last", "not last"];
const KILLED: Shows = &["found", "killed", "dead"];

pub(super) const MODELS: &[Model] = &[
    model("d_count under lock: two share", (3, 6), LAST, || shared_by::<UnderLock>(2)),
    model("d_count under lock: two come and go", (2, 4), LAST, || come_and_go::<UnderLock>(2)),
    model("d_count by cmpxchg: two share", (3, 6), LAST, || shared_by::<CmpXchg>(2)),
    model("d_count by cmpxchg: three share", (2, 3), LAST, || shared_by::<CmpXchg>(3)),
    model("d_count by cmpxchg: two come and go", (2, 4), LAST, || come_and_go::<CmpXchg>(2)),
    model("d_count by cmpxchg: one comes after the last put", (1, 2), LAST, after_the_last::<CmpXchg>),
    model("lockref: two share", (3, 6), LAST, || shared_by::<LockRef>(2)),
    model("lockref: three share", (2, 3), LAST, || shared_by::<LockRef>(3)),
    model("lockref: two come and go", (2, 4), LAST, || come_and_go::<LockRef>(2)),
    model("lockref: one comes after the last put", (1, 2), LAST, after_the_last::<LockRef>),
    model("d_count under lock: found or killed", (3, 6), KILLED, found_or_killed::<UnderLock>),
    model("d_count under lock: two find and go", (2, 4), LAST, find_and_go::<UnderLock>),
    model("d_count by cmpxchg: found or killed", (3, 6), KILLED, found_or_killed::<CmpXchg>),
    model("d_count by cmpxchg: two find and go", (2, 4), LAST, find_and_go::<CmpXchg>),
    model("lockref: found or killed", (3, 6), KILLED, found_or_killed::<LockRef>),
    model("lockref: two find and go", (2, 4), LAST, find_and_go::<LockRef>),
    model("lockref: two lock", (3, 6), &[], || all_lock::<DCount<LockRef, Loom>>(2, 2)),
    model("lockref: three lock", (1, 2), &[], || all_lock::<DCount<LockRef, Loom>>(3, 1)),
    model("lockref: try to lock", (3, 6), EITHER, attempt::<DCount<LockRef, Loom>>),
    model("lockref: counted while another has the lock", (2, 4), &["waited"], counted_while_locked),
    model("lockref: dropped", (3, 6), &["dropped"], dropped::<DCount<LockRef, Loom>>),
];

/// An object: those with a reference read it, the last one writes.
struct Dentry<V: Policy> {
    count: DCount<V, Loom>,
    name: Protected,
}

impl<V: Policy> Dentry<V> {
    fn keep() -> &'static Self {
        keep(Dentry { count: DCount::new_in(), name: Protected::new() })
    }

    fn put(&self) {
        self.name.get();
        let put = self.count.put_with(|| self.name.add());
        assert!(put.locked || !put.last, "the count falls to 0 under the lock");
        saw(if put.last { "last" } else { "not last" });
    }

    fn settled(&self, lasts: Option<u32>) {
        assert_eq!(self.count.count(), 0, "references left");
        assert!(self.count.try_lock(), "locked when everybody has left");
        assert!(lasts.is_none_or(|lasts| self.name.get() == lasts), "last puts");
    }
}

/// Each thread begins with a reference.
fn shared_by<V: Policy>(threads: u32) {
    let dentry = Dentry::<V>::keep();
    for _ in 0..threads {
        dentry.count.get();
    }
    let others: Vec<_> = (1..threads).map(|_| spawn(move || dentry.put())).collect();
    dentry.put();
    others.into_iter().for_each(Handle::join);
    dentry.settled(Some(1));
}

/// Each thread takes a reference, with nothing but the dentry's place in the cache.
fn come_and_go<V: Policy>(threads: u32) {
    let dentry = Dentry::<V>::keep();
    let body = move || {
        dentry.count.get();
        dentry.put();
    };
    let others: Vec<_> = (1..threads).map(|_| spawn(body)).collect();
    body();
    others.into_iter().for_each(Handle::join);
    dentry.settled(None);
}

/// The same for those who found it without a reference.
fn find_and_go<V: Policy>() {
    let dentry = Dentry::<V>::keep();
    let body = move || {
        assert!(dentry.count.get_live(), "nobody kills it");
        dentry.put();
    };
    let other = spawn(body);
    body();
    other.join();
    dentry.settled(None);
}

/// One finds it, another kills it if it is unused. Whoever finds it dead sees what was done to it at that.
fn found_or_killed<V: Policy>() {
    let dentry = Dentry::<V>::keep();
    let finder = spawn(move || {
        if dentry.count.get_live() {
            saw("found");
            dentry.put();
        } else {
            saw("dead");
        }
    });
    if dentry.count.kill_unused(|| dentry.name.add()) {
        saw("killed");
        assert!(!dentry.count.get_live() && !dentry.count.kill_unused(|| ()), "dead is final");
    }
    finder.join();
}

/// One puts the last reference; one takes two, so that a third may find more than 1.
fn after_the_last<V: Policy>() {
    let dentry = Dentry::<V>::keep();
    dentry.count.get();
    let two = spawn(move || {
        dentry.count.get();
        dentry.count.get();
        rest();
        dentry.put();
        dentry.put();
    });
    let one = spawn(move || {
        dentry.count.get();
        dentry.put();
    });
    dentry.put();
    two.join();
    one.join();
    dentry.settled(None);
}

/// One has the lock and rests; another takes a reference and puts it.
fn counted_while_locked() {
    let dentry = Dentry::<LockRef>::keep();
    dentry.count.lock();
    let other = spawn(move || {
        if dentry.count.get() {
            saw("waited");
        }
        dentry.put();
    });
    rest();
    dentry.name.add();
    // SAFETY: locked above.
    unsafe { dentry.count.unlock() };
    other.join();
    dentry.settled(None);
}
