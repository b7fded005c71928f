//! Count and lock in one word: the lock excludes (A1), no sleeper is forgotten (P1), the count shows which thread may
//! see what (A2, A3), and every result fits some order of the operations.

use super::*;
use std::cell::RefCell;
use turnwise::LockRef;

const PLAIN: Setup = HASTY;
const TIMED: Setup = Setup { alarms: 1, ..PLAIN };

models_of!(LockRef);

use Op::{Find, FindOrRevive, Get, Kill, Put, PutNotLast, PutOrKill};

pub(super) const MODELS: &[Model] = &[
    model("lockref: two threads lock twice", PLAIN, (3, 5), SLEEP, || exclusion(2, 2)),
    model("lockref: three threads lock", PLAIN, (1, 3), SLEEP, || exclusion(3, 1)),
    model("lockref: two threads without slots lock", NAMELESS, (3, 6), &[], || exclusion(2, 1)),
    model("lockref: the owner comes again while two sleep", PLAIN, (0, 1), SLEEP, || behind_owner(2)),
    model("lockref: one sleeps for an owner that comes again", PLAIN, (3, 5), SLEEP, || behind_owner(1)),
    model("lockref: a count changes among locks", PLAIN, (1, 3), &[], among_locks),
    model("lockref: a timed lock", TIMED, (2, 4), &["gave up", "got it after all"], timed),
    model("lockref: a finder sees what was written", PLAIN, (3, 6), &["found"], || {
        found(|refs| refs.get_not_zero().then_some(1))
    }),
    model("lockref: a finder or locker sees what was written", PLAIN, (3, 6), &["found"], || {
        found(|refs| refs.get_or_lock().is_none().then_some(1));
    }),
    model("lockref: a finder of a live one sees what was written", PLAIN, (3, 6), &["found"], || {
        found(LockRef::get_not_dead);
    }),
    model("lockref: the last put sees all", PLAIN, (3, 6), &["last"], || last(|refs| refs.put() == 0)),
    model("lockref: the last put sees who was not last", PLAIN, (3, 6), &["last"], || {
        last(|refs| !refs.put_not_last() && refs.put() == 0);
    }),
    model("lockref: the last put with the lock sees all", PLAIN, (3, 6), &["last"], || {
        last(|refs| refs.put_or_lock().is_some_and(|guard| guard.put() == 0));
    }),
    model("lockref: freed right after the last put", PLAIN, (3, 6), &["dropped"], || freed(|refs| refs.put() == 0)),
    model("lockref: freed right after the last put with the lock", PLAIN, (3, 6), &["dropped"], || {
        freed(|refs| refs.put_or_lock().is_some_and(|guard| guard.put() == 0));
    }),
    model("lockref: freed right after a release", PLAIN, (3, 6), &["dropped"], || {
        drop_after_release(LockRef::<Loom>::new_in(1), 2, |refs, section| {
            let _guard = refs.lock();
            section();
        });
    }),
    model("lockref: order of put, put and find", PLAIN, (2, 4), &["lost", "found"], || {
        order(2, &[&[Put], &[PutOrKill], &[Find, Find]]);
    }),
    model("lockref: order of kill and find or revive", PLAIN, (2, 4), &["killed", "lost", "found"], || {
        order(1, &[&[PutOrKill], &[FindOrRevive, Put]]);
    }),
    model("lockref: order of put and find or revive", PLAIN, (1, 3), &["revived", "found"], || {
        order(1, &[&[Put], &[FindOrRevive, Put], &[Find]]);
    }),
    model("lockref: order of get, put and kill", PLAIN, (2, 4), &["killed"], || {
        order(2, &[&[Get, PutOrKill, PutOrKill], &[PutNotLast]]);
    }),
    model("lockref: order of a death and its finders", PLAIN, (2, 4), &["lost", "found"], || {
        order(2, &[&[Kill, Find, FindOrRevive], &[Find, Get]]);
    }),
    model("lockref: order of a death and those who look", PLAIN, (2, 4), &["lost", "found"], || {
        order(1, &[&[Kill], &[Find, PutNotLast, FindOrRevive]]);
    }),
];

struct Guarded {
    refs: LockRef<Loom>,
    data: Protected,
}

impl Guarded {
    fn keep(count: u32) -> &'static Guarded {
        keep(Guarded { refs: LockRef::new_in(count), data: Protected::new() })
    }

    fn section(&self) {
        let _guard = self.refs.lock();
        self.data.add();
    }

    fn settled(&self, count: u32, sections: u32) {
        assert!(!self.refs.is_locked(), "locked when everybody has left");
        assert_eq!((self.refs.count(), self.data.get()), (count, sections), "count and critical sections");
    }
}

/// Every thread locks `rounds` times.
fn exclusion(threads: u32, rounds: u32) {
    let guarded = Guarded::keep(1);
    together(threads, move || (0..rounds).for_each(|_| guarded.section()));
    guarded.settled(1, threads * rounds);
}

/// The first thread has the lock and rests, so that others come to wait; then it locks once more.
fn behind_owner(others: u32) {
    let guarded = Guarded::keep(1);
    let guard = guarded.refs.lock();
    let handles: Vec<_> = (0..others).map(|_| spawn(move || guarded.section())).collect();
    rest();
    guarded.data.add();
    drop(guard);
    guarded.section();
    handles.into_iter().for_each(Handle::join);
    guarded.settled(1, others + 2);
}

/// The count changes with and without the lock.
fn among_locks() {
    let guarded = Guarded::keep(1);
    let counts = spawn(move || {
        guarded.refs.get();
        guarded.refs.put();
    });
    let guard = guarded.refs.lock();
    let before = guard.count();
    guard.get();
    rest();
    assert_eq!(guard.count(), before + 1, "the count changed while we had the lock");
    drop(guard);
    guarded.section();
    counts.join();
    guarded.settled(2, 1);
}

/// An early point in time: the clock stays below, unless an alarm rings.
const SOON: Deadline = Deadline { clock: Clock::Monotonic, at: 100_000 };

fn timed() {
    let guarded = Guarded::keep(1);
    let guard = guarded.refs.lock();
    let timed = spawn(move || match guarded.refs.try_lock_until(SOON) {
        Some(_guard) => {
            saw("got it after all");
            guarded.data.add();
        }
        None => {
            saw("gave up");
            guarded.section();
        }
    });
    rest();
    guarded.data.add();
    drop(guard);
    timed.join();
    guarded.settled(1, 2);
}

/// One thread writes and raises the count from zero; another finds the object with this many references and gets one
/// more, or does not.
fn found(find: fn(&LockRef<Loom>) -> Option<u32>) {
    let guarded = Guarded::keep(0);
    let references = keep(AtomicU32::new(1)); // loom does not see it
    let finder = spawn(move || {
        let found = find(&guarded.refs);
        references.fetch_add(u32::from(found.is_some()), Relaxed);
        if found.is_some_and(|found| found > 0) {
            saw("found");
            assert_eq!(guarded.data.get(), 1);
        }
    });
    let guard = guarded.refs.lock();
    guarded.data.add();
    guard.get();
    drop(guard);
    finder.join();
    assert_eq!(guarded.refs.count(), references.load(Relaxed), "references");
}

/// Two threads write and give their references back, one of them by `put`; the last sees both.
fn last(put: fn(&LockRef<Loom>) -> bool) {
    let refs = keep(LockRef::<Loom>::new_in(2));
    let data = keep([Protected::new(), Protected::new()]);
    let body = move |own: usize, put: fn(&LockRef<Loom>) -> bool| {
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
fn freed(put: fn(&LockRef<Loom>) -> bool) {
    let refs = keep(LockRef::<Loom>::new_in(2));
    together(2, move || {
        if put(refs) {
            saw("dropped");
            // SAFETY: no other thread has a reference; the memory stays.
            unsafe { ptr::drop_in_place(ptr::from_ref(refs).cast_mut()) };
        }
    });
}

/// An operation whose result reveals something about the count.
#[derive(Clone, Copy, Debug)]
enum Op {
    Get,
    Put,
    PutNotLast,
    Find,
    /// `get_or_lock`; with the lock, revives the object unless it is dead.
    FindOrRevive,
    /// `put_or_lock`; with the lock, marks it dead and gives the last reference back.
    PutOrKill,
    Kill,
}

/// The result of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Said {
    Nothing,
    Left(u32),
    Yes,
    No,
    /// It had the lock, and changed something.
    Locked,
}

impl Op {
    fn run(self, refs: &LockRef<Loom>) -> Said {
        let yes = |yes| if yes { Said::Yes } else { Said::No };
        match self {
            Get => refs.get(),
            Put => return Said::Left(refs.put()),
            PutNotLast => return yes(refs.put_not_last()),
            Find => return yes(refs.get_not_zero()),
            FindOrRevive => match refs.get_or_lock() {
                None => return Said::Yes,
                Some(guard) if guard.is_dead() => return Said::No,
                Some(guard) => {
                    guard.get();
                    return Said::Locked;
                }
            },
            PutOrKill => match refs.put_or_lock() {
                None => return Said::Yes,
                Some(guard) => {
                    guard.mark_dead();
                    assert_eq!(guard.put(), 0, "the last reference");
                    return Said::Locked;
                }
            },
            Kill => refs.mark_dead(),
        }
        Said::Nothing
    }

    /// Returns its result and the state after it, if no other thread is there. `None`: not callable in this state.
    fn alone(self, (count, dead): (u32, bool)) -> Option<(Said, (u32, bool))> {
        let may_find = count > 0 && !dead;
        Some(match self {
            Get | Put | PutNotLast | PutOrKill if count == 0 => return None,
            Get => (Said::Nothing, (count + 1, dead)),
            Put => (Said::Left(count - 1), (count - 1, dead)),
            PutNotLast | PutOrKill if count > 1 => (Said::Yes, (count - 1, dead)),
            PutNotLast => (Said::No, (count, dead)),
            PutOrKill => (Said::Locked, (0, true)),
            Find | FindOrRevive if may_find => (Said::Yes, (count + 1, dead)),
            Find => (Said::No, (count, dead)),
            FindOrRevive if dead => (Said::No, (count, dead)),
            FindOrRevive => (Said::Locked, (count + 1, dead)),
            Kill => (Said::Nothing, (count, true)),
        })
    }
}

type History = Vec<(Op, Said)>;

/// Returns whether some order of the operations, in each thread's order, gives all their results and ends in `end`.
fn fits(threads: &[&[(Op, Said)]], state: (u32, bool), end: (u32, bool)) -> bool {
    let first_is = |number: usize| {
        let Some(((op, said), rest)) = threads[number].split_first() else { return false };
        let Some((says, after)) = op.alone(state) else { return false };
        let mut threads = threads.to_vec();
        threads[number] = rest;
        says == *said && fits(&threads, after, end)
    };
    state == end && threads.iter().all(|thread| thread.is_empty()) || (0..threads.len()).any(first_is)
}

struct Histories(RefCell<Vec<History>>);
// SAFETY: the threads of a model are coroutines of one thread of the operating system, and no borrow is held across an
// operation on a word.
unsafe impl Sync for Histories {}

/// Runs each thread's operations; a put or get whose find failed is left out.
fn order(count: u32, programs: &'static [&'static [Op]]) {
    let refs = keep(LockRef::<Loom>::new_in(count));
    let histories = keep(Histories(RefCell::new(vec![History::new(); programs.len()])));
    let body = move |number: usize| {
        for op in programs[number] {
            let last = histories.0.borrow()[number].last().map(|(_, said)| *said);
            if last == Some(Said::No) && matches!(op, Put | PutNotLast) {
                continue;
            }
            let said = op.run(refs);
            histories.0.borrow_mut()[number].push((*op, said));
        }
    };
    let others: Vec<_> = (1..programs.len()).map(|number| spawn(move || body(number))).collect();
    body(0);
    others.into_iter().for_each(Handle::join);
    let histories = histories.0.borrow();
    for (op, said) in histories.iter().flatten() {
        match (op, said) {
            (Find | FindOrRevive, Said::Yes) => saw("found"),
            (Find | FindOrRevive, Said::No) => saw("lost"),
            (FindOrRevive, Said::Locked) => saw("revived"),
            (PutOrKill, Said::Locked) => saw("killed"),
            _ => {}
        }
    }
    let end = (refs.count(), refs.is_dead());
    let threads: Vec<_> = histories.iter().map(Vec::as_slice).collect();
    assert!(fits(&threads, (count, false), end), "no order of the operations explains {histories:?}, then {end:?}");
    assert!(!refs.is_locked(), "locked when everybody has left");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_found_where_there_is_one() {
        let (last, found) = ([(Put, Said::Left(0))], [(Find, Said::Yes), (Find, Said::No)]);
        assert!(!fits(&[&last, &found], (1, false), (0, false)), "a find and a put back make 1 of 1");
        assert!(fits(&[&last, &[(Find, Said::No)]], (1, false), (0, false)));
        assert!(fits(&[&[(Put, Said::Left(1))], &[(Find, Said::Yes)]], (1, false), (1, false)));
        assert!(!fits(&[&last, &last], (1, false), (0, false)), "two last ones");
        assert!(!fits(&[&last], (1, false), (1, false)), "another end");
    }
}
