//! What a count of references offers that anybody may raise from 0: a dentry in its cache.

use crate::arena::spin;
use crate::lock::{Held, Lock};
use std::marker::PhantomData;
use std::sync::Mutex;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;

/// A count of references. While somebody has one, nobody is in `at_last`.
pub trait References: Sync {
    /// Takes a reference.
    fn get(&self);
    /// Gives one back; if it is the last, runs `at_last` before.
    fn put(&self, at_last: &mut dyn FnMut());
    /// The count as of now.
    fn count(&self) -> u32;
}

/// What is wrong with a count: a flaw replaces one of two sound methods.
pub(crate) trait Flaw: Send + Sync + 'static {
    fn get(words: &Words) {
        let _guard = words.lock.lock().expect("no panic");
        words.count.fetch_add(1, SeqCst);
    }
    fn put(words: &Words, at_last: &mut dyn FnMut()) {
        let _guard = words.lock.lock().expect("no panic");
        if words.count.load(SeqCst) == 1 {
            at_last();
        }
        words.count.fetch_sub(1, SeqCst);
    }
}

/// A count behind a lock.
#[derive(Default)]
pub(crate) struct Words {
    lock: Mutex<()>,
    count: AtomicU32,
}

/// Adds to what it saw a while ago.
pub(crate) struct LosesGets;
impl Flaw for LosesGets {
    fn get(words: &Words) {
        let count = words.count.load(SeqCst);
        spin(20);
        words.count.store(count.wrapping_add(1), SeqCst);
    }
}

/// Says goodbye without the lock, when others may come again.
pub(crate) struct LastUnlocked;
impl Flaw for LastUnlocked {
    fn put(words: &Words, at_last: &mut dyn FnMut()) {
        if words.count.load(SeqCst) == 1 {
            spin(200);
            at_last();
        }
        words.count.fetch_sub(1, SeqCst);
    }
}

/// A count with a flaw.
pub(crate) struct BrokenReferences<F> {
    words: Words,
    flaw: PhantomData<F>,
}

impl<F> Default for BrokenReferences<F> {
    fn default() -> Self {
        BrokenReferences { words: Words::default(), flaw: PhantomData }
    }
}

impl<F: Flaw> References for BrokenReferences<F> {
    fn get(&self) {
        F::get(&self.words);
    }
    fn put(&self, at_last: &mut dyn FnMut()) {
        F::put(&self.words, at_last);
    }
    fn count(&self) -> u32 {
        self.words.count.load(SeqCst)
    }
}

impl<F: Flaw> Lock for BrokenReferences<F> {
    fn acquire(&self) -> Held {
        unreachable!("only its count is broken")
    }
    fn try_acquire(&self) -> Option<Held> {
        unreachable!("only its count is broken")
    }
    unsafe fn release(&self, _held: Held) {
        unreachable!("only its count is broken")
    }
    fn references(&self) -> &dyn References {
        self
    }
    fn words(&self) -> String {
        format!("count {}", self.count())
    }
}
