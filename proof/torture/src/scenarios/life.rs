//! Threads come, go, outnumber the slots, and lock on their way out.

use crate::arena::{Arena, Guarded, Worker, dawdle, threads};
use crate::ops::{Exclusive, LockRecord};
use crate::verdict::Verdict;
use rand::RngExt;
use std::sync::Barrier;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::thread::{Builder, Scope, ScopedJoinHandle};
use std::time::Duration;
use turnwise::platform::native::SLOTS;
use turnwise::platform::{Native, Platform, Token};

pub(super) fn comers(arena: &'static Arena, record: &LockRecord, ops: Exclusive) {
    let guarded = arena.guarded(record, ops);
    // The thread that stays ends with the time: against one that takes the lock again and again, the last batch may
    // starve if the lock allows that.
    std::thread::scope(|s| {
        s.spawn(|| arena.rounds(1, |worker| guarded.section(worker, dawdle)));
        while arena.goes_on() {
            batch(arena, &guarded, threads(record, 4) - 1);
        }
    });
    arena.expect_counted(&[&guarded]);
}

/// Runs a few threads that live for a few sections; each takes a slot and gives it back.
fn batch(arena: &Arena, guarded: &Guarded, comers: usize) {
    std::thread::scope(|s| {
        for number in 1..=comers {
            s.spawn(move || {
                let mut worker = arena.worker(number);
                for _ in 0..worker.rng.random_range(1..8) {
                    guarded.section(&mut worker, dawdle);
                }
                if Native::me().is_none() {
                    arena.fail(Verdict::Hang, "all slots are taken, by threads that are gone");
                }
            });
        }
    });
}

pub(super) fn all_slots(arena: &'static Arena, record: &LockRecord, ops: Exclusive) {
    let guarded = arena.guarded(record, ops);
    let over = AtomicBool::new(false);
    let work = |number: usize, with_slot: bool, looked: &Barrier| {
        let mut worker = arena.worker(number);
        if Native::me().is_some() != with_slot {
            arena.fail(Verdict::Crash, &format!("thread {number}: has a slot: {}, expected {with_slot}", !with_slot));
        }
        // No thread comes to check when the sleepers have given their slots back.
        looked.wait();
        while !over.load(Relaxed) {
            guarded.section(&mut worker, dawdle);
        }
    };
    let (ready, bare) = (Barrier::new(3), Barrier::new(4));
    std::thread::scope(|s| {
        for number in 0..2 {
            let (ready, work) = (&ready, &work);
            s.spawn(move || work(number, true, ready));
        }
        ready.wait();
        let sleepers = take_the_rest(arena, s);
        for number in 2..5 {
            let (bare, work) = (&bare, &work);
            s.spawn(move || work(number, false, bare));
        }
        bare.wait();
        let began = arena.total();
        // The threads with slots took their time; those without get some as well.
        while arena.goes_on() || arena.total() < began + 200 {
            std::thread::sleep(Duration::from_millis(2));
        }
        over.store(true, Relaxed);
        sleepers.iter().for_each(|sleeper| sleeper.thread().unpark());
    });
    arena.expect_counted(&[&guarded]);
}

/// Fills the slots with sleeping threads; returns these.
fn take_the_rest<'scope>(arena: &'scope Arena, scope: &'scope Scope<'scope, '_>) -> Vec<ScopedJoinHandle<'scope, ()>> {
    static NONE_LEFT: AtomicBool = AtomicBool::new(false);
    static STARTED: AtomicUsize = AtomicUsize::new(0);
    let mut sleepers = Vec::new();
    while !NONE_LEFT.load(Relaxed) {
        if sleepers.len() - STARTED.load(Relaxed).min(sleepers.len()) > 16 {
            std::thread::yield_now(); // lets them take their slots
            continue;
        }
        if sleepers.len() > SLOTS + 64 {
            arena.fail(Verdict::Crash, &format!("{} threads have slots, of which there are {SLOTS}", sleepers.len()));
        }
        // With as little memory as possible.
        let sleeper = Builder::new().stack_size(libc::PTHREAD_STACK_MIN).spawn_scoped(scope, || {
            let slot = Native::me();
            STARTED.fetch_add(1, Relaxed);
            match slot {
                Some(_) => std::thread::park(),
                None => NONE_LEFT.store(true, Relaxed),
            }
        });
        match sleeper {
            Ok(sleeper) => sleepers.push(sleeper),
            Err(error) => arena.skip(&format!("only {} threads can be started here: {error}", sleepers.len())),
        }
    }
    sleepers
}

/// Above what the C library keeps for the next thread, so that the memory of a thread is freed when it exits.
const BIG_STACK: usize = 64 << 20;

pub(super) fn exits(arena: &'static Arena, record: &LockRecord, ops: Exclusive) {
    let guarded = arena.guarded(record, ops);
    // Two contend, so that they ask whether the owner runs; one asks about all of them all the time.
    let ask = |worker: &mut Worker| {
        if worker.number < 2 {
            guarded.section(worker, dawdle);
            return dawdle(worker);
        }
        for token in (2..12).filter_map(Token::new) {
            std::hint::black_box(Native::on_cpu(token));
        }
    };
    arena.beside(3, ask, || {
        while arena.goes_on() {
            one_exits(arena, &guarded);
            // Its memory is gone now, until the next one gets the same addresses.
            std::thread::sleep(Duration::from_micros(100));
        }
    });
    arena.expect_counted(&[&guarded]);
}

fn one_exits(arena: &Arena, guarded: &Guarded) {
    std::thread::scope(|s| {
        let owner = Builder::new().stack_size(BIG_STACK).spawn_scoped(s, || {
            let _slot = Native::me();
            guarded.section(&mut arena.worker(3), |worker| crate::arena::spin(worker.rng.random_range(0..200)));
        });
        match owner {
            Ok(owner) => drop(owner.join()),
            Err(error) => arena.skip(&format!("no thread with a stack of {BIG_STACK} bytes: {error}")),
        }
    });
}

/// What a thread locks just before its end.
struct LastWords<'a> {
    arena: &'a Arena,
    guarded: &'a Guarded<'a>,
    number: usize,
    /// The key whose destructor locks them.
    key: libc::pthread_key_t,
    /// All destructors have run once.
    others_ran: bool,
}

/// A destructor of thread-specific data, which runs once more after the one that gives the slot back: that of a value
/// set by a destructor runs when all others have run.
extern "C" fn say(value: *mut libc::c_void) {
    // SAFETY: the value is a box made in `last_words`, which outlives the threads of its scope.
    let mut last = unsafe { Box::from_raw(value.cast::<LastWords>()) };
    if !last.others_ran {
        last.others_ran = true;
        let key = last.key;
        // SAFETY: the key exists; the destructor takes the box back.
        unsafe { libc::pthread_setspecific(key, Box::into_raw(last).cast()) };
        return;
    }
    if Native::me().is_some() {
        last.arena.fail(Verdict::Crash, "a thread that gave its slot back has one");
    }
    let mut worker = last.arena.worker(last.number);
    for _ in 0..4 {
        last.guarded.section(&mut worker, dawdle);
    }
}

pub(super) fn last_words(arena: &'static Arena, record: &LockRecord, ops: Exclusive) {
    let guarded = arena.guarded(record, ops);
    let mut key = 0;
    // SAFETY: `key` is writable, and `say` has a destructor's signature.
    if unsafe { libc::pthread_key_create(&mut key, Some(say)) } != 0 {
        arena.skip("no key for thread-specific data");
    }
    while arena.goes_on() {
        let threads = threads(record, 4);
        std::thread::scope(|s| {
            // `join` returns when the destructors ran; the end of a scope does not wait for them.
            let say_at_exit = |number| {
                let guarded = &guarded;
                s.spawn(move || {
                    let _slot = Native::me();
                    let last = Box::new(LastWords { arena, guarded, number, key, others_ran: false });
                    // SAFETY: the key exists; the destructor takes the box back.
                    unsafe { libc::pthread_setspecific(key, Box::into_raw(last).cast()) };
                })
            };
            let threads: Vec<_> = (0..threads).map(say_at_exit).collect();
            threads.into_iter().for_each(|thread| drop(thread.join()));
        });
    }
    arena.expect_counted(&[&guarded]);
}
