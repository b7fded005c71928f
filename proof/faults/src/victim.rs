//! The victim on Turnwise's own types: threads that fight over a lock of the catalogue, or take turns by a condition
//! variable. (C victims, on POSIX's types, are in `victims/`.)

use crate::board::{Board, Shared};
use anyhow::{Context, Result};
use std::os::fd::RawFd;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::thread;
use std::time::Duration;
use turnwise_torture::locks::LOCKS;
use turnwise_torture::object::Object;
use turnwise_torture::ops::{Condvar, Exclusive};

/// The name under which threads take turns by condition variables.
pub(crate) const CONDVAR: &str = "condvar";

/// A lock, and what it protects besides the pair on the board. All that is atomic only so that a broken lock makes
/// wrong numbers rather than undefined behaviour: every access is a plain load or store.
struct Arena {
    board: Shared,
    ops: Exclusive,
    lock: Object<'static>,
    /// The condition variable of all rings.
    rings: Option<Condvar>,
    inside: AtomicBool,
    /// The thread whose turn it is, in each ring of two threads.
    turns: [AtomicUsize; 32],
}

/// Runs until the board is set to stop.
pub(crate) fn run(descriptor: RawFd, name: &str, threads: usize) -> Result<()> {
    let board = Shared::inherited(descriptor)?;
    let record = LOCKS.iter().find(|record| record.name == if name == CONDVAR { "mutex" } else { name });
    let record = record.with_context(|| format!("no lock is called {name}"))?;
    let ops = record.ops.exclusive.with_context(|| format!("{name} has no owner"))?;
    let rings = record.ops.condvar.filter(|_| name == CONDVAR);
    let arena: &'static Arena = Box::leak(Box::new(Arena {
        board,
        ops,
        lock: record.make(),
        rings,
        inside: false.into(),
        turns: Default::default(),
    }));
    for me in 0..threads {
        let begun = thread::Builder::new().stack_size(64 << 10).spawn(move || arena.work(me));
        if begun.is_err() {
            arena.board.line[me].gone.store(1, Relaxed); // one less
        }
    }
    arena.finish(threads)
}

impl Arena {
    fn going(&self) -> bool {
        self.board.stop.load(Relaxed) == 0
    }

    fn work(&self, me: usize) {
        let board: &Board = &self.board;
        // SAFETY: it has no arguments.
        let tid = unsafe { libc::gettid() } as u32;
        board.line[me].tid.store(tid, Relaxed);
        let mut luck = 2 * me as u32 + 77;
        while self.going() {
            (self.ops.acquire)(self.lock);
            self.await_turn(me);
            self.update(me, tid, &mut luck);
            // SAFETY: this thread acquired the lock above.
            unsafe { (self.ops.release)(self.lock) };
        }
        board.line[me].tid.store(0, Relaxed);
        // ORDERING faults.gone: Release, for `finish`.
        board.line[me].gone.store(1, Release);
    }

    /// Waits, with the lock, until it is this thread's turn; notes that the other's comes next.
    fn await_turn(&self, me: usize) {
        let Some(condvar) = self.rings else { return };
        let turn = &self.turns[me / 2];
        while turn.load(Relaxed) != me % 2 && self.going() {
            // SAFETY: the caller has the lock.
            unsafe { (condvar.wait)(self.lock, None) };
        }
        turn.store(1 - me % 2, Relaxed);
        (condvar.notify_all)(self.lock);
    }

    fn update(&self, me: usize, tid: u32, luck: &mut u32) {
        let (first, second) = (self.board.first.load(Relaxed), self.board.second.load(Relaxed));
        if self.inside.load(Relaxed) || first != second {
            self.board.broken.fetch_add(1, Relaxed);
        }
        self.inside.store(true, Relaxed);
        self.board.holder.store(tid, Relaxed);
        self.board.first.store(first + 1, Relaxed);
        self.board.line[me].done.fetch_add(1, Relaxed);
        *luck = luck.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        for _ in 0..*luck >> 26 {
            std::hint::spin_loop();
        }
        if *luck >> 22 & 0x3ff == 1 {
            thread::yield_now();
        }
        self.board.second.store(second + 1, Relaxed);
        self.inside.store(false, Relaxed);
        self.board.holder.store(0, Relaxed);
    }

    /// Joins no thread, since a join sleeps in futex calls, which some faults forbid.
    fn finish(&self, threads: usize) -> Result<()> {
        while self.going() {
            thread::sleep(Duration::from_millis(1));
        }
        // ORDERING faults.gone: Acquire; from then on no thread changes the pair.
        while !self.board.line[..threads].iter().all(|line| line.gone.load(Acquire) == 1) {
            if let Some(condvar) = self.rings {
                (self.ops.acquire)(self.lock);
                (condvar.notify_all)(self.lock);
                // SAFETY: this thread acquired it above.
                unsafe { (self.ops.release)(self.lock) };
            }
            thread::sleep(Duration::from_micros(500));
        }
        self.board.finished.store(1, Relaxed);
        Ok(())
    }
}
