//! A dentry's reference count: no count is lost, and one put is the last, ordered after what the others did before.

use super::*;
use turnwise_lineage::d_count::{Count, OneWord, TwoWords};

impl<const BY_EXCHANGE: bool> Settles for TwoWords<BY_EXCHANGE, Loom> {
    fn is_settled(&self) -> bool {
        self.try_lock() && self.count() == 0
    }
}

impl Settles for OneWord<Loom> {
    fn is_settled(&self) -> bool {
        self.try_lock() && self.count() == 0
    }
}

pub(in crate::models) fn scene(call: &mut Call) -> Body {
    types! { call count: under_lock = TwoWords<false, Loom>, cmpxchg = TwoWords<true, Loom>, lockref = OneWord<Loom>;
        scenes! { call(): counted_while_locked(), found_while_locked() }
    }
}

fn count<C: Count + Settles>(call: &mut Call) -> Body {
    scenes! { call():
        shared_by::<C>(threads), come_and_go::<C>(threads), find_and_go::<C>(), after_the_last::<C>(),
        found_or_killed::<C>(killers, finders);
        lock::<C>(call)
    }
}

/// An object: threads with a reference read it, the last one writes.
struct Dentry<C> {
    count: C,
    name: Protected,
    /// Read with a reference; written by the thread that killed it, when it is done with it.
    inode: Protected,
    kills: Protected,
}

impl<C: Count> Dentry<C> {
    fn keep() -> &'static Self {
        let [name, inode, kills] = std::array::from_fn(|_| Protected::new());
        keep(Dentry { count: C::new_in(), name, inode, kills })
    }

    fn put(&self) {
        self.name.get();
        let put = self.count.put_with(|| self.name.add());
        assert!(put.locked || !put.last, "the count falls to 0 under the lock");
        saw(if put.last { "last" } else { "not last" });
    }

    /// Acts as a look-up that has nothing but the dentry's place in the cache.
    fn find(&self) {
        if self.count.get_live() {
            rest();
            self.inode.get();
            self.put();
            saw("found");
        } else {
            self.kills.get(); // a thread that finds it dead sees what the killer did under the lock
            saw("dead");
        }
    }

    /// Kills it if no thread has a reference.
    fn kill(&self) {
        let killed = self.count.kill_unused(|| {
            self.kills.add();
            rest(); // others come to wait for the lock
        });
        if killed {
            self.inode.add();
        }
        saw(if killed { "killed" } else { "in use" });
    }

    fn settled(&self, lasts: Option<u32>) {
        assert_eq!(self.count.count(), 0, "references left");
        assert!(self.count.try_lock(), "locked when everybody has left");
        assert!(lasts.is_none_or(|lasts| self.name.get() == lasts), "last puts");
    }
}

/// Each thread begins with a reference.
fn shared_by<C: Count>(threads: u32) {
    let dentry = Dentry::<C>::keep();
    for _ in 0..threads {
        dentry.count.get();
    }
    together(threads, move || dentry.put());
    dentry.settled(Some(1));
}

/// Each thread takes a reference by `get`, with nothing but the dentry's place in the cache, and gives it back.
fn get_and_go<C: Count>(threads: u32, get: fn(&C)) {
    let dentry = Dentry::<C>::keep();
    together(threads, move || {
        get(&dentry.count);
        dentry.put();
    });
    dentry.settled(None);
}

fn come_and_go<C: Count>(threads: u32) {
    get_and_go::<C>(threads, |count| _ = count.get());
}

/// Each takes it as a look-up does, which must not find a dead one; no thread kills it here.
fn find_and_go<C: Count>() {
    get_and_go::<C>(2, |count| assert!(count.get_live(), "nobody kills it"));
}

/// One thread puts the last reference; one takes two, so that a third may find more than 1.
fn after_the_last<C: Count>() {
    let dentry = Dentry::<C>::keep();
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

/// One thread has the lock and rests; another takes a reference and puts it.
fn counted_while_locked() {
    let dentry = Dentry::<OneWord<Loom>>::keep();
    dentry.count.lock();
    let other = spawn(move || {
        saw_if(dentry.count.get(), "waited");
        dentry.put();
    });
    rest();
    dentry.name.add();
    // SAFETY: locked above.
    unsafe { dentry.count.unlock() };
    other.join();
    dentry.settled(None);
}

/// Some threads look up an unreferenced object, others kill it unless it is in use.
fn found_or_killed<C: Count>(killers: u32, finders: u32) {
    let dentry = Dentry::<C>::keep();
    let mut handles: Vec<_> = (1..killers).map(|_| spawn(move || dentry.kill())).collect();
    handles.extend((0..finders).map(|_| spawn(move || dentry.find())));
    dentry.kill();
    join(handles);
    let killed = dentry.kills.get();
    assert!(killed <= 1, "killed by {killed}");
    assert_eq!(dentry.count.get_live(), killed == 0, "dead without a killer, or alive after it");
}

/// One thread has the lock and rests, so that another waits to take a reference; then it kills the object or not.
fn found_while_locked() {
    let dentry = Dentry::<OneWord<Loom>>::keep();
    dentry.count.lock();
    let finder = spawn(move || dentry.find());
    rest();
    // SAFETY: locked above.
    unsafe { dentry.count.unlock() };
    dentry.kill();
    finder.join();
}
