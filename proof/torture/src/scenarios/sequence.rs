//! What the readers of a sequence lock see.

use crate::arena::{Arena, Worker, dawdle, spin};
use crate::ops::{LockRecord, Payload, Sequence};
use crate::verdict::Verdict;
use rand::RngExt;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

fn expect_whole(worker: &Worker, seen: Payload) -> u64 {
    if seen.iter().any(|&word| word != seen[0]) {
        worker.arena.fail(Verdict::TwoOwners, &format!("thread {} reads {seen:?}", worker.number));
    }
    seen[0]
}

pub(super) fn torn_reads(arena: &'static Arena, record: &LockRecord, sequence: Sequence) {
    let lock = record.make();
    let writer = |worker: &mut Worker| {
        for n in 1.. {
            if !arena.goes_on() {
                break;
            }
            worker.works(|| (sequence.set)(lock, [n; 4]));
            // Both bursts, which spoil reads until they block, and pauses.
            if worker.one_in(16) {
                dawdle(worker);
            }
        }
    };
    let reader = |worker: &mut Worker| {
        let mut last = 0;
        while arena.goes_on() {
            let value = expect_whole(worker, worker.works(|| (sequence.read)(lock)));
            if value < last {
                arena.fail(Verdict::TwoOwners, &format!("thread {} reads {value} after {last}", worker.number));
            }
            last = value;
        }
    };
    arena.on_threads(4, |worker| if worker.number == 0 { writer(worker) } else { reader(worker) });
}

pub(super) fn blocking_reads(arena: &'static Arena, record: &LockRecord, sequence: Sequence) {
    let lock = record.make();
    let written = AtomicU64::new(0);
    let writer = |worker: &mut Worker| {
        worker.works(|| (sequence.set)(lock, [written.fetch_add(1, Relaxed); 4]));
        dawdle(worker);
    };
    let reader = |worker: &mut Worker| {
        let mut seen = None;
        let looks = worker.rng.random_range(0..200);
        let sleeps = worker.one_in(64);
        let mut look = |payload| {
            let value = expect_whole(worker, payload);
            if *seen.get_or_insert(value) != value {
                arena.fail(Verdict::TwoOwners, &format!("{value} where {seen:?} was, under a blocking reader"));
            }
        };
        let mut pause = || {
            spin(looks);
            if sleeps {
                std::thread::sleep(Duration::from_micros(100));
            }
        };
        worker.works(|| (sequence.read_blocking)(lock, &mut look, &mut pause));
        dawdle(worker);
    };
    arena.rounds(5, |worker| if worker.number < 2 { writer(worker) } else { reader(worker) });
}
