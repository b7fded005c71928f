//! What operations on a count return, and whether some order of them explains it.

use crate::arena::{Arena, Doing, Worker};
use crate::counts::{Counts, Op, Said, State};
use crate::ops::LockRecord;
use crate::verdict::Verdict;
use rand::RngExt;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::{Barrier, Mutex};

const THREADS: usize = 3;
const OPERATIONS: usize = 3;

/// An operation that ran between two readings of a common clock, which ticks at every reading.
#[derive(Clone, Copy, Debug)]
struct Event {
    op: Op,
    said: Said,
    begin: u64,
    end: u64,
}

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
                if !fits(pending, begin, end) {
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
        worker.does(Doing::Acquires);
        let begin = clock.fetch_add(1, SeqCst);
        let said = run(op);
        let end = clock.fetch_add(1, SeqCst);
        worker.does(Doing::Outside);
        worker.gets_on();
        own += op.gives(said);
        history.push(Event { op, said, begin, end });
    }
    history
}

/// Returns whether some order of the events explains their results and leads from `state` to `end`: no event comes
/// before one that was over when it began.
fn fits(pending: [&[Event]; THREADS], state: State, end: State) -> bool {
    let first_over = pending.iter().flat_map(|thread| thread.iter()).map(|event| event.end).min();
    let Some(first_over) = first_over else { return state == end };
    (0..THREADS).any(|number| {
        let Some((event, rest)) = pending[number].split_first() else { return false };
        let (said, after) = event.op.alone(state);
        let mut pending = pending;
        pending[number] = rest;
        event.begin < first_over && said == event.said && fits(pending, after, end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_and_results_limit_the_orders() {
        let event = |op, said, begin, end| Event { op, said, begin, end };
        let one = State { count: 1, dead: false };
        let none = State { count: 0, dead: false };
        let last = [event(Op::Put, Said::Left(0), 0, 2)];
        let early = [event(Op::Find, Said::No, 1, 3)];
        assert!(fits([&last, &early, &[]], one, none));
        assert!(!fits([&last, &[event(Op::Find, Said::Yes, 1, 3)], &[]], one, none));
        let before = [event(Op::Find, Said::No, 0, 1)];
        assert!(!fits([&[event(Op::Put, Said::Left(0), 2, 3)], &before, &[]], one, none), "it was not 0 then");
    }
}
