//! `rename_lock`: optimistic readers see what one writer left; blocking readers keep only writers out.

use super::*;
use std::sync::atomic::Ordering::{Acquire, Release};
use turnwise_lineage::rename_lock::{Exclusive, Policy, RenameLock, SeqExclusive, SeqRw};

impl<V: Policy> Settles for RenameLock<V, Loom> {}

pub(in crate::models) fn scene(call: &mut Call) -> Body {
    types! { call tree: seq = Exclusive, seq_exclusive = SeqExclusive, seqrw = SeqRw }
}

fn tree<V: Policy>(call: &mut Call) -> Body {
    scenes! { call():
        optimistic::<V>(writers), blocking::<V>(writers, readers), disturbed::<V>(bumps), alone::<V>();
        lock::<RenameLock<V, Loom>>(call)
    }
}

/// A lock with two words that writers leave equal, and data for blocking readers.
struct Tree<V: Policy> {
    raw: RenameLock<V, Loom>,
    words: [LoomU32; 2],
    data: Protected,
    readers: LoomU32,
}

impl<V: Policy> Tree<V> {
    fn keep() -> &'static Self {
        let zero = || LoomU32::new(0);
        keep(Tree { raw: RenameLock::new_in(), words: [zero(), zero()], data: Protected::new(), readers: zero() })
    }

    fn write(&self) {
        self.raw.lock();
        self.data.add();
        let value = self.data.get();
        self.words.iter().for_each(|word| word.store(value, Release));
        // SAFETY: acquired above.
        unsafe { self.raw.unlock() };
    }

    fn read_optimistically(&self) {
        let mut how = "at once";
        loop {
            let sequence = self.raw.read_begin();
            let pair = self.words.each_ref().map(|word| word.load(Acquire));
            if !self.raw.read_retry(sequence) {
                assert_eq!(pair[0], pair[1], "half of what a writer wrote");
                saw(how);
                return;
            }
            how = "once more";
        }
    }

    fn read_blocking(&self) {
        self.raw.read();
        saw_if(self.readers.fetch_add(1, Relaxed) == 1, "both read");
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
