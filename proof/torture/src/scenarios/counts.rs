//! What operations on a count return, and whether some order of them explains it.

use crate::arena::{Arena, Worker};
use crate::counts::{Event, Op, Said, State, fits};
use crate::ops::{Counts, LockRecord};
use crate::verdict::Verdict;
use rand::RngExt;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::{Barrier, Mutex};

const THREADS: usize = 3;
const OPERATIONS: usize = 3;

type History = Vec<Event>;

/// In each round, three threads, of which one or two have a reference, run a few operations at the same time.
pub(super) fn order(arena: &'static Arena, record: &LockRecord, counts: Counts) {
    let lock = record.make();
    let (clock, meet, over) = (AtomicU64::new(0), Barrier::new(THREADS), AtomicBool::new(false));
    let histories: [Mutex<History>; THREADS] = Default::default();
    arena.on_threads(THREADS, |worker| {
        for round in 0.. {
            let begin = State { count: 1 + round % 2, dead: false };
            if worker.number == 0 {
                // SAFETY: the others wait at the barrier.
                unsafe { (counts.restart)(lock, begin.count) };
                over.store(!arena.goes_on(), Relaxed);
            }
            meet.wait();
            if over.load(Relaxed) {
                break;
            }
            *histories[worker.number].lock().unwrap() = operate(worker, begin, |op| (counts.run)(lock, op), &clock);
            meet.wait();
            if worker.number == 0 {
                let threads = histories.each_ref().map(|history| history.lock().unwrap().clone());
                let pending = threads.each_ref().map(Vec::as_slice);
                let end = (counts.state)(lock);
                if !fits(&pending, begin, end) {
                    let why = format!("from {begin:?} to {end:?}, in no order: {threads:?}");
                    arena.fail(Verdict::NoOrder, &why);
                }
            }
        }
    });
}

/// Does a few random operations that the thread may call. The first threads begin with a reference.
fn operate(worker: &mut Worker, begin: State, run: impl Fn(Op) -> Said, clock: &AtomicU64) -> History {
    const OPS: [Op; 7] = [Op::Get, Op::Put, Op::PutNotLast, Op::Find, Op::FindOrRevive, Op::PutOrKill, Op::PutOrKill];
    let mut own = i32::from(worker.number < begin.count as usize);
    let mut history = History::new();
    for _ in 0..OPERATIONS {
        let op = OPS[worker.rng.random_range(0..OPS.len())];
        if op.needs_one() && own == 0 {
            continue;
        }
        let now = || clock.fetch_add(1, SeqCst);
        let (begin, said, end) = worker.works(|| (now(), run(op), now()));
        own += op.gives(said);
        history.push(Event { op, said, begin, end });
    }
    history
}
