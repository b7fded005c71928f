//! Pairs beginnings and ends of futex calls to waits, and waits with the calls that ended them.

use crate::call::{Call, Word};
use std::collections::{HashMap, VecDeque};
use turnwise_profile::sums::{Course, Sum};

/// The number of a call stack of the process.
pub(crate) type StackId = u32;

/// The number of waits kept individually; later ones are only in the sums.
const MOST_KEPT: usize = 200_000;
/// The number of calls that may wake a thread that are remembered for each address.
const MOST_WAKES: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Wait {
    pub(crate) tid: u32,
    pub(crate) address: u64,
    pub(crate) stack: StackId,
    pub(crate) began_ns: u64,
    pub(crate) ended_ns: u64,
    pub(crate) outcome: Outcome,
    /// The thread that woke it, and from where.
    pub(crate) waker: Option<(u32, StackId)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    Woken,
    TimedOut,
    /// By a signal.
    Interrupted,
    /// It had not ended when the thread or the trace ended.
    Unfinished,
}

/// A wait that lasted to the end of its thread or of the trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pending {
    pub(crate) tid: u32,
    pub(crate) address: u64,
    pub(crate) word: Word,
    /// The thread whose end it waits for.
    pub(crate) joins: Option<u32>,
    /// Whether it ended with its thread, not with the trace.
    pub(crate) with_thread: bool,
}

/// The result of pairing a process's calls.
#[derive(Debug, Default)]
pub(crate) struct Pairing {
    open: HashMap<u32, Open>,
    wakes: HashMap<u64, VecDeque<Wake>>,
    /// The address to which the sleepers on an address were moved.
    moved: HashMap<u64, u64>,
    /// The sums by address and stack.
    pub(crate) sites: HashMap<(u64, StackId), Sum>,
    pub(crate) threads: HashMap<u32, Sum>,
    pub(crate) courses: HashMap<u64, Course>,
    /// The waits by address, the waiter's stack and the waker's.
    pub(crate) wakers: HashMap<(u64, StackId, StackId), Sum>,
    pub(crate) kept: Vec<Wait>,
    /// Waits for threads to end: in no other figure, since no lock is held there.
    pub(crate) joins: Sum,
    /// Unfinished waits, including joins.
    pub(crate) unfinished: Vec<Pending>,
    /// The number of waits that were under way when the trace began, and count from there.
    pub(crate) from_before: u64,
    /// The number of waits that are only in the sums.
    pub(crate) dropped: u64,
    /// The number of calls that did not sleep, since the value had already changed (or an argument was wrong).
    pub(crate) not_slept: u64,
    /// The number of calls whose beginning was not seen: they were under way, or the record was lost.
    pub(crate) without_beginning: u64,
    /// The number of waits whose end was lost.
    pub(crate) without_end: u64,
}

/// A call under way.
#[derive(Debug)]
struct Open {
    call: Call,
    stack: StackId,
    at_ns: u64,
    joins: Option<u32>,
    /// Whether its beginning was recorded; if not, it was already under way.
    is_recorded: bool,
}

/// A call that may have woken a thread.
#[derive(Debug)]
struct Wake {
    tid: u32,
    stack: StackId,
    at_ns: u64,
    /// The number that it may still wake.
    left: u64,
}

impl Pairing {
    /// Processes the beginning of a call; `joins`: the thread whose end it waits for.
    pub(crate) fn enter(&mut self, tid: u32, at_ns: u64, call: Call, stack: StackId, joins: Option<u32>) {
        let open = Open { call, stack, at_ns, joins, is_recorded: true };
        // A call that was not recorded has only just begun: this is its record.
        if let Some(Open { call: Call::Wait { .. }, is_recorded: true, .. }) = self.open.insert(tid, open) {
            self.without_end += 1;
        }
        let (address, left) = match call {
            Call::Wait { .. } => return,
            Call::Wake { address, most } => (address, most),
            Call::Requeue { from, to, most } => {
                self.moved.insert(from, to);
                (from, most)
            }
        };
        let wakes = self.wakes.entry(address).or_default();
        wakes.push_back(Wake { tid, stack, at_ns, left });
        if wakes.len() > MOST_WAKES {
            wakes.pop_front();
        }
    }

    /// Notes that a thread was in a wait when the trace began, unless its beginning has been recorded.
    pub(crate) fn sleeps(&mut self, tid: u32, call: Call, stack: StackId, joins: Option<u32>) {
        self.open.entry(tid).or_insert(Open { call, stack, at_ns: 0, joins, is_recorded: false });
    }

    /// Processes the end of a thread's call.
    pub(crate) fn exit(&mut self, tid: u32, at_ns: u64, result: i64) {
        let Some(open) = self.open.remove(&tid) else {
            self.without_beginning += 1;
            return;
        };
        match open.call {
            Call::Wait { address, .. } => match outcome(result) {
                Some(outcome) => self.wait(tid, address, &open, at_ns, outcome),
                None => self.not_slept += 1,
            },
            // A call that woke no thread is not a waker.
            Call::Wake { address, .. } | Call::Requeue { from: address, .. } if result <= 0 => {
                let wakes = self.wakes.entry(address).or_default();
                wakes.retain(|wake| (wake.tid, wake.at_ns) != (tid, open.at_ns));
            }
            Call::Wake { .. } | Call::Requeue { .. } => {}
        }
    }

    /// Discards a thread's call that ended before the trace began.
    pub(crate) fn forget(&mut self, tid: u32) {
        self.open.remove(&tid);
    }

    /// Ends a thread, whatever call it is in.
    pub(crate) fn thread_ends(&mut self, tid: u32, at_ns: u64) {
        self.breaks_off(tid, at_ns, true);
    }

    fn breaks_off(&mut self, tid: u32, at_ns: u64, with_thread: bool) {
        if let Some(open) = self.open.remove(&tid)
            && let Call::Wait { address, word } = open.call
        {
            self.unfinished.push(Pending { tid, address, word, joins: open.joins, with_thread });
            self.wait(tid, address, &open, at_ns, Outcome::Unfinished);
        }
    }

    /// Ends all calls that are under way when the trace ends.
    pub(crate) fn end(&mut self, at_ns: u64) {
        let mut threads: Vec<u32> = self.open.keys().copied().collect();
        threads.sort_unstable();
        for tid in threads {
            self.breaks_off(tid, at_ns, false);
        }
    }

    fn wait(&mut self, tid: u32, address: u64, open: &Open, ended_ns: u64, outcome: Outcome) {
        let (stack, began_ns) = (open.stack, open.at_ns);
        let ended_ns = ended_ns.max(began_ns);
        let waker = if outcome == Outcome::Woken { self.waker(tid, address, began_ns, ended_ns) } else { None };
        let waited = ended_ns - began_ns;
        self.from_before += u64::from(!open.is_recorded);
        // The kernel wakes a thread that waits for a thread's end; one woken by a thread waited for something else.
        if open.joins.is_some() && waker.is_none() {
            return self.joins.add(waited, 1.0);
        }
        for sum in [self.sites.entry((address, stack)).or_default(), self.threads.entry(tid).or_default()] {
            sum.add(waited, 1.0);
            sum.failed += u64::from(outcome == Outcome::TimedOut);
        }
        self.courses.entry(address).or_default().add(ended_ns, 1, waited);
        if let Some((_, from)) = waker {
            self.wakers.entry((address, stack, from)).or_default().add(waited, 1.0);
        }
        if self.kept.len() < MOST_KEPT {
            self.kept.push(Wait { tid, address, stack, began_ns, ended_ns, outcome, waker });
        } else {
            self.dropped += 1;
        }
    }

    /// Returns the first call during the wait that could wake it and has not yet woken its maximum.
    fn waker(&mut self, tid: u32, address: u64, began_ns: u64, ended_ns: u64) -> Option<(u32, StackId)> {
        let moved = self.moved.get(&address).copied();
        for address in [Some(address), moved].into_iter().flatten() {
            let calls = self.wakes.get_mut(&address).into_iter().flatten();
            let during = |wake: &&mut Wake| (began_ns..=ended_ns).contains(&wake.at_ns);
            if let Some(wake) = calls.filter(during).find(|wake| wake.left > 0 && wake.tid != tid) {
                wake.left -= 1;
                return Some((wake.tid, wake.stack));
            }
        }
        None
    }
}

/// Returns the outcome from a waiting call's result; `None`: it did not sleep.
fn outcome(result: i64) -> Option<Outcome> {
    /// The kernel's internal results for a call that is to be restarted after a signal.
    const RESTARTED: std::ops::RangeInclusive<i64> = -516..=-512;
    const TIMED_OUT: i64 = -(libc::ETIMEDOUT as i64);
    const INTERRUPTED: i64 = -(libc::EINTR as i64);
    match result {
        0.. => Some(Outcome::Woken),
        TIMED_OUT => Some(Outcome::TimedOut),
        INTERRUPTED => Some(Outcome::Interrupted),
        restarted if RESTARTED.contains(&restarted) => Some(Outcome::Interrupted),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: u64 = 0x1000;
    const B: u64 = 0x2000;
    const WAIT: Call = Call::Wait { address: A, word: Word::Private(0) };

    fn wake(most: u64) -> Call {
        Call::Wake { address: A, most }
    }

    #[test]
    fn a_wait_is_paired_with_its_end_and_its_waker() {
        let mut pairing = Pairing::default();
        pairing.enter(1, 100, WAIT, 7, None);
        pairing.enter(2, 150, wake(1), 8, None);
        // The woken thread may leave its call before its waker.
        pairing.exit(1, 160, 0);
        pairing.exit(2, 170, 1);
        let woken = Outcome::Woken;
        let expected =
            Wait { tid: 1, address: A, stack: 7, began_ns: 100, ended_ns: 160, outcome: woken, waker: Some((2, 8)) };
        assert_eq!(pairing.kept, [expected]);
        assert_eq!(pairing.sites[&(A, 7)].distribution().sum_ns, 60);
        assert_eq!(pairing.wakers[&(A, 7, 8)].totals(), (1, 60));
        assert_eq!((pairing.threads[&1].totals().0, pairing.threads.len()), (1, 1));
    }

    #[test]
    fn a_call_wakes_no_more_than_it_may_and_only_those_who_slept_then() {
        let mut pairing = Pairing::default();
        pairing.enter(9, 50, wake(5), 1, None);
        pairing.enter(1, 100, WAIT, 7, None);
        pairing.enter(2, 101, WAIT, 7, None);
        pairing.exit(9, 102, 0);
        pairing.enter(3, 150, wake(1), 8, None);
        pairing.exit(3, 151, 1);
        pairing.enter(4, 160, wake(1), 9, None);
        pairing.exit(4, 161, 1);
        pairing.exit(1, 170, 0);
        pairing.exit(2, 171, 0);
        let wakers: Vec<_> = pairing.kept.iter().map(|wait| wait.waker).collect();
        assert_eq!(wakers, [Some((3, 8)), Some((4, 9))]);
    }

    #[test]
    fn who_woke_nobody_is_no_waker() {
        let mut pairing = Pairing::default();
        pairing.enter(1, 100, WAIT, 7, None);
        pairing.enter(2, 110, wake(1), 8, None);
        pairing.exit(2, 111, 0);
        pairing.enter(3, 120, wake(1), 9, None);
        pairing.exit(3, 121, 1);
        pairing.exit(1, 130, 0);
        assert_eq!(pairing.kept[0].waker, Some((3, 9)));
    }

    #[test]
    fn who_was_moved_is_woken_at_the_other_address() {
        let mut pairing = Pairing::default();
        pairing.enter(1, 100, WAIT, 7, None);
        pairing.enter(2, 110, Call::Requeue { from: A, to: B, most: 0 }, 8, None);
        pairing.exit(2, 111, 1);
        pairing.enter(3, 120, Call::Wake { address: B, most: 1 }, 9, None);
        pairing.exit(3, 121, 1);
        pairing.exit(1, 130, 0);
        assert_eq!(pairing.kept[0].waker, Some((3, 9)));
    }

    #[test]
    fn results_tell_how_a_wait_ended() {
        let mut pairing = Pairing::default();
        for (result, at) in [(-110, 0), (-4, 100), (-512, 200), (-11, 300), (0, 400)] {
            pairing.enter(1, at, WAIT, 7, None);
            pairing.exit(1, at + 10, result);
        }
        let outcomes: Vec<_> = pairing.kept.iter().map(|wait| wait.outcome).collect();
        assert_eq!(outcomes, [Outcome::TimedOut, Outcome::Interrupted, Outcome::Interrupted, Outcome::Woken]);
        assert_eq!((pairing.not_slept, pairing.sites[&(A, 7)].failed, pairing.threads[&1].totals().1), (1, 1, 40));
    }

    #[test]
    fn lost_records_make_no_waits_up() {
        let mut pairing = Pairing::default();
        pairing.exit(1, 50, 0);
        pairing.enter(1, 100, WAIT, 7, None);
        pairing.enter(1, 900, WAIT, 7, None);
        pairing.exit(1, 910, 0);
        assert_eq!((pairing.without_beginning, pairing.without_end), (1, 1));
        assert_eq!(pairing.sites[&(A, 7)].totals().1, 10, "the first wait's length is not known");
    }

    #[test]
    fn waits_that_go_on_count_up_to_the_end() {
        let mut pairing = Pairing::default();
        pairing.enter(1, 100, WAIT, 7, None);
        pairing.enter(2, 200, WAIT, 7, None);
        pairing.enter(3, 250, wake(1), 7, None);
        pairing.thread_ends(2, 300);
        pairing.end(1000);
        let ends: Vec<_> = pairing.kept.iter().map(|wait| (wait.tid, wait.ended_ns, wait.outcome)).collect();
        assert_eq!(ends, [(2, 300, Outcome::Unfinished), (1, 1000, Outcome::Unfinished)]);
        let shown: Vec<_> = pairing.unfinished.iter().map(|wait| (wait.tid, wait.with_thread)).collect();
        assert_eq!(shown, [(2, true), (1, false)]);
    }

    #[test]
    fn what_was_under_way_counts_from_the_beginning_of_the_trace() {
        let mut pairing = Pairing::default();
        pairing.sleeps(1, WAIT, 7, None);
        pairing.sleeps(2, WAIT, 7, None);
        pairing.enter(3, 5, WAIT, 8, None);
        // Its beginning was recorded before, that of the fourth after /proc was read.
        pairing.sleeps(3, WAIT, 7, None);
        pairing.sleeps(4, WAIT, 7, None);
        pairing.enter(4, 6, WAIT, 8, None);
        pairing.exit(1, 100, 0);
        pairing.end(1000);
        let times: Vec<_> = pairing.kept.iter().map(|wait| (wait.tid, wait.began_ns, wait.ended_ns)).collect();
        assert_eq!(times, [(1, 0, 100), (2, 0, 1000), (3, 5, 1000), (4, 6, 1000)]);
        assert_eq!((pairing.from_before, pairing.without_beginning, pairing.without_end), (2, 0, 0));
    }

    #[test]
    fn waits_for_threads_to_end_are_in_no_other_figure() {
        let mut pairing = Pairing::default();
        pairing.enter(1, 100, WAIT, 7, Some(2));
        pairing.exit(1, 150, 0);
        pairing.enter(1, 200, WAIT, 7, Some(3));
        pairing.end(300);
        assert_eq!(pairing.joins.totals(), (2, 150));
        assert!(pairing.kept.is_empty() && pairing.sites.is_empty() && pairing.threads.is_empty());
        assert_eq!(pairing.unfinished.iter().map(|wait| wait.joins).collect::<Vec<_>>(), [Some(3)]);
        // A thread called to wake it: then the value was a thread's number by chance.
        let mut pairing = Pairing::default();
        pairing.enter(1, 100, WAIT, 7, Some(2));
        pairing.enter(2, 110, wake(1), 8, None);
        pairing.exit(2, 111, 1);
        pairing.exit(1, 150, 0);
        assert_eq!((pairing.joins.totals().0, pairing.kept.len()), (0, 1));
    }
}
