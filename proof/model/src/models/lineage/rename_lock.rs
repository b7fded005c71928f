//! `rename_lock`: optimistic readers see what one writer left; blocking readers keep only writers out.

use super::*;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::platform::{IntWord, Platform, Word};
use turnwise_lineage::rename_lock::{Exclusive as Seq, Policy, RenameLock, SeqExclusive as Excl, SeqRw};

const RETRY: Shows = &["at once", "once more"];

pub(super) const MODELS: &[Model] = models! { RenameLock:
    "rename: a writer and an optimistic reader": PLAIN, (3, 6), RETRY => optimistic::<Seq>(1);
    "rename: two writers and an optimistic reader": PLAIN, (1, 2), RETRY => optimistic::<Seq>(2);
    "rename: a writer and a blocking reader": PLAIN, (4, 8), ANY => blocking::<Seq>(1, 1);
    "rename: a blocking reader and an optimistic one": PLAIN, (3, 6), RETRY => disturbed::<Seq>(true);
    "rename: dropped": PLAIN, (3, 6), &["dropped"] => dropped::<RenameLock<Seq, Loom>>();
    "rename, 3.12: a writer and an optimistic reader": PLAIN, (3, 6), RETRY => optimistic::<Excl>(1);
    "rename, 3.12: a writer and a blocking reader": PLAIN, (4, 8), ANY => blocking::<Excl>(1, 1);
    "rename, 3.12: two writers and a blocking reader": PLAIN, (1, 2), ANY => blocking::<Excl>(2, 1);
    "rename, 3.12: blocking readers exclude each other": PLAIN, (3, 6), ANY => alone::<Excl>();
    "rename, 3.12: a blocking reader does not disturb an optimistic one": PLAIN, (3, 6), &["at once"] =>
        disturbed::<Excl>(false);
    "rename, 3.12: dropped": PLAIN, (3, 6), &["dropped"] => dropped::<RenameLock<Excl, Loom>>();
    "seqrw: a writer and an optimistic reader": PLAIN, (3, 6), RETRY => optimistic::<SeqRw>(1);
    "seqrw: two writers and an optimistic reader": PLAIN, (1, 2), RETRY => optimistic::<SeqRw>(2);
    "seqrw: a writer and a blocking reader": PLAIN, (4, 8), ANY => blocking::<SeqRw>(1, 1);
    "seqrw: a writer and two blocking readers": PLAIN, (2, 3), &["both read"] => blocking::<SeqRw>(1, 2);
    "seqrw: two writers and a blocking reader": PLAIN, (1, 2), ANY => blocking::<SeqRw>(2, 1);
    "seqrw: a blocking reader does not disturb an optimistic one": PLAIN, (3, 6), &["at once"] =>
        disturbed::<SeqRw>(false);
    "seqrw: dropped": PLAIN, (3, 6), &["dropped"] => dropped::<RenameLock<SeqRw, Loom>>();
};

type U32 = <Loom as Platform>::U32;

/// A lock with two words that writers leave equal, and data for blocking readers.
struct Tree<V: Policy> {
    raw: RenameLock<V, Loom>,
    first: U32,
    second: U32,
    data: Protected,
    readers: U32,
}

impl<V: Policy> Tree<V> {
    fn keep() -> &'static Self {
        let zero = || U32::new(0);
        keep(Tree { raw: RenameLock::new_in(), first: zero(), second: zero(), data: Protected::new(), readers: zero() })
    }

    fn write(&self) {
        self.raw.lock();
        self.data.add();
        let value = self.data.get();
        self.first.store(value, Release);
        self.second.store(value, Release);
        // SAFETY: acquired above.
        unsafe { self.raw.unlock() };
    }

    fn read_optimistically(&self) {
        let mut how = "at once";
        loop {
            let sequence = self.raw.read_begin();
            let pair = (self.first.load(Acquire), self.second.load(Acquire));
            if !self.raw.read_retry(sequence) {
                assert_eq!(pair.0, pair.1, "half of what a writer wrote");
                saw(how);
                return;
            }
            how = "once more";
        }
    }

    fn read_blocking(&self) {
        self.raw.read();
        if self.readers.fetch_add(1, Relaxed) == 1 {
            saw("both read");
        }
        rest();
        self.data.get();
        self.readers.fetch_sub(1, Relaxed);
        // SAFETY: acquired above.
        unsafe { self.raw.unlock_read() };
    }

    fn settled(&self, writes: u32) {
        assert!(!self.raw.is_locked(), "locked when everybody has left");
        assert_eq!(self.data.get(), writes, "critical sections of writers");
    }
}

fn optimistic<V: Policy>(writers: u32) {
    let tree = Tree::<V>::keep();
    let writers: Vec<_> = (0..writers).map(|_| spawn(move || tree.write())).collect();
    tree.read_optimistically();
    let writes = writers.len() as u32;
    join(writers);
    tree.settled(writes);
}

fn blocking<V: Policy>(writers: u32, readers: u32) {
    let tree = Tree::<V>::keep();
    let mut handles: Vec<_> = (1..writers).map(|_| spawn(move || tree.write())).collect();
    handles.extend((0..readers).map(|_| spawn(move || tree.read_blocking())));
    tree.write();
    join(handles);
    tree.settled(writers);
}

/// The first thread blocks while another reads optimistically.
fn disturbed<V: Policy>(bumps: bool) {
    let tree = Tree::<V>::keep();
    let optimist = spawn(move || tree.read_optimistically());
    tree.read_blocking();
    optimist.join();
    assert_eq!(tree.raw.read_retry(0), bumps, "whether the sequence moved");
}

/// Two blocking readers, each of which is alone.
fn alone<V: Policy>() {
    let tree = Tree::<V>::keep();
    together(2, || {
        tree.raw.read();
        rest();
        tree.data.add();
        // SAFETY: acquired above.
        unsafe { tree.raw.unlock_read() };
    });
    tree.settled(2);
}
