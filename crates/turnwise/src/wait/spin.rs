//! How a thread spins for a sleeping lock before it sleeps: one way for all of them.
//!
//! ```text
//! newcomer  it has contended for this lock for `yield_after_ns`: yield the CPU
//!           the owner is off its CPU, also after a yield: park
//!           join the queue at its tail (a hand-off waiter and a reader do not: they poll as a head does)
//! head      received by the head before, or seen in polls: one owner takes the lock again and again: leave it a batch
//!           poll every `poll_ns` (if the queue was empty: twice as long after each poll that found the line changed);
//!             take a free lock; its last owner was faster: leave that a batch, once, then try without a poll before
//!           until the owner is off its CPU, or in one critical section for `still_ns`, or the lock is free but
//!             pending to a sleeper, or the time is up
//! park      announce it, park; woken: again from the top, past `handoff_after_ns` with a request for a hand-off
//! ```
//!
//! The queue lets one thread at a time touch the lock's cache line (J. Mellor-Crummey and M. Scott, 1991; Linux's
//! optimistic spinning, 2009, and its queue, 2014). Batches of sections pay off where a hand-over costs more than a
//! section. `docs/design/wait.md` explains each number.
//!
//! None of this is needed for correctness: a thread without a slot skips it and sleeps at once.

use super::{Found, SleepingLock, Waiter, policy, yield_after_interval};
use crate::events::Event;
use crate::platform::{Deadline, Hint, Me, OnCpu, Pause, Platform, SpinEnd, SpinLimit, Word};
use core::sync::atomic::Ordering::Relaxed;

/// A head passes this to the next, or leaves it as a hint in an empty queue: it gave up behind one long section.
const LONG: u32 = 1;
/// A head passes this to the next: an owner takes the lock again and again.
const BACK: u32 = 2;

impl<L: SleepingLock> Waiter<'_, L> {
    /// Spins for the lock; returns whether it acquired it.
    pub(super) fn spin(&mut self, deadline: Option<Deadline>) -> bool {
        let (taken, how) = match self.spins(deadline) {
            Ok(how) => (true, how),
            Err(why) => (false, why),
        };
        self.lock.count(how);
        taken
    }

    /// Spins for the lock; returns how it acquired it, or why it gave up.
    fn spins(&mut self, deadline: Option<Deadline>) -> Result<Event, Event> {
        let Some(me) = L::Platform::me() else { return Err(Event::SpinLeftOut) };
        let (lock, private) = (self.lock, &me.slot.private);
        let (address, now, settings) = (self.address(), L::Platform::now(), self.settings);
        let begin = yield_after_interval::<L::Platform>(private, address, now, settings, || self.ask_owner());
        if self.owner_stays_off() {
            return Err(Event::SpinOffCpu);
        }
        // A woken thread soon sleeps again, or requests a hand-off: no other sleeper is woken while it spins.
        let most = if self.since == 0 { u64::MAX } else { 2 * policy().still_ns };
        let limit = deadline.map_or(u64::MAX, Deadline::monotonic::<L::Platform>);
        let until = begin.saturating_add(self.settings.spin_ns::<L::Platform>().min(most)).min(limit);
        // No thread overtakes the first.
        let queues = L::queues(self.mode) && !self.is_first();
        let end = if queues {
            // The node is busy if this is a signal handler that interrupted a wait.
            if private.node_busy.replace(true) {
                return Err(Event::SpinLeftOut);
            }
            let end = self.spin_in_queue(me, until);
            me.slot.node_is_back();
            end
        } else {
            Head::new(until, u32::from(lock.spinners().spin_hint().unwrap_or(0))).spin(self)
        };
        if self.since == 0 {
            self.since = begin;
        }
        match end {
            Ok(()) => Ok(if queues { Event::SpunQueued } else { Event::Spun }),
            Err(SpinEnd::Deadline) => Err(Event::SpinTimedOut),
            Err(SpinEnd::NotRunning) => Err(Event::SpinOffCpu),
        }
    }

    /// Returns the word and its meaning.
    fn look(&self) -> (u32, Found) {
        let word = self.lock.word().load(Relaxed);
        (word, L::found(self, word))
    }

    /// Has the owner's release wake a sleeper, and yield its CPU if it has long run.
    fn ask_owner(&mut self) {
        let (word, found) = self.look();
        if policy().owner_intervals != 0 && matches!(found, Found::Held(Some(_))) {
            let _ = self.announce(word);
        }
    }

    /// Returns whether the owner is off its CPU, even after this thread has yielded its own.
    fn owner_stays_off(&self) -> bool {
        let off = |owner| L::Platform::on_cpu(owner) == OnCpu::NotRunning;
        let is_off = || matches!(self.look().1, Found::Held(Some(owner)) if off(owner));
        let mut left = policy().off_yields;
        is_off()
            && loop {
                if left == 0 {
                    break true;
                }
                left -= 1;
                L::Platform::pause(Pause::Offer);
                if !is_off() {
                    break false;
                }
            }
    }

    /// Waits in the queue, then as its head.
    fn spin_in_queue(&mut self, me: Me<L::Platform>, until: u64) -> Result<(), SpinEnd> {
        let queue = self.lock.spinners();
        let spin_hint = u32::from(queue.spin_hint().unwrap_or(0));
        queue.lock(me, Some(until))?;
        let received = me.slot.node.received();
        let mut head = Head::new(until, received.unwrap_or(spin_hint));
        head.alone = received.is_none();
        head.back |= received.is_some() && self.owner_comes_back();
        let end = head.spin(self);
        let long = match end {
            Ok(()) => 0,
            // Not if the caller's or the policy's limit was reached.
            Err(SpinEnd::Deadline) if L::Platform::now() < until => LONG,
            Err(_) => received.unwrap_or(spin_hint) & LONG,
        };
        queue.unlock_with_hint(me, long | if head.back { BACK } else { 0 }, long as u16);
        end
    }

    /// Returns whether an owner takes the lock again while this thread polls.
    fn owner_comes_back(&self) -> bool {
        let first = self.look().1;
        let (mut left, mut back) = (first == Found::Free, false);
        for _ in 0..policy().tries {
            L::Platform::pause(Pause::Rest(policy().poll_ns as u32));
            let now = self.look().1;
            back |= left && matches!(now, Found::Held(Some(_))) && (now == first || first == Found::Free);
            left |= now != first;
        }
        back
    }
}

/// The one thread that polls the lock; or one more that no thread overtakes, or that others do not bar.
struct Head {
    until: u64,
    /// How long it waits for one section.
    still_ns: u32,
    /// Whether an owner takes the lock again and again, as far as it knows.
    back: bool,
    /// Whether it has left that owner a batch.
    rested: bool,
    /// Whether it found the queue empty.
    alone: bool,
}

impl Head {
    /// Creates a head from `received`: the value passed by the head before it, or the hint in an empty queue.
    fn new(until: u64, received: u32) -> Self {
        let still_ns = policy().still_ns >> if received & LONG != 0 { 3 } else { 0 };
        Head { until, still_ns: still_ns as u32, back: received & BACK != 0, rested: false, alone: false }
    }

    fn spin<L: SleepingLock>(&mut self, waiter: &mut Waiter<'_, L>) -> Result<(), SpinEnd> {
        if self.back {
            self.rest(waiter);
        }
        let (mut last, mut lost) = (None, None);
        loop {
            let (word, found) = waiter.look();
            match found {
                Found::Free if waiter.take(word, false) => return Ok(()),
                Found::Free => lost = Some(word),
                Found::Reserved => return Err(SpinEnd::NotRunning),
                Found::Held(owner) => {
                    let to_last = owner.is_some() && owner == last;
                    if let Some(free) = lost.take().filter(|_| to_last)
                        && self.insists(waiter, free)
                    {
                        return Ok(());
                    }
                    last = owner;
                    let (until, still_ns) = (Some(self.until), Some(self.still_ns));
                    let limit = SpinLimit { until, owner, still_ns, batches: self.alone, ..SpinLimit::NONE };
                    L::Platform::spin_until(waiter.lock.word(), |now| L::found(waiter, now) != found, limit)?;
                }
            }
        }
    }

    /// Takes the lock, whose word was `free` a moment ago, from an owner that was faster to take it again. The owner
    /// gets a batch first, but only one. Then no load precedes the exchange: it would bring the cache line here in a
    /// shared state, and the owner, which has to request it exclusively as well, is nearer.
    fn insists<L: SleepingLock>(&mut self, waiter: &mut Waiter<'_, L>, free: u32) -> bool {
        if !self.rested {
            self.rest(waiter);
        }
        (0..policy().tries).any(|_| {
            let taken = waiter.take(free, false);
            if !taken {
                L::Platform::pause(Pause::Relax);
            }
            taken
        })
    }

    /// Leaves an owner a batch; then checks whether it still takes the lock again and again.
    fn rest<L: SleepingLock>(&mut self, waiter: &Waiter<'_, L>) {
        L::Platform::pause(Pause::Rest(policy().away_ns(L::Platform::hint(Hint::LineNs), 3)));
        self.rested = true;
        self.back = waiter.look().1 != Found::Free;
    }
}
