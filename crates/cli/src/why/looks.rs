//! Two looks at programs, and the threads that are stuck in both.

use crate::live::{Graph, Process, ThreadView, View, Waiting};
use turnwise_live::Kind;

/// Returns how many threads a process has, by its number; `None`: unknown.
pub(super) type Count = fn(u32) -> Option<usize>;

/// Returns whether any thread of a process but these can make progress by itself, as far as known: it runs, or it
/// sleeps for an event that no other thread provides.
pub(super) type GoesOn = fn(u32, &[u32]) -> bool;

#[derive(Clone, Copy)]
pub(super) struct Looks<'a> {
    pub(super) first: &'a View,
    pub(super) second: &'a View,
    pub(super) count: Count,
    pub(super) goes_on: GoesOn,
}

/// The threads of a process that cannot make progress by themselves.
pub(super) struct Stuck<'a> {
    /// Threads that wait for each other.
    pub(super) circles: Vec<Vec<&'a ThreadView>>,
    /// Threads that wait for a lock that they hold themselves, while others make progress: one of those may release it,
    /// as with mutexes that are used as semaphores.
    pub(super) own: Vec<&'a ThreadView>,
    /// Whether there is no cycle, but all threads wait: then none can release a lock, whichever holds them.
    pub(super) all_wait: bool,
}

fn is_for_ours(thread: &ThreadView) -> bool {
    thread.waiting.as_ref().is_some_and(|waiting| waiting.lock.kind.is_ours())
}

impl Stuck<'_> {
    pub(super) fn is_deadlock(&self) -> bool {
        self.all_wait || !self.circles.is_empty()
    }
}

impl<'a> Looks<'a> {
    /// Returns the threads of a process at the second look.
    pub(super) fn threads(self, process: &Process) -> impl Iterator<Item = &'a ThreadView> + use<'a> {
        let id = process.id;
        self.second.threads.iter().filter(move |thread| thread.process == id)
    }

    /// Finds the threads that are stuck in both looks.
    pub(super) fn stuck(self, process: &Process, graph: &Graph<'a>) -> Stuck<'a> {
        let is_lasting = |circle: &Vec<&ThreadView>| self.are_lasting(process, circle.iter().copied());
        let lasting = graph.circles().into_iter().filter(is_lasting);
        let (own, circles): (Vec<_>, Vec<_>) =
            lasting.partition(|circle| circle.len() == 1 && self.may_be_helped(process));
        let all_wait = circles.is_empty() && self.all_wait(process);
        Stuck { circles, own: own.into_iter().flatten().collect(), all_wait }
    }

    /// Returns whether a thread makes progress that may release what others wait for, though it does not hold it.
    fn may_be_helped(self, process: &Process) -> bool {
        let (waiting, passing): (Vec<&ThreadView>, Vec<&ThreadView>) = self
            .threads(process)
            .filter(|thread| is_for_ours(thread))
            .partition(|thread| self.are_lasting(process, std::iter::once(*thread)));
        let waiting: Vec<u32> = waiting.iter().map(|thread| thread.tid).collect();
        process.alive && (!passing.is_empty() || (self.goes_on)(process.id.pid, &waiting))
    }

    /// Returns whether each of these threads already waited at the first look, and for the same lock. The view that an
    /// ended program left no longer changes.
    fn are_lasting<'t>(self, process: &Process, mut threads: impl Iterator<Item = &'t ThreadView>) -> bool {
        let apart_ns = self.second.taken_ns.saturating_sub(self.first.taken_ns);
        threads.all(|thread| {
            let now = thread.waiting.as_ref();
            let before = self.first.thread(thread.process, thread.tid).and_then(|thread| thread.waiting.as_ref());
            let (Some(now), Some(before)) = (now, before) else { return false };
            let is_same = (now.lock, now.owner) == (before.lock, before.owner);
            is_same && (!process.alive || now.for_ns >= apart_ns)
        })
    }

    /// Returns whether all threads of a process wait for locks: then none can release one, whichever holds them.
    fn all_wait(self, process: &Process) -> bool {
        let is_for_thread = |waiting: &Waiting| waiting.is_for_lock || waiting.lock.kind == Kind::Join;
        let threads: Vec<&ThreadView> =
            self.threads(process).filter(|thread| thread.waiting.as_ref().is_none_or(is_for_thread)).collect();
        let there = (self.count)(process.id.pid);
        let for_ours: Vec<u32> = threads.iter().filter(|thread| is_for_ours(thread)).map(|thread| thread.tid).collect();
        // Waits for other locks, and joins, may have a deadline.
        let may_go_on = || for_ours.len() < threads.len() && (self.goes_on)(process.id.pid, &for_ours);
        let all = process.alive && there == Some(threads.len());
        all && self.are_lasting(process, threads.iter().copied()) && !may_go_on()
    }
}
