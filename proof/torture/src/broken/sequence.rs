//! Sequence locks that are wrong on purpose.

use crate::arena::spin;
use crate::object::{Object, debug_of, of};
use crate::ops::{Ops, Payload, Sequence};
use crate::verdict::Verdict::TwoOwners;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::{Mutex, RwLock};
use std::time::Duration;

/// A payload and its locks.
#[derive(Default, Debug)]
pub(super) struct Words {
    sequence: AtomicU64,
    lock: RwLock<()>,
    writers: Mutex<()>,
    payload: [AtomicU64; 4],
}

impl Words {
    /// Reads the words of the payload, one by one.
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
        // Sleeping lets readers in even if all threads share one CPU.
        std::thread::sleep(Duration::from_micros(20));
        rest.iter().for_each(|word| word.store(value[0], SeqCst));
        self.sequence.store(before + 2, SeqCst);
    }
}

fn words(lock: Object<'_>) -> &Words {
    of(lock)
}

/// A sound lock; a flaw replaces one of its operations.
const SOUND: Ops = Ops {
    sequence: Some(Sequence {
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
    }),
    ..Ops::none(debug_of::<Words>)
};

broken! { SOUND:
    "no-second-look", "an optimistic read believes what it saw", &[("torn-reads", TwoOwners)],
        sequence: Sequence { read: |lock| words(lock).look() };
    "one-step", "the sequence counts only the end of a change", &[("torn-reads", TwoOwners)],
        sequence: Sequence { set: |lock, value| words(lock).set(value, false, true) };
    "deaf-writer", "writers do not ask blocking readers", &[("blocking-reads", TwoOwners)],
        sequence: Sequence { set: |lock, value| words(lock).set(value, true, false) };
}
