//! Process numbers, the list of all tasks, and signals.

use super::{Mm, Owned, charge, costs, quietly};
use turnwise::Lock;
use turnwise_sim::Sim;
use turnwise_vfs::LockSet;
use turnwise_vfs::locks::Shared;

/// Process numbers are below this.
const PIDS: usize = 32_768;
/// The first number that is reused after the last.
const RESERVED: usize = 300;

/// All tasks. The two locks are on lines of their own, as there.
pub struct Tasks<L: LockSet<Sim>> {
    pids: Apart<Lock<L::Spin, Pids>>,
    list: Apart<Shared<L::RwSpin, List>>,
}

/// A value on a line of its own.
#[repr(align(128))]
pub(super) struct Apart<T>(pub(super) T);

/// A bit for each number that is taken.
struct Pids {
    taken: Vec<u64>,
    last: usize,
}

/// What the list knows without being walked.
#[derive(Default)]
struct List {
    tasks: u32,
    forks: u64,
}

impl Pids {
    fn take(&mut self) -> Option<u32> {
        let next = (self.last + 1..PIDS).chain(RESERVED..=self.last);
        let free = next.into_iter().find(|&pid| self.taken[pid / 64] >> (pid % 64) & 1 == 0)?;
        self.taken[free / 64] |= 1 << (free % 64);
        self.last = free;
        u32::try_from(free).ok()
    }

    fn give_back(&mut self, pid: u32) {
        self.taken[pid as usize / 64] &= !(1 << (pid % 64));
    }
}

impl<L: LockSet<Sim>> Tasks<L> {
    /// Makes an empty table of tasks.
    pub(super) fn new() -> Self {
        let pids = Pids { taken: vec![0; PIDS / 64], last: RESERVED };
        Tasks { pids: Apart(Lock::new_in(pids)), list: Apart(Shared::new_in(List::default())) }
    }

    /// Creates a task with this memory: a number, and a place in the list. `None`: there are too many.
    #[must_use]
    pub fn spawn(&self, mm: Owned<Mm<L>>) -> Option<Task<L>> {
        let pid = {
            let mut pids = quietly(|| self.pids.0.lock());
            charge(costs::PID);
            pids.take()?
        };
        let mut list = self.list.0.write();
        charge(costs::TASK_LIST);
        list.tasks += 1;
        list.forks += 1;
        drop(list);
        Some(Task { pid, mm, signals: Owned::new(Lock::new_in(Signals::default())) })
    }

    /// Ends a task, whose memory is gone.
    pub fn reap(&self, task: Task<L>) {
        let mut list = self.list.0.write();
        charge(costs::TASK_LIST);
        list.tasks -= 1;
        drop(list);
        let mut pids = quietly(|| self.pids.0.lock());
        charge(costs::PID);
        pids.give_back(task.pid);
    }

    /// Returns the number of live tasks.
    pub fn alive(&self) -> u32 {
        self.list.0.read().tasks
    }

    /// Tasks that ever lived.
    pub fn forks(&self) -> u64 {
        self.list.0.read().forks
    }
}

/// A process.
pub struct Task<L: LockSet<Sim>> {
    /// Its number.
    pub pid: u32,
    /// Its memory.
    pub mm: Owned<Mm<L>>,
    signals: Owned<Lock<L::Spin, Signals>>,
}

/// Signals that wait for their handlers.
#[derive(Default)]
struct Signals {
    pending: u64,
}

impl<L: LockSet<Sim>> Task<L> {
    /// Sends a signal to the task: a number below 64.
    pub fn send(&self, signal: u32) {
        let mut signals = quietly(|| self.signals.lock());
        charge(costs::SIGNAL);
        signals.pending |= 1 << signal;
    }

    /// Takes the lowest pending signal, and runs its handler; returns which one it was.
    #[must_use]
    pub fn handle(&self) -> Option<u32> {
        let signal = {
            let mut signals = quietly(|| self.signals.lock());
            charge(costs::SIGNAL);
            let signal = (signals.pending != 0).then(|| signals.pending.trailing_zeros())?;
            signals.pending &= signals.pending - 1;
            signal
        };
        charge(costs::HANDLER);
        Some(signal)
    }
}
