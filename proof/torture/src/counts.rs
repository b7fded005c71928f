//! What operations on a reference count with a lock return, and which orders of them explain it. The models include
//! this file, too (`proof/model/src/models/lockref.rs`).

use turnwise::LockRef;
use turnwise::platform::Platform;

/// An operation whose result reveals something about the count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// One more, for a thread that has one.
    Get,
    /// One less.
    Put,
    /// One less, unless it is the last.
    PutNotLast,
    /// One more, if there is one and the object lives.
    Find,
    /// What [`Op::Find`] does; otherwise, with the lock, one more unless the object is dead.
    FindOrRevive,
    /// One less; if it is the last, with the lock, the object dies as well.
    PutOrKill,
    /// The object dies.
    Kill,
}

impl Op {
    /// Runs it.
    pub fn run<P: Platform>(self, refs: &LockRef<P>) -> Said {
        let yes = |yes| if yes { Said::Yes } else { Said::No };
        match self {
            Op::Get => refs.get(),
            Op::Put => return Said::Left(refs.put()),
            Op::PutNotLast => return yes(refs.put_not_last()),
            Op::Find => return yes(refs.get_not_zero()),
            Op::FindOrRevive => {
                let Some(guard) = refs.get_or_lock() else { return Said::Yes };
                if guard.is_dead() {
                    return Said::No;
                }
                guard.get();
                return Said::Locked;
            }
            Op::PutOrKill => {
                let Some(guard) = refs.put_or_lock() else { return Said::Yes };
                guard.mark_dead();
                assert_eq!(guard.put(), 0, "the last reference");
                return Said::Locked;
            }
            Op::Kill => refs.mark_dead(),
        }
        Said::Yes
    }

    /// Returns whether the caller must have a reference.
    pub fn needs_one(self) -> bool {
        !matches!(self, Op::Find | Op::FindOrRevive | Op::Kill)
    }

    /// Returns its result and the state after it, if no other thread is there. `None`: not callable in this state.
    pub fn alone(self, state: State) -> Option<(Said, State)> {
        let State { count, dead } = state;
        let to = |said, count| (said, State { count, dead });
        if self.needs_one() && count == 0 {
            return None;
        }
        Some(match self {
            Op::Get => to(Said::Yes, count + 1),
            Op::Put => to(Said::Left(count - 1), count - 1),
            Op::PutNotLast | Op::PutOrKill if count > 1 => to(Said::Yes, count - 1),
            Op::PutOrKill => (Said::Locked, State { count: 0, dead: true }),
            Op::Find | Op::FindOrRevive if count > 0 && !dead => to(Said::Yes, count + 1),
            Op::FindOrRevive if !dead => to(Said::Locked, count + 1),
            Op::PutNotLast | Op::Find | Op::FindOrRevive => to(Said::No, count),
            Op::Kill => (Said::Yes, State { count, dead: true }),
        })
    }

    /// Returns by how much the caller's references change with this result.
    pub fn gives(self, said: Said) -> i32 {
        match (self, said) {
            (_, Said::No) | (Op::Kill, _) => 0,
            (Op::Get | Op::Find | Op::FindOrRevive, _) => 1,
            (Op::Put | Op::PutNotLast | Op::PutOrKill, _) => -1,
        }
    }
}

/// The result of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Said {
    /// Done.
    Yes,
    /// Not done.
    No,
    /// Done; this many are left.
    Left(u32),
    /// Done with the lock.
    Locked,
}

/// A count and whether the object is dead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct State {
    /// References.
    pub count: u32,
    /// No thread can find it.
    pub dead: bool,
}

/// An operation that ran between two readings of a common clock, which ticks at every reading.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// The operation.
    pub op: Op,
    /// Its result.
    pub said: Said,
    /// The time before it.
    pub begin: u64,
    /// The time after it.
    pub end: u64,
}

/// Returns whether some order of the threads' events explains their results and leads from `state` to `end`: no event
/// comes before one that was over when it began.
pub fn fits(pending: &[&[Event]], state: State, end: State) -> bool {
    let first_over = pending.iter().flat_map(|thread| thread.iter()).map(|event| event.end).min();
    let Some(first_over) = first_over else { return state == end };
    (0..pending.len()).any(|number| {
        let Some((event, rest)) = pending[number].split_first() else { return false };
        let Some((said, after)) = event.op.alone(state) else { return false };
        let mut pending = pending.to_vec();
        pending[number] = rest;
        event.begin < first_over && said == event.said && fits(&pending, after, end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: State = State { count: 0, dead: false };
    const ONE: State = State { count: 1, dead: false };

    #[test]
    fn time_and_results_limit_the_orders() {
        let event = |op, said, begin, end| Event { op, said, begin, end };
        let last = [event(Op::Put, Said::Left(0), 0, 2)];
        let early = [event(Op::Find, Said::No, 1, 3)];
        assert!(fits(&[&last, &early, &[]], ONE, NONE));
        assert!(!fits(&[&last, &[event(Op::Find, Said::Yes, 1, 3)], &[]], ONE, NONE));
        let before = [event(Op::Find, Said::No, 0, 1)];
        assert!(!fits(&[&[event(Op::Put, Said::Left(0), 2, 3)], &before, &[]], ONE, NONE), "it was not 0 then");
    }

    #[test]
    fn an_order_is_found_where_there_is_one() {
        let event = |op, said| Event { op, said, begin: 0, end: 1 };
        let last = [event(Op::Put, Said::Left(0))];
        let found = [event(Op::Find, Said::Yes), event(Op::Find, Said::No)];
        assert!(!fits(&[&last, &found], ONE, NONE), "a find and a put back make 1 of 1");
        assert!(fits(&[&last, &[event(Op::Find, Said::No)]], ONE, NONE));
        assert!(fits(&[&[event(Op::Put, Said::Left(1))], &[event(Op::Find, Said::Yes)]], ONE, ONE));
        assert!(!fits(&[&last, &last], ONE, NONE), "two last ones");
        assert!(!fits(&[&last], ONE, ONE), "another end");
    }
}
