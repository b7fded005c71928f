//! Counts, and counts of references, that are wrong on purpose.

use super::pause;
use crate::arena::spin;
use crate::counts::{Op, Said, State};
use crate::object::{Object, debug_of, of};
use crate::ops::{Counts, Ops, References};
use crate::verdict::Verdict::{Crash, NoOrder, TwoOwners};
use std::sync::Mutex;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

/// A state behind a lock.
#[derive(Default, Debug)]
pub(super) struct Words {
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

    /// Does one step, with the lock.
    fn alone(&self, step: impl FnOnce(State) -> (Said, State)) -> Said {
        let _guard = self.lock.lock().expect("no panic");
        let (said, state) = step(self.state());
        self.set(state);
        said
    }
}

fn words(count: Object<'_>) -> &Words {
    of(count)
}

const REFERENCES: References = References {
    get: |count| {
        let _guard = words(count).lock.lock().expect("no panic");
        words(count).count.fetch_add(1, SeqCst);
    },
    put: |count, at_last| {
        let _guard = words(count).lock.lock().expect("no panic");
        if words(count).count.load(SeqCst) == 1 {
            at_last();
        }
        words(count).count.fetch_sub(1, SeqCst);
    },
    count: |count| words(count).count.load(SeqCst),
};

/// Sound counts; a flaw replaces one of their operations.
const SOUND: Ops = Ops {
    counts: Some(Counts {
        run: |count, op| words(count).alone(|state| after(op, state)),
        state: |count| words(count).state(),
        restart: |count, n| words(count).set(State { count: n, dead: false }),
    }),
    references: Some(REFERENCES),
    ..Ops::none(debug_of::<Words>)
};

/// Runs an operation as a sound count does. One that a sound count never has in this state does nothing.
fn after(op: Op, state: State) -> (Said, State) {
    op.alone(state).unwrap_or((Said::No, state))
}

broken! { SOUND:
    // Gives back without the lock.
    "non-atomic-put", "a put looks, then stores", &[("count-order", NoOrder)], counts: Counts {
        run: |count, op| {
            let words = words(count);
            if op != Op::Put {
                return words.alone(|state| after(op, state));
            }
            let (said, state) = after(op, words.state());
            pause();
            words.count.store(state.count, SeqCst);
            said
        },
    };
    // Decides that it is the last before it has the lock.
    "looks-before", "a thread that locks believes an earlier look", &[("count-order", NoOrder)], counts: Counts {
        run: |count, op| {
            let words = words(count);
            if op != Op::PutOrKill || words.state().count > 1 {
                return words.alone(|state| after(op, state));
            }
            pause();
            words.alone(|state| (Said::Locked, State { count: state.count.wrapping_sub(1), dead: true }))
        },
    };
    // Finds a dead object.
    "deaf-to-death", "a dead object can be found", &[("count-order", NoOrder)], counts: Counts {
        run: |count, op| {
            let words = words(count);
            words.alone(|state| {
                let (said, after) = after(op, State { dead: state.dead && op.needs_one(), ..state });
                (said, State { dead: after.dead || state.dead, ..after })
            })
        },
    };
    // Reads the count once more after giving its reference back.
    "touch-after-put", "a put looks at the count that it left", &[("destroy-last", Crash)], counts: Counts {
        run: |count, op| {
            let words = words(count);
            let said = words.alone(|state| after(op, state));
            if matches!(said, Said::Left(left) if left > 0) {
                // Slower than the last thread, which may free the memory.
                std::thread::sleep(Duration::from_micros(500));
                words.count.load(SeqCst);
            }
            said
        },
    };
    // Adds to a stale value.
    "loses-gets", "a reference may be lost", &[("references", TwoOwners)], references: References {
        get: |count| {
            let seen = words(count).count.load(SeqCst);
            spin(20);
            words(count).count.store(seen.wrapping_add(1), SeqCst);
        },
    };
    // Ends the object without the lock, when other threads may come again.
    "last-unlocked", "the last put looks without the lock", &[("references", TwoOwners)], references: References {
        put: |count, at_last| {
            if words(count).count.load(SeqCst) == 1 {
                spin(200);
                at_last();
            }
            words(count).count.fetch_sub(1, SeqCst);
        },
    };
}
