//! Counts that are wrong on purpose.

use super::{Counts, Op, Said, State};
use crate::lock::{Held, Lock};
use std::marker::PhantomData;
use std::sync::Mutex;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

/// What is wrong; without a flaw, the count is a state behind a lock.
pub trait Flaw: Send + Sync + 'static {
    /// Runs an operation.
    fn run(words: &Words, op: Op) -> Said {
        words.alone(|state| op.alone(state))
    }
}

/// A state behind a lock.
#[derive(Default)]
pub struct Words {
    lock: Mutex<()>,
    count: AtomicU32,
    dead: AtomicU32,
}

impl Words {
    fn state(&self) -> State {
        State { count: self.count.load(SeqCst), dead: self.dead.load(SeqCst) != 0 }
    }

    fn set(&self, state: State) {
        self.count.store(state.count, SeqCst);
        self.dead.store(u32::from(state.dead), SeqCst);
    }

    /// One step, with the lock.
    fn alone(&self, step: impl FnOnce(State) -> (Said, State)) -> Said {
        let _guard = self.lock.lock().expect("no panic");
        let (said, state) = step(self.state());
        self.set(state);
        said
    }
}

/// Between a look and what rests on it. Sleeping lets the others come in even if there is one CPU for all.
fn dwell() {
    std::thread::sleep(Duration::from_micros(100));
}

/// Gives back without the lock.
pub struct NonAtomicPut;
impl Flaw for NonAtomicPut {
    fn run(words: &Words, op: Op) -> Said {
        if op != Op::Put {
            return words.alone(|state| op.alone(state));
        }
        let (said, state) = op.alone(words.state());
        dwell();
        words.count.store(state.count, SeqCst);
        said
    }
}

/// Decides that it is the last before it has the lock.
pub struct LooksBeforeLocking;
impl Flaw for LooksBeforeLocking {
    fn run(words: &Words, op: Op) -> Said {
        if op != Op::PutOrKill || words.state().count > 1 {
            return words.alone(|state| op.alone(state));
        }
        dwell();
        words.alone(|state| (Said::Locked, State { count: state.count.wrapping_sub(1), dead: true }))
    }
}

/// Finds what is dead.
pub struct DeafToDeath;
impl Flaw for DeafToDeath {
    fn run(words: &Words, op: Op) -> Said {
        words.alone(|state| {
            let (said, after) = op.alone(State { dead: state.dead && op.needs_one(), ..state });
            (said, State { dead: after.dead || state.dead, ..after })
        })
    }
}

/// Looks at the count once more after giving its reference back.
pub struct TouchAfterPut;
impl Flaw for TouchAfterPut {
    fn run(words: &Words, op: Op) -> Said {
        let said = words.alone(|state| op.alone(state));
        if matches!(said, Said::Left(left) if left > 0) {
            // Slower than the last one, which may take the memory away.
            std::thread::sleep(Duration::from_micros(500));
            words.count.load(SeqCst);
        }
        said
    }
}

/// A count with a flaw.
pub struct BrokenCount<F> {
    words: Words,
    flaw: PhantomData<F>,
}

impl<F> Default for BrokenCount<F> {
    fn default() -> Self {
        BrokenCount { words: Words::default(), flaw: PhantomData }
    }
}

impl<F: Flaw> Counts for BrokenCount<F> {
    fn run(&self, op: Op) -> Said {
        F::run(&self.words, op)
    }

    fn state(&self) -> State {
        self.words.state()
    }

    unsafe fn restart(&self, count: u32) {
        self.words.set(State { count, dead: false });
    }
}

impl<F: Flaw> Lock for BrokenCount<F> {
    fn acquire(&self) -> Held {
        unreachable!("only its count is broken")
    }

    fn try_acquire(&self) -> Option<Held> {
        unreachable!("only its count is broken")
    }

    unsafe fn release(&self, _held: Held) {
        unreachable!("only its count is broken")
    }

    fn counts(&self) -> &dyn Counts {
        self
    }

    fn words(&self) -> String {
        format!("{:?}", self.state())
    }
}
