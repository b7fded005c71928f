//! Turns of time with a lock, among threads that stand in line for it.
//!
//! The idea of a slice of time in which an owner may take its lock again, while others wait, is that of Y. Patel et al.
//! (Avoiding Scheduler Subversion Using Scheduler-Cooperative Locks, EuroSys 2020). Here whether there are turns is
//! learnt by trials: now and then the first in line leaves the lock to its owner for a while, and how soon the owner
//! stands in line after that tells whether it would have gone on. What the line has learnt goes with its first place
//! from thread to thread, in the word by which one makes the next the first.

use super::policy;
use crate::platform::Platform;
use crate::platform::slot::{Private, Quantum};

/// What a line has learnt.
///
/// | bits | meaning |
/// |---|---|
/// | 0..14 | when the last thread that read the clock came to be first, in units of 8 ns |
/// | 14..26 | how long a thread is first where there are no turns, in the same units: a hand-over, and a section |
/// | 26 | whether the thread before has not read the clock |
/// | 27 | whether it is on trial |
/// | 28..32 | credit: how much lately speaks for turns, up to [`Known::SURE`] |
#[derive(Clone, Copy)]
pub(crate) struct Known(u32);

impl Known {
    const UNIT_BITS: u32 = 3;
    const HANDOVER_SHIFT: u32 = 14;
    const CREDIT_SHIFT: u32 = 28;
    const TIME: u32 = (1 << 14) - 1;
    const HANDOVER: u32 = (1 << 12) - 1;
    const NO_CLOCK: u32 = 1 << 26;
    const TRIAL: u32 = 1 << 27;
    /// The highest credit, not all ones: `Osq::unlock_telling` needs the largest number.
    const SURE: u32 = 14;
    /// What a trial that was passed adds.
    const PASSED: u32 = 3;

    /// Returns what the thread before has told.
    pub(crate) fn from_told(told: u32) -> Known {
        Known(told)
    }

    /// Returns what to tell the next thread.
    pub(crate) fn to_tell(self) -> u32 {
        self.0
    }

    fn credit(self) -> u32 {
        self.0 >> Self::CREDIT_SHIFT
    }

    fn handover(self) -> u32 {
        self.0 >> Self::HANDOVER_SHIFT & Self::HANDOVER
    }

    /// Whether a thread is first for so long that it is the sections that take the time, not moving the lock, and not
    /// batches of an owner that came back soon in the last trial.
    pub(crate) fn has_long_sections<P: Platform>(self) -> bool {
        /// In transfers of a line, of which five or six hand over a lock with short sections.
        const LINES: u32 = 10;
        self.has_sections_of(LINES * P::line_ns())
    }

    fn has_sections_of(self, ns: u32) -> bool {
        self.credit() == 0 && self.handover() > 0 && self.handover() << Self::UNIT_BITS >= ns
    }

    /// Whether owners have turns.
    pub(crate) fn has_turns(self) -> bool {
        u64::from(self.credit()) >= policy().turns_after
    }

    /// Returns for how long the owner has the lock to itself, from when it took it and said so.
    pub(crate) fn turn_ns(self) -> u64 {
        if self.has_turns() {
            policy().owner_turn_ns
        } else if self.0 & Self::TRIAL != 0 {
            trial_ns()
        } else {
            0
        }
    }

    /// Adds what a thread knows that came to be first at about `now`; `None`: it has not read the clock.
    pub(crate) fn and<P: Platform>(self, now: Option<u64>, turn: OwnTurn<'_>) -> Known {
        let before = self.0 & Self::TIME;
        let no_clock = if now.is_none() { Self::NO_CLOCK } else { 0 };
        let now = now.map_or(before, |now| (now >> Self::UNIT_BITS) as u32 & Self::TIME);
        let handover = if self.0 == 0 || (self.0 | no_clock) & Self::NO_CLOCK != 0 || self.turn_ns() > 0 {
            self.handover()
        } else {
            self.handover_with(now.wrapping_sub(before) & Self::TIME)
        };
        let credit = self.credit_with(turn.would_have_gone_on::<P>(u64::from(handover) << Self::UNIT_BITS));
        // One trial each time that the clock of this word has gone round.
        let trial = if handover > 0 && now < before { Self::TRIAL } else { 0 };
        Known(credit << Self::CREDIT_SHIFT | trial | no_clock | handover << Self::HANDOVER_SHIFT | now)
    }

    fn handover_with(self, took: u32) -> u32 {
        let new = match self.handover() {
            0 => took,
            old => old + took.min(2 * old) / 8 - old / 8,
        };
        new.min(Self::HANDOVER)
    }

    fn credit_with(self, would_have_gone_on: Option<bool>) -> u32 {
        let (old, turns) = (self.credit(), self.has_turns());
        let new = match would_have_gone_on {
            None => old,
            Some(true) => (old + if turns { 1 } else { Self::PASSED }).min(Self::SURE),
            Some(false) if turns => old.saturating_sub(1),
            Some(false) => 0,
        };
        // Where there are no more turns, it takes as many trials again as in the beginning.
        if turns && u64::from(new) < policy().turns_after { 0 } else { new }
    }
}

/// Returns for how long the owner has the lock to itself in a trial.
fn trial_ns() -> u64 {
    policy().owner_turn_ns / 4
}

/// Returns bits of the address of a lock, not 0.
fn tag<P: Platform>(address: usize) -> u16 {
    (P::name_of(address) >> 1) as u16 | 1
}

/// What a thread knows, at the beginning of a wait, about the last turn or trial that it had.
#[derive(Clone, Copy)]
pub(crate) struct OwnTurn<'a> {
    private: &'a Private,
    lock: u16,
    /// How long ago its turn with this lock ended, negative if it is not over; `None`: it had none when it last stood
    /// in line, or has waited since.
    over_ns: Option<i32>,
    /// How long ago it left this lock to a thread that had claimed it, if it has not waited since.
    left_ns: Option<u32>,
    begin: u64,
}

impl<'a> OwnTurn<'a> {
    /// Begins a wait at `now` for the lock at `address`. The note of the last turn is torn off: what this wait tells of
    /// it, a later one does not.
    pub(crate) fn of<P: Platform>(private: &'a Private, address: usize, now: u64) -> Self {
        let lock = tag::<P>(address);
        let over = (private.turn_of.get() == lock).then(|| (now as u32).wrapping_sub(private.turn_end.get()));
        private.turn_of.set(0);
        let (over_ns, left_ns) =
            if private.turn_claimed.get() { (None, over) } else { (over.map(|ns| ns as i32), None) };
        OwnTurn { private, lock, over_ns, left_ns, begin: now }
    }

    /// Notes that the thread has left the lock at `address` to one that had claimed it, at `now`.
    pub(crate) fn leaves<P: Platform>(private: &Private, address: usize, now: u64) {
        private.turn_of.set(tag::<P>(address));
        private.turn_end.set(now as u32);
        private.turn_claimed.set(true);
    }

    /// Whether the thread left the lock to one that had claimed it, and is back as soon as an owner that has turns.
    pub(crate) fn would_take_it_back(self) -> bool {
        self.left_ns.is_some_and(|left_ns| u64::from(left_ns) < policy().owner_turn_ns)
    }

    /// Whether it came back so soon that it would have gone on; `None`: not known.
    ///
    /// Turns pay if a round of a thread alone, from section to section, takes less than a hand-over. Who makes such
    /// rounds is back, on average, half a round after its turn, and later by what the next thread needs to take the
    /// lock and this one to find it taken: no more than half a hand-over, nor than a few lines and the beginning of a
    /// wait. A trial must have room for more than one round. If the turn is not over, another took the lock in it, and
    /// nothing is known.
    fn would_have_gone_on<P: Platform>(self, handover_ns: u64) -> Option<bool> {
        /// What reading the clock and beginning a wait take.
        const BEGIN_NS: u64 = 200;
        /// How many lines come from other CPUs meanwhile.
        const LINES: u64 = 2;
        let (half, found_ns) = (handover_ns / 2, BEGIN_NS + LINES * u64::from(P::line_ns()));
        let round_ns = (half + half.min(found_ns)).min(trial_ns());
        self.over_ns.filter(|&over_ns| over_ns >= 0).map(|over_ns| i64::from(over_ns) < round_ns as i64)
    }

    /// Returns when the turn ends that the thread is in, if it is in one.
    pub(crate) fn end(self) -> Option<u64> {
        self.over_ns.filter(|&over_ns| over_ns < 0).map(|over_ns| self.begin + u64::from(over_ns.unsigned_abs()))
    }

    /// Goes on with the turn, in which the thread has the lock again.
    pub(crate) fn goes_on(self) {
        self.private.turn_of.set(self.lock);
    }

    /// Notes that the thread took the lock at `now`, and has it for itself for so long.
    pub(crate) fn begins(self, now: u64, turn_ns: u64) {
        if turn_ns > 0 {
            // Standing in line was part of its quantum on the CPU, however long it took.
            self.private.quantum.set(Quantum { seen: now + turn_ns, ..self.private.quantum.get() });
        }
        self.private.turn_of.set(if turn_ns > 0 { self.lock } else { 0 });
        self.private.turn_end.set((now + turn_ns) as u32);
        self.private.turn_claimed.set(false);
    }
}

#[cfg(all(test, feature = "native"))]
mod tests {
    use super::*;
    use crate::platform::{Bare, Native};

    const HANDOVER_NS: u64 = 400;

    /// A line of threads that come back so long after their turns: what it knows after `count` hand-overs.
    fn line(mut known: Known, over_ns: u64, count: u32) -> Known {
        let private = Private::new();
        let mut now = 1_000_000;
        for _ in 0..count {
            let turn_ns = known.turn_ns();
            OwnTurn::of::<Native>(&private, 64, now).begins(now, turn_ns);
            now += turn_ns + HANDOVER_NS;
            known = known.and::<Native>(Some(now), OwnTurn::of::<Native>(&private, 64, now - HANDOVER_NS + over_ns));
        }
        known
    }

    #[test]
    fn a_line_has_turns_after_three_trials_whose_owners_were_back_soon_and_until_they_are_not() {
        let nothing = Known::from_told(0);
        assert_eq!(nothing.turn_ns(), 0);
        let round = (1 << (Known::UNIT_BITS + Known::TIME.count_ones())) / HANDOVER_NS as u32;
        assert!(!line(nothing, HANDOVER_NS / 2, 2 * round).has_turns(), "it takes three trials");
        let quick = line(nothing, HANDOVER_NS / 2, 4 * round);
        assert_eq!(quick.turn_ns(), policy().owner_turn_ns);
        assert_eq!(u64::from(quick.handover()) << Known::UNIT_BITS, HANDOVER_NS);
        assert!(line(quick, HANDOVER_NS / 2, 1000).has_turns());
        assert!(!line(quick, 2 * HANDOVER_NS, 20).has_turns());
        // Miri takes minutes for a hundred.
        let rounds = if cfg!(miri) { 4 } else { 100 };
        assert!(!line(nothing, 2 * HANDOVER_NS, rounds * round).has_turns());
    }

    #[test]
    fn turns_do_not_pay_where_a_round_alone_takes_longer_than_a_hand_over() {
        let private = Private::new();
        let back_after = |over_ns: u64| {
            OwnTurn::of::<Native>(&private, 64, 0).begins(1_000_000, 2_000);
            OwnTurn::of::<Native>(&private, 64, 1_002_000 + over_ns)
        };
        // A section of 1000 ns, and as long outside: a hand-over takes 1350, and half a round 1000. On a platform
        // without lines, since what those cost here other tests learn.
        assert_eq!(back_after(1_000).would_have_gone_on::<Bare>(1_350), Some(false));
        assert_eq!(back_after(600).would_have_gone_on::<Bare>(1_350), Some(true));
    }

    #[test]
    fn sections_are_long_if_a_thread_is_first_for_long_and_no_trial_was_passed() {
        let known = |handover_ns: u32, credit: u32| {
            Known(credit << Known::CREDIT_SHIFT | (handover_ns >> Known::UNIT_BITS) << Known::HANDOVER_SHIFT)
        };
        assert!(known(32_000, 0).has_sections_of(32_000));
        assert!(!known(32_000, 0).has_sections_of(32_001));
        assert!(!known(32_000, Known::PASSED).has_sections_of(32_000), "these may be batches of one owner");
        assert!(!known(0, 0).has_long_sections::<Bare>(), "nothing is known");
    }

    #[test]
    fn what_a_line_knows_is_never_the_largest_number() {
        let full = Known(Known::SURE << Known::CREDIT_SHIFT | u32::MAX >> 4);
        for now in [0, 7, 8, 1 << 16, u64::MAX] {
            let private = Private::new();
            assert_ne!(full.and::<Native>(Some(now), OwnTurn::of::<Native>(&private, 64, now)).to_tell(), u32::MAX);
        }
    }

    #[test]
    fn a_turn_is_of_one_lock_and_ends() {
        let private = Private::new();
        let after = |address: usize, now: u64| {
            OwnTurn::of::<Native>(&private, 64, 1000).begins(1000, 500);
            OwnTurn::of::<Native>(&private, address, now)
        };
        assert_eq!(after(64, 1100).end(), Some(1500));
        assert_eq!(after(64, 1100).would_have_gone_on::<Native>(400), None, "it is not over");
        assert_eq!(after(128, 1100).end(), None);
        assert_eq!(after(64, 1500).end(), None);
        assert_eq!(after(64, 1500).would_have_gone_on::<Native>(400), Some(true));
        OwnTurn::of::<Native>(&private, 64, 1600).begins(1600, 0);
        assert_eq!(OwnTurn::of::<Native>(&private, 64, 1601).would_have_gone_on::<Native>(400), None);
    }

    #[test]
    fn who_left_the_lock_to_a_claimant_would_take_it_back_if_it_comes_soon() {
        let private = Private::new();
        let back_after = |ns: u64, address: usize| {
            OwnTurn::of::<Native>(&private, 64, 1000).begins(1000, 500);
            OwnTurn::leaves::<Native>(&private, 64, 1200);
            OwnTurn::of::<Native>(&private, address, 1200 + ns)
        };
        let turn = back_after(0, 64);
        assert!(turn.would_take_it_back());
        assert_eq!(turn.end(), None, "its turn is over");
        assert_eq!(turn.would_have_gone_on::<Native>(400), None, "and tells nothing");
        assert!(!back_after(policy().owner_turn_ns, 64).would_take_it_back(), "it came late");
        assert!(!back_after(0, 128).would_take_it_back(), "this is another lock");
        OwnTurn::of::<Native>(&private, 64, 2000).begins(2000, 500);
        assert!(!OwnTurn::of::<Native>(&private, 64, 2500).would_take_it_back(), "nobody claimed it since");
    }

    #[test]
    fn a_turn_tells_one_wait_alone_unless_it_goes_on() {
        let private = Private::new();
        let wait = |now| OwnTurn::of::<Native>(&private, 64, now);
        wait(1000).begins(1000, 500);
        wait(1100).goes_on();
        assert_eq!(wait(1600).would_have_gone_on::<Native>(400), Some(true));
        // It stood in line, gave up, slept, and comes again: that it was away says nothing about its turn.
        assert_eq!(wait(90_000).would_have_gone_on::<Native>(400), None);
    }
}
