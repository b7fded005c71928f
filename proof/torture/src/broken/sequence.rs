//! Sequence locks that are wrong on purpose.

use crate::arena::spin;
use crate::object::{Object, of};
use crate::ops::{Ops, Payload, Sequence};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::{Mutex, RwLock};
use std::time::Duration;

/// A payload and its locks.
#[derive(Default)]
pub(super) struct Words {
    sequence: AtomicU64,
    lock: RwLock<()>,
    writers: Mutex<()>,
    payload: [AtomicU64; 4],
}

impl Words {
    /// The words of the payload, one by one.
    fn look(&self) -> Payload {
        std::array::from_fn(|word| {
            spin(4);
            self.payload[word].load(SeqCst)
        })
    }

    fn set(&self, value: Payload, makes_odd: bool, asks_readers: bool) {
        let _writers = self.writers.lock().expect("no panic");
        let _guard = asks_readers.then(|| self.lock.write().expect("no panic"));
        let before = self.sequence.load(Relaxed);
        if makes_odd {
            self.sequence.store(before + 1, SeqCst);
        }
        let (first, rest) = self.payload.split_first().expect("four words");
        first.store(value[0], SeqCst);
        // Sleeping lets readers come even if there is one CPU for all.
        std::thread::sleep(Duration::from_micros(20));
        rest.iter().for_each(|word| word.store(value[0], SeqCst));
        self.sequence.store(before + 2, SeqCst);
    }
}

fn words(lock: Object<'_>) -> &Words {
    of(lock)
}

/// A sound lock; a flaw replaces one of its operations.
const SOUND: Sequence = Sequence {
    read: |lock| {
        loop {
            let begin = words(lock).sequence.load(SeqCst);
            let seen = words(lock).look();
            if begin.is_multiple_of(2) && words(lock).sequence.load(SeqCst) == begin {
                return seen;
            }
            std::hint::spin_loop();
        }
    },
    read_blocking: |lock, look, pause| {
        let _guard = words(lock).lock.read().expect("no panic");
        look(words(lock).look());
        pause();
        look(words(lock).look());
    },
    set: |lock, value| words(lock).set(value, true, true),
};

const fn sequence(sequence: Sequence) -> Ops {
    let report = |lock: Object| format!("{:?} {:?}", words(lock).sequence, words(lock).payload);
    Ops { sequence: Some(sequence), ..Ops::none(report) }
}

/// Believes every copy.
pub(super) const NO_SECOND_LOOK: Ops = sequence(Sequence { read: |lock| words(lock).look(), ..SOUND });

/// Changes the sequence once, after the data.
pub(super) const ONE_STEP: Ops = sequence(Sequence { set: |lock, value| words(lock).set(value, false, true), ..SOUND });

/// Lets a writer in with blocking readers.
pub(super) const DEAF_WRITER: Ops =
    sequence(Sequence { set: |lock, value| words(lock).set(value, true, false), ..SOUND });
