//! A thread with a reference sees the object stay as it is; every reference is counted.

use crate::arena::{Arena, Doing, Worker, spin, threads};
use crate::ops::{LockRecord, References};
use crate::verdict::Verdict;
use rand::RngExt;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Threads take up to three references each and give them back; the last one changes the object, which no other thread
/// uses then. The object is atomic only so that a broken count makes wrong numbers rather than undefined behaviour.
pub(super) fn come_and_go(arena: &'static Arena, record: &LockRecord, references: References) {
    let lock = record.make();
    let object = AtomicU64::new(0);
    let change = || {
        let value = object.load(Relaxed);
        spin(8);
        object.store(value + 1, Relaxed);
    };
    arena.rounds(threads(record, 4), |worker| {
        let own = worker.rng.random_range(1..=3);
        for _ in 0..own {
            worker.does(Doing::Acquires);
            (references.get)(lock);
            worker.does(Doing::Holds);
            stays(worker, &object);
        }
        for _ in 0..own {
            worker.does(Doing::Releases);
            (references.put)(lock, &mut || change());
            worker.does(Doing::Outside);
            worker.gets_on();
        }
    });
    let count = (references.count)(lock);
    if count != 0 {
        arena.fail(Verdict::TwoOwners, &format!("all references are back, and {count} are counted"));
    }
}

fn stays(worker: &mut Worker, object: &AtomicU64) {
    let before = object.load(Relaxed);
    let looks = worker.rng.random_range(0..32);
    spin(looks);
    let after = object.load(Relaxed);
    if before != after {
        let why = format!("thread {} has a reference, and {before} became {after}", worker.number);
        worker.arena.fail(Verdict::TwoOwners, &why);
    }
}
