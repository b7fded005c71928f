//! Back-off: how a spinner waits between two polls of a lock.
//!
//! Every poll of a word that another thread writes moves a cache line; when many poll, the transfers delay the owner's
//! own access. A spinner that backs off for a while leaves the cache line alone, at the price of noticing a free lock
//! late. (T. Anderson, "The Performance of Spin Lock Alternatives for Shared-Memory Multiprocessors", 1990: exponential
//! back-off; J. Mellor-Crummey and M. Scott, 1991: proportional back-off for ticket locks.)
//!
//! | policy | how long it backs off | use it for |
//! |---|---|---|
//! | [`NoBackoff`] | not at all: it polls continuously | few CPUs, short sections; every queued lock |
//! | [`Exponential`] | twice as long each time, bounded, jittered | test-and-test-and-set with many CPUs |
//! | [`ByDistance`] | longer while the owner is on another NUMA node | test-and-test-and-set on several sockets |
//! | [`Proportional`] | the expected time of those before it | ticket locks, where a late poll delays all behind |
//!
//! A policy is a type and its value is the state of one wait, so a lock with a policy stays at four bytes. All limits
//! are times on [`Platform::now`], in nanoseconds: a loop iteration means 10 cycles on one CPU and 140 on the next.
//! Backing off is a [`Platform::spin_until`] on a word that no thread writes, so a simulator can charge it. The first
//! polls need no clock: a lock that becomes free at once costs no more than with [`NoBackoff`]. Between two pauses
//! comes a single poll: where the spin hint takes 140 cycles, as many as at first would keep the line from the owner
//! for longer than the pauses leave it alone.

use crate::platform::{Hint, Platform, SpinEnd, SpinLimit, Word};
use core::sync::atomic::Ordering::Relaxed;

/// A back-off policy; a value of it is the state of one wait.
///
/// ```
/// use turnwise::{SpinLock, backoff::Backoff, platform::Platform};
///
/// /// Rests for 300 ns after every few polls.
/// struct Steady;
///
/// impl Backoff for Steady {
///     fn start() -> Self {
///         Steady
///     }
///
///     fn pause_ns<P: Platform>(&mut self, _turns: u32) -> u64 {
///         300
///     }
/// }
///
/// static LOCK: SpinLock<u64, Steady> = SpinLock::const_new_in(7);
/// assert_eq!(*LOCK.lock(), 7);
/// ```
pub trait Backoff: Sized + Send + Sync + 'static {
    /// Whether the policy reads the owner's [`mark`](Backoff::mark): then it is only for locks without an order.
    const READS_MARKS: bool = false;

    /// The number of owners before the caller up to which it polls continuously. 0: it backs off whenever the lock is
    /// held; `u32::MAX`: never.
    const NEAR: u32 = 0;

    /// Returns the state at the start of a wait.
    fn start() -> Self;

    /// Returns the mark by which a lock without an order describes its owner, the caller, to waiters: any number but 0.
    #[inline(always)]
    #[must_use]
    fn mark<P: Platform>() -> u32 {
        1
    }

    /// Returns for how many nanoseconds to back off, after a poll that found `turns` owners before the caller: exact
    /// for a ticket lock; for a held lock without an order the owner's [`mark`](Backoff::mark).
    fn pause_ns<P: Platform>(&mut self, turns: u32) -> u64;

    /// Returns whether only one poll comes before the next pause, rather than several: as [`Exponential`] does once it
    /// has backed off.
    #[must_use]
    fn has_paused(&self) -> bool {
        false
    }

    /// Waits until `turns(value of word)` is 0, or until `until` on [`Platform::now`]. The loads are relaxed, as in
    /// [`Platform::spin_until`].
    ///
    /// # Errors
    /// [`SpinEnd::Deadline`] when `until` has passed.
    #[inline]
    fn wait<P: Platform>(
        &mut self,
        word: &P::U32,
        mut turns: impl FnMut(u32) -> u32,
        until: Option<u64>,
    ) -> Result<(), SpinEnd> {
        let mut is_far = Self::NEAR < u32::MAX;
        while is_far {
            let mut before = 0;
            let mut is_near = |value| {
                before = turns(value);
                before <= Self::NEAR
            };
            is_far = !if self.has_paused() { is_near(word.load(Relaxed)) } else { first_polls::<P>(word, is_near) };
            if is_far {
                backoff::<P>(self.pause_ns::<P>(before), until)?;
            }
        }
        if Self::NEAR == 0 {
            return Ok(());
        }
        P::spin_until(word, |value| turns(value) == 0, SpinLimit { until, ..SpinLimit::NONE }).map(drop)
    }
}

/// The policy that polls continuously.
///
/// ```
/// use turnwise::{SpinLock, backoff::NoBackoff};
///
/// static LOCK: SpinLock<u64, NoBackoff> = SpinLock::new(7); // it is the default
/// assert_eq!(*LOCK.lock(), 7);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "it has no state")]
pub struct NoBackoff;

impl Backoff for NoBackoff {
    const NEAR: u32 = u32::MAX;

    #[inline]
    fn start() -> Self {
        NoBackoff
    }

    fn pause_ns<P: Platform>(&mut self, _turns: u32) -> u64 {
        0
    }
}

/// The policy that backs off for `FIRST_NS`, then twice as long each time up to `LIMIT_NS`; each time a random part of
/// the upper half is skipped, so that spinners that arrived together do not return together.
///
/// ```
/// use turnwise::{SpinLock, backoff::Exponential};
///
/// static LOCK: SpinLock<u64, Exponential<100, 5_000>> = SpinLock::const_new_in(7);
/// assert_eq!(*LOCK.lock(), 7);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exponential<const FIRST_NS: u32 = 200, const LIMIT_NS: u32 = 10_000> {
    /// The length of the next pause before jitter; 0 before the first.
    next_ns: u32,
    jitter: Jitter,
}

impl<const FIRST_NS: u32, const LIMIT_NS: u32> Backoff for Exponential<FIRST_NS, LIMIT_NS> {
    #[inline]
    fn start() -> Self {
        Exponential { next_ns: 0, jitter: Jitter(0) }
    }

    /// Returns the next pause, between half of its bound and its bound.
    fn pause_ns<P: Platform>(&mut self, _turns: u32) -> u64 {
        const { assert!(FIRST_NS > 0 && FIRST_NS <= LIMIT_NS, "back-off limits: 0 < FIRST_NS <= LIMIT_NS") };
        let bound = if self.next_ns == 0 { FIRST_NS } else { self.next_ns };
        self.next_ns = bound.saturating_mul(2).min(LIMIT_NS);
        let half = bound / 2;
        u64::from(bound - half) + u64::from(self.jitter.below::<P>(half + 1))
    }

    fn has_paused(&self) -> bool {
        self.next_ns != 0
    }
}

/// The policy that backs off as [`Exponential`] does while the owner is on the caller's NUMA node, and `FAR_TIMES` as
/// long while it is on another, so that the lock, and the data it protects, stays on a node for a while. (Z. Radovic
/// and E. Hagersten, "Hierarchical Backoff Locks for Nonuniform Communication Architectures", 2003.)
///
/// A thread that has waited for `FAIR_AFTER_NS` is treated like those on the owner's node: a node cannot monopolise the
/// lock. The lock's word names the owner's node, which costs a load for each acquisition. Where the platform has one
/// node or does not know its nodes, the policy is [`Exponential`].
///
/// ```
/// use turnwise::{SpinLock, backoff::ByDistance};
///
/// static LOCK: SpinLock<u64, ByDistance> = SpinLock::const_new_in(7);
/// assert_eq!(*LOCK.lock(), 7);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ByDistance<
    const FIRST_NS: u32 = 200,
    const LIMIT_NS: u32 = 10_000,
    const FAR_TIMES: u32 = 16,
    const FAIR_AFTER_NS: u32 = 1_000_000,
> {
    near: Exponential<FIRST_NS, LIMIT_NS>,
    /// When the first poll found the lock held, on [`Platform::now`]; `None` before that.
    since: Option<u64>,
}

impl<const FIRST_NS: u32, const LIMIT_NS: u32, const FAR_TIMES: u32, const FAIR_AFTER_NS: u32> Backoff
    for ByDistance<FIRST_NS, LIMIT_NS, FAR_TIMES, FAIR_AFTER_NS>
{
    const READS_MARKS: bool = true;

    #[inline]
    fn start() -> Self {
        ByDistance { near: Exponential::start(), since: None }
    }

    /// Returns the caller's node plus 1.
    #[inline(always)]
    fn mark<P: Platform>() -> u32 {
        P::hint(Hint::Node).wrapping_add(1).max(1)
    }

    fn pause_ns<P: Platform>(&mut self, owner: u32) -> u64 {
        let now = P::now();
        let waited_ns = now.saturating_sub(*self.since.get_or_insert(now));
        let is_far = owner != Self::mark::<P>() && waited_ns < u64::from(FAIR_AFTER_NS);
        self.near.pause_ns::<P>(owner) * if is_far { u64::from(FAR_TIMES) } else { 1 }
    }

    fn has_paused(&self) -> bool {
        self.near.has_paused()
    }
}

/// The policy that backs off for `PER_OWNER_NS` for each owner ahead of the next one; the next one polls continuously.
///
/// ```
/// use turnwise::{TicketLock, backoff::Proportional};
///
/// static LOCK: TicketLock<u64, Proportional<100>> = TicketLock::const_new_in(7);
/// assert_eq!(*LOCK.lock(), 7);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[expect(clippy::exhaustive_structs, reason = "it has no state")]
pub struct Proportional<const PER_OWNER_NS: u32 = 100>;

impl<const PER_OWNER_NS: u32> Backoff for Proportional<PER_OWNER_NS> {
    const NEAR: u32 = 1;

    #[inline]
    fn start() -> Self {
        Proportional
    }

    fn pause_ns<P: Platform>(&mut self, turns: u32) -> u64 {
        u64::from(turns.saturating_sub(Self::NEAR)) * u64::from(PER_OWNER_NS)
    }
}

/// Makes the polls that need no clock; returns whether one of them found the word ready.
fn first_polls<P: Platform>(word: &P::U32, ready: impl FnMut(u32) -> bool) -> bool {
    P::spin_until(word, ready, SpinLimit { until: Some(0), ..SpinLimit::NONE }).is_ok()
}

/// Spends `ns` on the CPU without touching shared memory; returns an error if `until` comes first.
fn backoff<P: Platform>(ns: u64, until: Option<u64>) -> Result<(), SpinEnd> {
    let back = P::now().saturating_add(ns);
    let end = until.map_or(back, |until| until.min(back));
    let nobody_writes = P::U32::new(0);
    let _ = P::spin_until(&nobody_writes, |_| false, SpinLimit { until: Some(end), ..SpinLimit::NONE });
    match until {
        Some(until) if until <= end => Err(SpinEnd::Deadline),
        _ => Ok(()),
    }
}

/// A tiny random number generator for one wait, seeded from the clock and the thread's token; 0 before that.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Jitter(u32);

impl Jitter {
    /// Returns a number below `bound`, close enough to uniform for the purpose.
    fn below<P: Platform>(&mut self, bound: u32) -> u32 {
        if self.0 == 0 {
            // The multiplication spreads tokens and times that differ in a few low bits over the whole word.
            let seed = (P::now() ^ (u64::from(P::current().get()) << 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            self.0 = (seed >> 32) as u32 | 1;
        }
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        ((u64::from(self.0) * u64::from(bound)) >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::DefaultPlatform as P;

    #[test]
    fn stays_double_up_to_the_limit_and_keep_half() {
        let mut backoff = Exponential::<100, 1000>::start();
        for bound in [100, 200, 400, 800, 1000, 1000] {
            let ns = backoff.pause_ns::<P>(1);
            assert!((bound / 2..=bound).contains(&ns), "{ns} for {bound}");
        }
    }

    #[test]
    fn jitter_differs_within_a_wait_and_stays_below_the_bound() {
        let mut jitter = Jitter(0);
        let drawn: std::vec::Vec<u32> = (0..64).map(|_| jitter.below::<P>(1000)).collect();
        assert!(drawn.iter().all(|&n| n < 1000));
        assert!(drawn.iter().any(|&n| n < 500) && drawn.iter().any(|&n| n >= 500), "{drawn:?}");
    }

    #[test]
    fn every_policy_sees_a_ready_word_and_a_deadline() {
        fn check<B: Backoff>() {
            let word = <P as Platform>::U32::new(3);
            assert_eq!(B::start().wait::<P>(&word, |value| value - 3, None), Ok(()));
            let until = P::now() + 1_000;
            assert_eq!(B::start().wait::<P>(&word, |value| value, Some(until)), Err(SpinEnd::Deadline));
            assert!(P::now() >= until);
        }
        check::<NoBackoff>();
        check::<Exponential>();
        check::<ByDistance>();
        check::<Proportional>();
    }

    #[test]
    fn the_stays_for_a_far_owner_are_longer_until_the_wait_has_been_long() {
        type Policy<const FAIR_AFTER_NS: u32> = ByDistance<100, 1000, 8, FAIR_AFTER_NS>;
        let (near, far) = (Policy::<1>::mark::<P>(), Policy::<1>::mark::<P>() + 1);
        let mut patient = Policy::<{ u32::MAX }>::start();
        assert!((50..=100).contains(&patient.pause_ns::<P>(near)));
        assert!((100 * 8..=200 * 8).contains(&patient.pause_ns::<P>(far)));
        assert!((200..=400).contains(&patient.pause_ns::<P>(near)));
        let mut late = Policy::<0>::start();
        assert!((50..=100).contains(&late.pause_ns::<P>(far)));
    }

    #[test]
    fn proportional_stays_away_longer_for_more_turns() {
        let word = <P as Platform>::U32::new(50);
        let start = P::now();
        let mut polls = 0;
        let turns = |_| {
            polls += 1;
            if polls > 8 { 0 } else { 50 }
        };
        assert_eq!(Proportional::<1000>.wait::<P>(&word, turns, None), Ok(()));
        // Eight first polls found 49 turns before the next one; the ninth came after the pause.
        assert!(polls > 8 || P::now() - start >= 49_000);
    }
}
