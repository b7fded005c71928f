//! Sequence locks that are wrong on purpose.

use super::{Payload, Sequence};
use crate::arena::spin;
use crate::lock::{Held, Lock};
use std::marker::PhantomData;
use std::sync::RwLock;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::Duration;

/// What is wrong.
pub trait Flaw: Send + Sync + 'static {
    /// A read asks whether the sequence is still the same.
    const LOOKS_AGAIN: bool = true;
    /// A writer makes the sequence odd first.
    const MAKES_ODD: bool = true;
    /// A writer waits for blocking readers.
    const ASKS_READERS: bool = true;
}

/// Believes every copy.
pub struct NoSecondLook;
impl Flaw for NoSecondLook {
    const LOOKS_AGAIN: bool = false;
}

/// Changes the sequence once, after the data.
pub struct OneStep;
impl Flaw for OneStep {
    const MAKES_ODD: bool = false;
}

/// Lets a writer in with blocking readers.
pub struct DeafWriter;
impl Flaw for DeafWriter {
    const ASKS_READERS: bool = false;
}

/// A lock with a flaw.
pub struct BrokenSequence<F> {
    sequence: AtomicU64,
    lock: RwLock<()>,
    writers: std::sync::Mutex<()>,
    words: [AtomicU64; 4],
    flaw: PhantomData<F>,
}

impl<F> Default for BrokenSequence<F> {
    fn default() -> Self {
        BrokenSequence {
            sequence: AtomicU64::new(0),
            lock: RwLock::default(),
            writers: std::sync::Mutex::default(),
            words: Default::default(),
            flaw: PhantomData,
        }
    }
}

impl<F> BrokenSequence<F> {
    /// The words, one by one.
    fn look(&self) -> Payload {
        std::array::from_fn(|word| {
            spin(4);
            self.words[word].load(SeqCst)
        })
    }
}

impl<F: Flaw> Sequence for BrokenSequence<F> {
    fn read(&self) -> Payload {
        loop {
            let begin = self.sequence.load(SeqCst);
            let seen = self.look();
            if !F::LOOKS_AGAIN || begin.is_multiple_of(2) && self.sequence.load(SeqCst) == begin {
                return seen;
            }
            std::hint::spin_loop();
        }
    }

    fn read_blocking(&self, look: &mut dyn FnMut(Payload), pause: &mut dyn FnMut()) {
        let _guard = self.lock.read().expect("no panic");
        look(self.look());
        pause();
        look(self.look());
    }

    fn set(&self, value: Payload) {
        let _writers = self.writers.lock().expect("no panic");
        let _guard = F::ASKS_READERS.then(|| self.lock.write().expect("no panic"));
        let before = self.sequence.load(Relaxed);
        if F::MAKES_ODD {
            self.sequence.store(before + 1, SeqCst);
        }
        let (first, rest) = self.words.split_first().expect("four words");
        first.store(value[0], SeqCst);
        // Sleeping lets readers come even if there is one CPU for all.
        std::thread::sleep(Duration::from_micros(20));
        rest.iter().for_each(|word| word.store(value[0], SeqCst));
        self.sequence.store(before + 2, SeqCst);
    }
}

impl<F: Flaw> Lock for BrokenSequence<F> {
    fn acquire(&self) -> Held {
        unreachable!("only its reads are broken")
    }

    fn try_acquire(&self) -> Option<Held> {
        unreachable!("only its reads are broken")
    }

    unsafe fn release(&self, _held: Held) {
        unreachable!("only its reads are broken")
    }

    fn sequence(&self) -> &dyn Sequence {
        self
    }

    fn words(&self) -> String {
        format!("{:?} {:?}", self.sequence, self.words)
    }
}
