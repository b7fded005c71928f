//! Fork while threads contend: the child has one thread, and it can lock.

use super::exclusion::Use;
use crate::arena::{Arena, Doing, Guarded, Worker, dawdle};
use crate::ops::{LockRecord, Shared};
use crate::verdict::Verdict;
use rand::RngExt;
use std::time::{Duration, Instant};

/// The contenders are writers: an arriving reader may be about to undo its addition, and no thread would do that in the
/// child.
pub(super) fn fork(arena: &'static Arena, record: &LockRecord, (ops, shared): Use) {
    let guarded = arena.guarded(record, ops);
    let contends = |worker: &mut Worker| {
        guarded.section(worker, dawdle);
        dawdle(worker);
    };
    arena.beside((record.nature.crowd / 8).clamp(1, 3), contends, || {
        let mut worker = arena.worker(32);
        while arena.goes_on() {
            let reads = shared.filter(|_| worker.one_in(2));
            fork_once(arena, record, &guarded, &mut worker, reads);
        }
    });
    arena.expect_counted(&[&guarded]);
}

/// Acquires the lock to write, or to read by these operations.
fn hold(guarded: &Guarded, worker: &mut Worker, reads: Option<Shared>, pause: fn(&mut Worker)) {
    let Some(shared) = reads else {
        guarded.acquire(worker);
        return guarded.count(worker, pause);
    };
    worker.does(Doing::Acquires);
    (shared.read)(guarded.lock);
    guarded.enter_reading(worker);
    guarded.look(worker, pause);
}

fn release(guarded: &Guarded, worker: &Worker, reads: Option<Shared>) {
    match reads {
        None => guarded.release(worker),
        Some(shared) => guarded.leave_reading(&shared, worker),
    }
}

/// Forks with the lock held.
fn fork_once(
    arena: &'static Arena,
    record: &LockRecord,
    guarded: &Guarded,
    worker: &mut Worker,
    reads: Option<Shared>,
) {
    let long = worker.one_in(4);
    if long {
        overtake(guarded, worker);
    }
    hold(guarded, worker, reads, if long { |_| sleep() } else { dawdle });
    // SAFETY: the child uses the C library as far as glibc allows it after a fork (memory, threads), and leaves by
    // `_exit`.
    let child = unsafe { libc::fork() };
    if child == 0 {
        in_child(arena, record, guarded, reads);
        // SAFETY: ends the child without running what belongs to the parent.
        unsafe { libc::_exit(0) };
    }
    release(guarded, worker, reads);
    if child < 0 {
        arena.skip(&format!("no fork here: {}", std::io::Error::last_os_error()));
    }
    wait_for(arena, child);
}

/// Takes the lock repeatedly, so that others request a hand-off before the fork.
fn overtake(guarded: &Guarded, worker: &mut Worker) {
    for _ in 0..worker.rng.random_range(4..20) {
        guarded.section(worker, |_| sleep());
    }
}

/// Sleeps long enough for a woken thread to see that the lock is taken again.
fn sleep() {
    std::thread::sleep(Duration::from_micros(500));
}

fn in_child(arena: &'static Arena, record: &LockRecord, inherited: &Guarded, reads: Option<Shared>) {
    let mut worker = arena.worker(32);
    arena.forked();
    // A queue of spinners was copied with its waiters, which never run here: only a new lock is of use then.
    let new = Guarded::new(record.make(), inherited.ops);
    let guarded = if record.nature.forks { inherited } else { &new };
    if record.nature.forks {
        release(inherited, &worker, reads);
    }
    guarded.section(&mut worker, |_| ());
    arena.on_threads(2, |worker| {
        for _ in 0..20 {
            match record.ops.shared.filter(|_| worker.one_in(2)) {
                Some(shared) => guarded.read_section(&shared, worker, dawdle),
                None => guarded.section(worker, dawdle),
            }
        }
    });
    if !(guarded.ops.try_acquire)(guarded.lock) {
        arena.fail(Verdict::Hang, "in a forked child: the lock is free, but cannot be acquired");
    }
}

fn wait_for(arena: &Arena, child: libc::pid_t) {
    let (started, patience) = (Instant::now(), arena.limits.patience * 2);
    let mut status = 0;
    // SAFETY: our child; `status` is writable.
    while unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) } == 0 {
        if started.elapsed() > patience {
            // SAFETY: our child, not yet waited for.
            unsafe { libc::kill(child, libc::SIGKILL) };
            arena.fail(Verdict::Hang, &format!("a forked child has not ended after {patience:?}"));
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == Verdict::Hang.status() {
        arena.fail(Verdict::Hang, "a forked child hangs; it says why above");
    }
    if status != 0 {
        arena.fail(Verdict::Crash, &format!("a forked child ended with status {status:#x}"));
    }
}
