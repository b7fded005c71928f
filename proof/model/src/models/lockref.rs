//! Count and lock in one word: the lock excludes (A1), no sleeper is forgotten (P1), the count shows which thread may
//! see what (A2, A3), and every result fits some order of the operations.

use super::*;
use std::cell::RefCell;
use turnwise::LockRef;

use Op::{Find, FindOrRevive, Get, Kill, Put, PutNotLast, PutOrKill};
use counts::{Event, Op, Said, State, fits};

pub(super) fn scene(call: &mut Call) -> Body {
    scenes! { call():
        among_locks(), found(find: finder), last(put: putter), freed(put: putter), order(count, programs: [program]);
        timed_lock::<Raw>(call)
    }
}

type Finder = fn(&Raw) -> Option<u32>;

fn finder(name: &str) -> Finder {
    named! { name:
        get_not_zero = |refs| refs.get_not_zero().then_some(1),
        get_or_lock = |refs| refs.get_or_lock().is_none().then_some(1),
        get_not_dead = LockRef::get_not_dead,
    }
}

/// Returns whether it was the last.
type Putter = fn(&Raw) -> bool;

fn putter(name: &str) -> Putter {
    named! { name:
        put = |refs| refs.put() == 0,
        put_not_last = |refs| !refs.put_not_last() && refs.put() == 0,
        put_or_lock = |refs| refs.put_or_lock().is_some_and(|guard| guard.put() == 0),
    }
}

fn program(names: &str) -> &'static [Op] {
    let op = |name| named! { name: Get, Put, PutNotLast, Find, FindOrRevive, PutOrKill, Kill };
    names.split(',').map(op).collect::<Vec<_>>().leak()
}

type Raw = LockRef<Loom>;

impl Settles for Raw {
    fn is_settled(&self) -> bool {
        !self.is_locked() && self.count() == 0
    }
}

type Guarded = super::Guarded<Raw>;

/// Returns a lock with this count.
fn counted(count: u32) -> &'static Guarded {
    keep(Guarded { raw: LockRef::new_in(count), section: Section::new() })
}

/// The count changes with and without the lock.
fn among_locks() {
    let guarded = counted(1);
    let counts = spawn(move || {
        guarded.raw.get();
        guarded.raw.put();
    });
    let guard = guarded.raw.lock();
    let before = guard.count();
    guard.get();
    rest();
    assert_eq!(guard.count(), before + 1, "the count changed while we had the lock");
    drop(guard);
    guarded.round();
    counts.join();
    assert!(!guarded.raw.is_locked(), "locked when everybody has left");
    assert_eq!((guarded.raw.count(), guarded.section.data.get()), (2, 1), "count and critical sections");
}

/// One thread writes and raises the count from zero; another finds the object with this many references and gets one
/// more, or does not.
fn found(find: Finder) {
    let guarded = counted(0);
    let references = keep(AtomicU32::new(1)); // loom does not see it
    let finder = spawn(move || {
        let found = find(&guarded.raw);
        references.fetch_add(u32::from(found.is_some()), Relaxed);
        if found.is_some_and(|found| found > 0) {
            saw("found");
            assert_eq!(guarded.section.data.get(), 1);
        }
    });
    let guard = guarded.raw.lock();
    guarded.section.alone();
    guard.get();
    drop(guard);
    finder.join();
    assert_eq!(guarded.raw.count(), references.load(Relaxed), "references");
}

/// Two threads write and give their references back, one of them by `put`; the last sees both.
fn last(put: Putter) {
    let refs = keep(LockRef::<Loom>::new_in(2));
    let data = keep([Protected::new(), Protected::new()]);
    let body = move |own: usize, put: Putter| {
        data[own].add();
        if put(refs) {
            saw("last");
            assert_eq!(data.iter().map(Protected::get).sum::<u32>(), 2);
        }
    };
    let other = spawn(move || body(1, |refs| refs.put() == 0));
    body(0, put);
    other.join();
    assert_eq!(refs.count(), 0);
}

/// The last of two to give a reference back drops the object.
fn freed(put: Putter) {
    let refs = keep(LockRef::<Loom>::new_in(2));
    together(2, move || {
        if put(refs) {
            saw("dropped");
            // SAFETY: no other thread has a reference; the memory stays.
            unsafe { ptr::drop_in_place(ptr::from_ref(refs).cast_mut()) };
        }
    });
}

#[allow(dead_code, unreachable_pub, reason = "torture uses the rest")]
#[path = "../../../torture/src/counts.rs"]
mod counts;

type History = Vec<Event>;

/// Runs each thread's operations; a put or get whose find failed is left out.
fn order(count: u32, programs: &'static [&'static [Op]]) {
    let refs = keep(LockRef::<Loom>::new_in(count));
    // No borrow is held across an operation on a word.
    let histories = keep(RefCell::new(vec![History::new(); programs.len()]));
    let body = move |number: usize| {
        for op in programs[number] {
            let last = histories.borrow()[number].last().map(|event| event.said);
            if last == Some(Said::No) && matches!(op, Put | PutNotLast) {
                continue;
            }
            let said = op.run(refs);
            histories.borrow_mut()[number].push(Event { op: *op, said, begin: 0, end: u64::MAX });
        }
    };
    let others: Vec<_> = (1..programs.len()).map(|number| spawn(move || body(number))).collect();
    body(0);
    join(others);
    let histories = histories.borrow();
    for Event { op, said, .. } in histories.iter().flatten() {
        match (op, said) {
            (Find | FindOrRevive, Said::Yes) => saw("found"),
            (Find | FindOrRevive, Said::No) => saw("lost"),
            (FindOrRevive, Said::Locked) => saw("revived"),
            (PutOrKill, Said::Locked) => saw("killed"),
            _ => {}
        }
    }
    let end = State { count: refs.count(), dead: refs.is_dead() };
    let threads: Vec<_> = histories.iter().map(Vec::as_slice).collect();
    assert!(
        fits(&threads, State { count, dead: false }, end),
        "no order of the operations explains {histories:?}, then {end:?}"
    );
    assert!(!refs.is_locked(), "locked when everybody has left");
}
