//! What a reference count with a lock offers in addition to exclusion.

use crate::object::Object;

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
}

impl Op {
    /// Returns whether the caller must have a reference.
    pub fn needs_one(self) -> bool {
        !matches!(self, Op::Find | Op::FindOrRevive)
    }

    /// Returns its result and the state after it, if no other thread is there.
    pub fn alone(self, state: State) -> (Said, State) {
        let State { count, dead } = state;
        let to = |said, count| (said, State { count, dead });
        match self {
            Op::Get => to(Said::Yes, count + 1),
            Op::Put => to(Said::Left(count.wrapping_sub(1)), count.wrapping_sub(1)),
            Op::PutNotLast | Op::PutOrKill if count > 1 => to(Said::Yes, count - 1),
            Op::PutOrKill => (Said::Locked, State { count: 0, dead: true }),
            Op::Find | Op::FindOrRevive if count > 0 && !dead => to(Said::Yes, count + 1),
            Op::FindOrRevive if !dead => to(Said::Locked, count + 1),
            Op::PutNotLast | Op::Find | Op::FindOrRevive => to(Said::No, count),
        }
    }

    /// Returns by how much the caller's references change with this result.
    pub fn gives(self, said: Said) -> i32 {
        match (self, said) {
            (_, Said::No) => 0,
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

/// A count of references with a lock.
#[derive(Clone, Copy)]
pub struct Counts {
    /// Runs an operation.
    pub run: fn(Object, Op) -> Said,
    /// The state at this moment.
    pub state: fn(Object) -> State,
    /// Begins anew with this many references. No other thread uses the count meanwhile, which the caller guarantees.
    pub restart: unsafe fn(Object, u32),
}
