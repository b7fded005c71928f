//! Signal handlers lock (a lock of their own) while the thread that they interrupt waits for another.

use crate::arena::{Arena, Guarded, Worker, dawdle, threads};
use crate::ops::{Exclusive, LockRecord};
use rand::RngExt;
use std::cell::Cell;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicPtr, AtomicUsize};
use std::time::Duration;

const SIGNAL: i32 = libc::SIGUSR1;
/// A handler sits this far from its thread.
const HANDLER_SEAT: usize = 32;

/// What the handler needs; it runs only while `signals` does.
struct ForHandler<'a> {
    arena: &'a Arena,
    guarded: Guarded<'static>,
}

static FOR_HANDLER: AtomicPtr<ForHandler<'static>> = AtomicPtr::new(std::ptr::null_mut());

std::thread_local! {
    static NUMBER: Cell<usize> = const { Cell::new(0) };
}

extern "C" fn handle(_signal: i32) {
    // SAFETY: set before any signal is sent, and leaked.
    let Some(data) = (unsafe { FOR_HANDLER.load(SeqCst).as_ref() }) else { return };
    let mut worker = data.arena.worker(HANDLER_SEAT + NUMBER.get());
    data.guarded.section(&mut worker, |_| ());
}

fn install(arena: &Arena) {
    // SAFETY: all zero is a valid action; the handler only locks and stores.
    let installed = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handle as *const () as usize;
        libc::sigaction(SIGNAL, &action, std::ptr::null_mut())
    };
    if installed != 0 {
        arena.skip("no signal handler can be installed");
    }
}

pub(super) fn signals(arena: &'static Arena, record: &LockRecord, ops: Exclusive) {
    let threads = threads(record, 4);
    let outer = arena.guarded(record, ops);
    let data: *mut ForHandler = Box::leak(Box::new(ForHandler { arena, guarded: arena.guarded(record, ops) }));
    FOR_HANDLER.store(data.cast(), SeqCst);
    install(arena);
    let ids: Vec<AtomicUsize> = (0..threads).map(|_| AtomicUsize::new(0)).collect();
    let round = |worker: &mut Worker| {
        NUMBER.set(worker.number);
        // SAFETY: takes no arguments.
        ids[worker.number].store(unsafe { libc::pthread_self() } as usize, SeqCst);
        outer.section(worker, dawdle);
    };
    arena.beside(threads, round, || {
        let mut worker = arena.worker(threads);
        while arena.goes_on() {
            let id = ids[worker.rng.random_range(0..threads)].load(SeqCst);
            if id != 0 {
                // SAFETY: the thread runs until this function returns.
                unsafe { libc::pthread_kill(id as libc::pthread_t, SIGNAL) };
            }
            std::thread::sleep(Duration::from_micros(worker.rng.random_range(1..100)));
        }
    });
    // SAFETY: leaked above.
    let inner = unsafe { &(*data).guarded };
    arena.expect_counted(&[&outer, inner]);
}
