//! Counts of references that are wrong on purpose.

use super::{BrokenRecord, Flaw, flaw};
use crate::arena::spin;
use crate::object::{Object, debug_of, of};
use crate::ops::{Ops, References};
use crate::verdict::Verdict::TwoOwners;
use std::sync::Mutex;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;

/// A count behind a lock.
#[derive(Default, Debug)]
pub(super) struct Words {
    lock: Mutex<()>,
    count: AtomicU32,
}

fn words(count: Object<'_>) -> &Words {
    of(count)
}

/// A sound count; a flaw replaces one of its operations.
const SOUND: References = References {
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

impl Flaw {
    const fn references(self, references: References) -> BrokenRecord {
        self.of::<Words>(Ops { references: Some(references), ..Ops::none(debug_of::<Words>) })
    }
}

pub(super) const BROKEN: &[BrokenRecord] = &[
    // Adds to a stale value.
    flaw("loses-gets", "a reference may be lost", &[("references", TwoOwners)]).references(References {
        get: |count| {
            let seen = words(count).count.load(SeqCst);
            spin(20);
            words(count).count.store(seen.wrapping_add(1), SeqCst);
        },
        ..SOUND
    }),
    // Ends the object without the lock, when other threads may come again.
    flaw("last-unlocked", "the last put looks without the lock", &[("references", TwoOwners)]).references(References {
        put: |count, at_last| {
            if words(count).count.load(SeqCst) == 1 {
                spin(200);
                at_last();
            }
            words(count).count.fetch_sub(1, SeqCst);
        },
        ..SOUND
    }),
];
