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

use super::{Tuned, policy, yield_after_interval};
use crate::events::Event;
use crate::osq::Osq;
use crate::platform::{Deadline, Hint, Me, OnCpu, Pause, Platform, SpinEnd, SpinLimit, Token, Word};
use core::sync::atomic::Ordering::Relaxed;

/// The state that a spinner finds in a lock's word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// It may take the lock.
    Free,
    /// The lock is free but reserved for a sleeper, which may need this CPU.
    Reserved,
    /// Other threads hold the lock; the owner, if there is one and it is known.
    Held(Option<Token>),
}

/// A thread that waits for a lock, as the spinner uses it.
pub(crate) trait Contender<'a, P: Platform> {
    fn word(&self) -> &'a P::U32;

    /// Returns the queue of the lock's spinners.
    fn queue(&self) -> &'a Osq<P>;

    /// Returns whether it waits in the queue: not if no thread can overtake it, or if others may share the lock.
    fn queues(&self) -> bool;

    fn found(&self, word: u32) -> Found;

    /// Takes the lock if its word is still `word`; returns whether it did.
    fn take(&mut self, word: u32) -> bool;

    /// Returns the word and its meaning.
    fn poll(&self) -> (u32, Found) {
        let word = self.word().load(Relaxed);
        (word, self.found(word))
    }
}

/// A head passes this to the next, or leaves it as a hint in an empty queue: it gave up behind one long section.
const LONG: u32 = 1;
/// A head passes this to the next: an owner takes the lock again and again.
const BACK: u32 = 2;

/// Spins for a lock; returns how it acquired it, or why it gave up.
pub(crate) fn spin<'a, P: Platform>(
    contender: &mut impl Contender<'a, P>,
    settings: &Tuned,
    deadline: Option<Deadline>,
    since: &mut u64,
) -> Result<Event, Event> {
    let Some(me) = P::me() else { return Err(Event::SpinLeftOut) };
    let (queue, private) = (contender.queue(), &me.slot.private);
    let address = core::ptr::from_ref(contender.word()).addr();
    let begin = yield_after_interval::<P>(private, address, P::now(), settings);
    if owner_stays_off(contender) {
        return Err(Event::SpinOffCpu);
    }
    // A woken thread soon sleeps again, or requests a hand-off: no other sleeper is woken while it spins.
    let most = if *since == 0 { u64::MAX } else { 2 * policy().still_ns };
    let limit = deadline.map_or(u64::MAX, Deadline::monotonic::<P>);
    let until = begin.saturating_add(settings.spin_ns::<P>().min(most)).min(limit);
    let end = if contender.queues() {
        // The node is busy if this is a signal handler that interrupted a wait.
        if private.node_busy.replace(true) {
            return Err(Event::SpinLeftOut);
        }
        let end = in_queue(contender, me, until);
        me.slot.node_is_back();
        end
    } else {
        Head::new(until, u32::from(queue.spin_hint().unwrap_or(0))).spin(contender)
    };
    if *since == 0 {
        *since = begin;
    }
    match end {
        Ok(()) if contender.queues() => Ok(Event::SpunQueued),
        Ok(()) => Ok(Event::Spun),
        Err(SpinEnd::Deadline) => Err(Event::SpinTimedOut),
        Err(SpinEnd::NotRunning) => Err(Event::SpinOffCpu),
    }
}

/// Returns whether the owner is off its CPU, even after this thread has yielded its own.
fn owner_stays_off<'a, P: Platform>(contender: &impl Contender<'a, P>) -> bool {
    let is_off = || matches!(contender.poll().1, Found::Held(Some(owner)) if P::on_cpu(owner) == OnCpu::NotRunning);
    is_off() && {
        P::pause(Pause::Offer);
        is_off()
    }
}

/// Waits in the queue, then as its head.
fn in_queue<'a, P: Platform>(contender: &mut impl Contender<'a, P>, me: Me<P>, until: u64) -> Result<(), SpinEnd> {
    let queue = contender.queue();
    let spin_hint = u32::from(queue.spin_hint().unwrap_or(0));
    queue.lock(me, Some(until))?;
    let received = me.slot.node.received();
    let mut head = Head::new(until, received.unwrap_or(spin_hint));
    head.alone = received.is_none();
    head.back |= received.is_some() && owner_comes_back(contender);
    let end = head.spin(contender);
    let long = match end {
        Ok(()) => 0,
        // Not if the caller's or the policy's limit was reached.
        Err(SpinEnd::Deadline) if P::now() < until => LONG,
        Err(_) => received.unwrap_or(spin_hint) & LONG,
    };
    queue.unlock_with_hint(me, long | if head.back { BACK } else { 0 }, long as u16);
    end
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

    fn spin<'a, P: Platform>(&mut self, contender: &mut impl Contender<'a, P>) -> Result<(), SpinEnd> {
        if self.back {
            self.rest(contender);
        }
        let (mut last, mut lost) = (None, None);
        loop {
            let (word, found) = contender.poll();
            match found {
                Found::Free if contender.take(word) => return Ok(()),
                Found::Free => lost = Some(word),
                Found::Reserved => return Err(SpinEnd::NotRunning),
                Found::Held(owner) => {
                    let to_last = owner.is_some() && owner == last;
                    if let Some(free) = lost.take().filter(|_| to_last)
                        && self.insists(contender, free)
                    {
                        return Ok(());
                    }
                    last = owner;
                    let (until, still_ns) = (Some(self.until), Some(self.still_ns));
                    let limit = SpinLimit { until, owner, still_ns, batches: self.alone, ..SpinLimit::NONE };
                    P::spin_until(contender.word(), |now| contender.found(now) != found, limit)?;
                }
            }
        }
    }

    /// Takes the lock, whose word was `free` a moment ago, from an owner that was faster to take it again. The owner
    /// gets a batch first, but only one. Then no load precedes the exchange: it would bring the cache line here in a
    /// shared state, and the owner, which has to request it exclusively as well, is nearer.
    fn insists<'a, P: Platform>(&mut self, contender: &mut impl Contender<'a, P>, free: u32) -> bool {
        if !self.rested {
            self.rest(contender);
        }
        (0..policy().tries).any(|_| {
            let taken = contender.take(free);
            if !taken {
                P::pause(Pause::Relax);
            }
            taken
        })
    }

    /// Leaves an owner a batch; then checks whether it still takes the lock again and again.
    fn rest<'a, P: Platform>(&mut self, contender: &impl Contender<'a, P>) {
        P::pause(Pause::Rest(policy().away_ns(P::hint(Hint::LineNs), 3)));
        self.rested = true;
        self.back = contender.poll().1 != Found::Free;
    }
}

/// Returns whether an owner takes the lock again while this thread polls.
fn owner_comes_back<'a, P: Platform>(contender: &impl Contender<'a, P>) -> bool {
    let first = contender.poll().1;
    let (mut left, mut back) = (first == Found::Free, false);
    for _ in 0..policy().tries {
        P::pause(Pause::Rest(policy().poll_ns as u32));
        let now = contender.poll().1;
        back |= left && matches!(now, Found::Held(Some(_))) && (now == first || first == Found::Free);
        left |= now != first;
    }
    back
}
