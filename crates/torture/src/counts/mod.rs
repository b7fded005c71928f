//! What a reference count with a lock offers beside exclusion.

pub mod broken;

use crate::lock::{Held, Lock};
use std::cell::UnsafeCell;
use std::mem;
use turnwise::LockRef;
use turnwise::platform::Deadline;

/// An operation whose result says something about the count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// One more for who has one.
    Get,
    /// One less.
    Put,
    /// One less, unless it is the last.
    PutNotLast,
    /// One more, if there is one and the object lives.
    Find,
    /// The same; otherwise, with the lock, one more unless it is dead.
    FindOrRevive,
    /// One less; if it is the last, with the lock, the object dies as well.
    PutOrKill,
}

impl Op {
    /// Whether the caller must have a reference.
    pub fn needs_one(self) -> bool {
        !matches!(self, Op::Find | Op::FindOrRevive)
    }

    /// What it says, and the state after it, if nobody else is there.
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

    /// By how much the caller's references change if it said this.
    pub fn gives(self, said: Said) -> i32 {
        match (self, said) {
            (_, Said::No) => 0,
            (Op::Get | Op::Find | Op::FindOrRevive, _) => 1,
            (Op::Put | Op::PutNotLast | Op::PutOrKill, _) => -1,
        }
    }
}

/// What an operation said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Said {
    /// Done.
    Yes,
    /// Not done.
    No,
    /// Done; so many are left.
    Left(u32),
    /// Done with the lock.
    Locked,
}

/// A count and whether the object is dead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct State {
    /// References.
    pub count: u32,
    /// Nobody can find it.
    pub dead: bool,
}

/// A count of references with a lock.
pub trait Counts: Sync {
    /// Runs an operation.
    fn run(&self, op: Op) -> Said;

    /// The state at this moment.
    fn state(&self) -> State;

    /// Begins anew with `count` references.
    ///
    /// # Safety
    /// No other thread uses the count meanwhile.
    unsafe fn restart(&self, count: u32);
}

/// The lockref.
#[derive(Default)]
pub struct CountedLock(UnsafeCell<LockRef>);

// SAFETY: the cell is written in `restart` only, whose caller keeps the others away.
unsafe impl Sync for CountedLock {}

impl CountedLock {
    fn refs(&self) -> &LockRef {
        // SAFETY: not written meanwhile, by the contract of `restart`.
        unsafe { &*self.0.get() }
    }
}

impl Counts for CountedLock {
    fn run(&self, op: Op) -> Said {
        let refs = self.refs();
        let yes = |yes| if yes { Said::Yes } else { Said::No };
        match op {
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
                guard.put();
                return Said::Locked;
            }
        }
        Said::Yes
    }

    fn state(&self) -> State {
        State { count: self.refs().count(), dead: self.refs().is_dead() }
    }

    unsafe fn restart(&self, count: u32) {
        // SAFETY: the caller keeps the others away.
        unsafe { *self.0.get() = LockRef::new(count) };
    }
}

impl Lock for CountedLock {
    fn acquire(&self) -> Held {
        mem::forget(self.refs().lock());
        None
    }

    fn try_acquire(&self) -> Option<Held> {
        self.refs().try_lock().map(|guard| {
            mem::forget(guard);
            None
        })
    }

    fn acquire_until(&self, deadline: Deadline) -> Option<Held> {
        self.refs().try_lock_until(deadline).map(|guard| {
            mem::forget(guard);
            None
        })
    }

    unsafe fn release(&self, _held: Held) {
        // SAFETY: the caller has the lock, whose guard was forgotten.
        unsafe { self.refs().force_unlock() };
    }

    fn counts(&self) -> &dyn Counts {
        self
    }

    fn words(&self) -> String {
        format!("{:?}", self.refs())
    }
}
