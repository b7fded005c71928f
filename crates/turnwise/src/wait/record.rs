//! What a thread learns about its spins, for each lock.

#[cfg_attr(not(doc), expect(unused_imports, reason = "named in comments"))]
use super::Policy;
use super::note::{Note, spins_pay};
use super::{caller_is_late, policy};
use crate::platform::slot::{Private, SpinRecord};
use crate::platform::{OnCpu, Platform, PollBackoff, SpinEnd, Token};
use core::cell::Cell;

/// How long a steady round takes, from one wait for a lock to the next: short enough that the lock changes hands with
/// each section, and long enough that moving it and what it guards is a small part.
const STEADY_NS: core::ops::Range<u32> = 2_000..8_000;

/// How many steady rounds in a row begin looks at once: a program that has such rounds only now and then has fewer.
const ROUNDS: u8 = 16;

/// How many waits look at once then: as few as leave a thread its turns of the CPU ([`super::yield_quantum`] knows of
/// none of these waits).
const LOOKS: u8 = 32;

/// 2^32 divided by the golden ratio: the high bits of a product with it mix all bits of the other factor.
const FIBONACCI: u32 = 0x9e37_79b9;

impl SpinRecord {
    /// Decides whether to spin this time: after failures only now and then.
    fn attempt(&mut self) -> bool {
        self.skip = self.skip.saturating_sub(1);
        self.skip == 0
    }

    fn learn(&mut self, success: bool) {
        self.failures = if success { 0 } else { self.failures.saturating_add(1) };
        self.skip = self.left_out();
        self.rate(success);
    }

    /// Returns how many spins on, after this many failures, the next attempt is; 0: the next one.
    fn left_out(&self) -> u8 {
        let policy = policy();
        match u64::from(self.failures).saturating_sub(policy.skips_forgiven) {
            0 => 0,
            excess => 1 << (excess * 2).min(policy.skip_bits_max),
        }
    }

    /// Returns the record of a thread that knows no more of a lock than its note. A failure that another thread tells
    /// of is not forgiven; and the thread begins at any place in the row of spins that are left out, or none of those
    /// that live for a few sections would ever spin.
    fn of_note(tag: u32, failures: u8, now: u64) -> SpinRecord {
        let least = if failures == 0 { 0 } else { policy().skips_forgiven as u8 + 1 };
        let mut record = SpinRecord { tag, failures: failures.max(least), ..SpinRecord::NEW };
        record.skip = match record.left_out() {
            0 => 0,
            row => 1 + ((now as u32).wrapping_mul(FIBONACCI) >> 24) as u8 % row,
        };
        record
    }

    fn rate(&mut self, success: bool) {
        self.score = ewma(self.score, success);
    }

    /// Decides whether this wait looks at the lock early.
    fn tries_early(&mut self) -> bool {
        let early = self.early_tries_pay();
        if !early {
            self.late = self.late.saturating_sub(policy().early_again as u8);
        }
        early
    }

    fn tried_early(&mut self, success: bool) {
        let policy = policy();
        let (paid, after) = (self.early_tries_pay(), ewma(self.early(), success));
        let dropped = paid && u64::from(after) < policy.early_pays;
        let early = if dropped {
            policy.early_pays.saturating_sub(policy.patient_waits * policy.early_again) as u8
        } else {
            after
        };
        self.late = 255 - early;
    }

    fn early_tries_pay(&self) -> bool {
        u64::from(self.early()) >= policy().early_pays
    }

    /// Learns that a wait begins at `came` without many looks at once, and finds this owner. A thread that comes back
    /// again and again after [`STEADY_NS`], to the same owner, looks at once in the next waits; then two such waits
    /// show whether that is still so.
    fn comes(&mut self, came: u64, owner: Option<Token>) {
        let came = came as u32 | 1;
        let last = core::mem::replace(&mut self.came, came);
        // Between two sections the lock has no owner for a moment.
        let owner = owner.map_or(self.owner, |owner| owner.get() as u16);
        let before = core::mem::replace(&mut self.owner, owner);
        if last == 0 {
            return;
        }
        if !STEADY_NS.contains(&came.wrapping_sub(last)) || owner != before {
            self.steady = 0;
            return;
        }
        self.steady += 1;
        if self.steady == ROUNDS {
            (self.steady, self.came) = (ROUNDS + LOOKS, 0);
        }
    }

    /// Decides whether this wait is one of those that look at once.
    fn takes_looks(&mut self) -> bool {
        let left = self.steady > ROUNDS;
        if left {
            self.steady -= 1;
            if self.steady == ROUNDS {
                self.steady = ROUNDS - 1;
            }
        }
        left
    }

    /// Returns the recent share of waits that ended with the lock within [`Policy::spin_short_ns`]: 255 is all.
    fn early(&self) -> u8 {
        255 - self.late
    }
}

/// Moves a share by an eighth of the way.
fn ewma(share: u8, success: bool) -> u8 {
    if success { share + (255 - share).div_ceil(8) } else { share - share / 8 }
}

/// A thread's notes about one lock.
///
/// A thread has few records, and a lock that it has none of, or no more, is judged by how the first spins on other such
/// locks have ended. Where there are many locks with long sections, each would else cost a budget again and again.
pub(crate) struct SpinHistory<'a> {
    cell: &'a Cell<SpinRecord>,
    record: SpinRecord,
    /// The record of first spins, if this is one.
    firsts: Option<&'a Cell<SpinRecord>>,
}

impl<'a> SpinHistory<'a> {
    pub(crate) fn of<P: Platform>(private: &'a Private, address: usize) -> Self {
        Self::with_note::<P>(private, address, || Note::NOTHING)
    }

    /// Returns the notes on a lock that may have a note itself, for a thread that has none.
    pub(crate) fn with_note<P: Platform>(private: &'a Private, address: usize, note: impl FnOnce() -> Note) -> Self {
        let tag = (P::name_of(address) >> 2) as u32;
        // Fibonacci hashing.
        let cell = &private.spins[tag.wrapping_mul(FIBONACCI) as usize >> 29 & (Private::SPINS - 1)];
        let record = cell.get();
        if record.tag == tag {
            return SpinHistory { cell, record, firsts: None };
        }
        if let Some(failures) = note().failures() {
            return SpinHistory { cell, record: SpinRecord::of_note(tag, failures, P::now()), firsts: None };
        }
        let firsts = &private.first_spins;
        let SpinRecord { failures, skip, .. } = firsts.get();
        SpinHistory { cell, record: SpinRecord { tag, failures, skip, ..SpinRecord::NEW }, firsts: Some(firsts) }
    }

    pub(crate) fn attempt(&mut self) -> bool {
        let yes = self.record.attempt();
        self.cell.set(self.record);
        if let Some(firsts) = self.firsts {
            firsts.set(SpinRecord { skip: self.record.skip, ..firsts.get() });
        }
        yes
    }

    pub(crate) fn learn(&mut self, success: bool) {
        self.record.learn(success);
        self.cell.set(self.record);
        if let Some(firsts) = self.firsts {
            firsts.set(self.record);
        }
    }

    /// Learns from how a spin ended ([`spins_pay`]). The caller's deadline, `limit`, says nothing.
    pub(crate) fn ended<P: Platform, T>(&mut self, end: &Result<T, SpinEnd>, limit: u64, one_owner: bool) {
        self.saw(end.as_ref().err());
        match spins_pay(end, one_owner) {
            _ if caller_is_late::<P, T>(end, limit) => {}
            Some(pays) => self.learn(pays),
            None => {
                self.record.rate(false);
                self.cell.set(self.record);
            }
        }
    }

    /// Returns the number of spins in a row that have failed.
    pub(crate) fn failures(&self) -> u8 {
        self.record.failures
    }

    /// Returns how to stay away in the next wait.
    pub(crate) fn backoff(&mut self) -> PollBackoff {
        let early = self.record.tries_early();
        self.cell.set(self.record);
        if early { PollBackoff::new() } else { PollBackoff::patient() }
    }

    /// Decides whether this wait begins with many looks at once: for a thread whose rounds are steady, but not where
    /// early looks are in vain, and not if its spin is to be left out.
    pub(crate) fn looks_at_once(&mut self) -> bool {
        let looks = self.record.takes_looks();
        if looks {
            self.cell.set(self.record);
        }
        looks && self.record.skip <= 1 && self.record.early_tries_pay()
    }

    /// Learns that this wait begins at `came`, without many looks at once, and finds this owner.
    pub(crate) fn comes(&mut self, came: u64, owner: Option<Token>) {
        self.record.comes(came, owner);
        self.cell.set(self.record);
    }

    /// Learns whether one of many looks at once was in time.
    pub(crate) fn looked_at_once(&mut self, in_time: bool) {
        self.record.tried_early(in_time);
        if in_time {
            return self.learn(true);
        }
        self.cell.set(self.record);
    }

    /// Learns whether an early look found the lock.
    pub(crate) fn tried_early(&mut self, success: bool) {
        self.record.tried_early(success);
        self.cell.set(self.record);
    }

    /// Whether most recent spins ended with the lock: its sections are short.
    pub(crate) fn is_profitable(&self) -> bool {
        u64::from(self.record.score) >= policy().score_pays
    }

    /// Whether `owner` is off its CPU, and the one that `again` finds, too. Where sections are short it was preempted
    /// in one, and runs on if others offer their CPU, which is cheaper than a sleep.
    pub(crate) fn owner_stays_off<P: Platform>(
        &mut self,
        owner: Option<Token>,
        again: impl FnOnce() -> Option<Token>,
    ) -> bool {
        let is_off = |owner: Option<Token>| owner.is_some_and(|owner| P::on_cpu(owner) == OnCpu::NotRunning);
        if !is_off(owner) {
            return false;
        }
        if self.is_profitable() {
            P::offer();
        }
        let stays = is_off(again());
        if stays {
            self.record.rate(false);
            self.cell.set(self.record);
        }
        stays
    }

    /// Decides whether a claimant waits awake: not where sections are long, but for now and then.
    pub(crate) fn stays_awake(&mut self) -> bool {
        let awake = self.record.asleep == 0;
        if !awake {
            self.record.asleep -= 1;
            self.cell.set(self.record);
        }
        awake
    }

    /// Learns whether sections are long, from how a wait for an owner ended; `None`: it has left the lock.
    pub(crate) fn saw(&mut self, end: Option<&SpinEnd>) {
        /// As many claims sleep then as make what the others take a small part.
        const CLAIMS: u8 = 8;
        self.record.asleep = match end {
            Some(SpinEnd::Deadline) => CLAIMS,
            Some(SpinEnd::NotRunning) => return,
            None => 0,
        };
        self.cell.set(self.record);
    }
}

#[cfg(test)]
mod tests {
    use super::{Private, ROUNDS, SpinHistory, SpinRecord};
    use crate::platform::{DefaultPlatform, SpinEnd, Token};
    use core::cell::Cell;

    #[test]
    fn spinning_is_given_up_after_failures_and_tried_again_now_and_then() {
        let mut record = SpinRecord::NEW;
        assert!(record.attempt());
        record.learn(false);
        assert!(record.attempt(), "one failure is forgiven");
        (0..100_000).for_each(|_| record.learn(false));
        let left_out = (0..100).take_while(|_| !record.attempt()).count();
        assert_eq!(left_out, 63);
        record.learn(true);
        assert!(record.attempt());
    }

    #[test]
    fn only_a_budget_spent_on_one_owner_leaves_spins_out() {
        let cell = Cell::new(SpinRecord::NEW);
        let after = |one_owner| {
            let mut history = SpinHistory { cell: &cell, record: SpinRecord::NEW, firsts: None };
            let end: Result<(), _> = Err(SpinEnd::Deadline);
            (0..10).for_each(|_| history.ended::<DefaultPlatform, _>(&end, u64::MAX, one_owner));
            history.attempt()
        };
        assert!(!after(true), "sections are long: a spin is left out");
        assert!(after(false), "the line is long: nothing is known of the sections");
    }

    #[test]
    fn a_lock_without_a_record_is_judged_by_the_first_spins_on_others() {
        let private = Private::new();
        let address = Cell::new(0);
        let next = || {
            // Far enough from each other that none is among the last few.
            address.set(address.get() + 0x1_0004);
            SpinHistory::of::<DefaultPlatform>(&private, address.get())
        };
        let attempts = |locks: usize, success: bool| {
            let spins = (0..locks).filter(|_| {
                let mut history = next();
                let spins = history.attempt();
                if spins {
                    history.learn(success);
                }
                spins
            });
            spins.count()
        };
        assert!(attempts(1000, false) < 20, "sections are long wherever one looks");
        assert!(attempts(200, true) > 100, "and short from here on");
        assert_eq!(attempts(10, true), 10);
    }

    #[test]
    fn a_thread_without_a_record_goes_by_the_locks_note() {
        use super::super::Note;
        let attempts = |failures| (0..1000).filter(|now| SpinRecord::of_note(1, failures, now * 37).attempt()).count();
        assert_eq!(attempts(0), 1000, "spins pay");
        assert!((200..300).contains(&attempts(1)), "one in four: {}", attempts(1));
        assert!((8..24).contains(&attempts(u8::MAX)), "one in 64: {}", attempts(u8::MAX));
        let private = Private::new();
        let failures = |note| SpinHistory::with_note::<DefaultPlatform>(&private, 4, || note).failures();
        assert_eq!(failures(Note::of_failures(3)), 3);
        assert_eq!(failures(Note::NOTHING), 0, "nothing was learnt of other locks");
        SpinHistory::of::<DefaultPlatform>(&private, 4).learn(false);
        assert_eq!(failures(Note::of_failures(3)), 1, "it has a record");
    }

    #[test]
    fn the_score_follows_the_share_of_successes() {
        let mut record = SpinRecord::NEW;
        (0..100).for_each(|_| record.learn(true));
        assert_eq!(record.score, 255);
        record.rate(false);
        assert!(record.score >= 128, "one spin that was given up is forgiven: {}", record.score);
        (0..100).for_each(|_| record.rate(false));
        assert!(record.score < 8, "{}", record.score);
    }

    /// Has a thread begin `waits` waits, one every `round_ns`; returns how many of them look at once.
    fn looks(cell: &Cell<SpinRecord>, waits: u64, round_ns: u64) -> usize {
        looks_behind(cell, waits, round_ns, |_| Token::new(7))
    }

    /// Does the same behind owners that change.
    fn looks_behind(cell: &Cell<SpinRecord>, waits: u64, round_ns: u64, owner: impl Fn(u64) -> Option<Token>) -> usize {
        let begins = |wait: u64| {
            let mut history = SpinHistory { cell, record: cell.get(), firsts: None };
            let looks = history.looks_at_once();
            if !looks {
                history.comes(1_000_000 + wait * round_ns, owner(wait));
            }
            looks
        };
        (0..waits).filter(|&wait| begins(wait)).count()
    }

    #[test]
    fn a_thread_with_steady_rounds_looks_at_once_and_shows_now_and_then_that_they_still_are() {
        let cell = Cell::new(SpinRecord::NEW);
        assert_eq!(looks(&cell, 17, 2_700), 0, "seventeen waits are sixteen rounds");
        assert_eq!(looks(&cell, 3 * 34, 2_700), 3 * 32);
        let cell = Cell::new(SpinRecord::NEW);
        assert_eq!(
            looks_behind(&cell, 1000, 2_700, |wait| Token::new(1 + (wait / 9) as u32)),
            0,
            "one of many threads"
        );
        let free_now_and_then = |wait| Token::new(7).filter(|_| wait % 5 > 0);
        assert!(looks_behind(&cell, 1000, 2_700, free_now_and_then) > 800);
        for too in [300, 1_990, 8_010, 100_000] {
            let cell = Cell::new(SpinRecord::NEW);
            assert_eq!(looks(&cell, 1000, too), 0, "{too}");
        }
    }

    #[test]
    fn rounds_that_are_not_steady_any_more_end_it() {
        let cell = Cell::new(SpinRecord::NEW);
        assert!(looks(&cell, 200, 2_700) > 160);
        assert!(looks(&cell, 100, 500) <= 32, "what was left");
        assert_eq!(looks(&cell, 1000, 500), 0);
        let cell = Cell::new(SpinRecord { skip: 2, steady: ROUNDS + 9, ..SpinRecord::NEW });
        assert_eq!(looks(&cell, 8, 2_700), 0, "these waits will not spin");
    }

    #[test]
    fn a_claimant_stays_awake_unless_sections_are_long_and_finds_out_now_and_then() {
        let cell = Cell::new(SpinRecord::NEW);
        let mut history = SpinHistory { cell: &cell, record: SpinRecord::NEW, firsts: None };
        assert!(history.stays_awake());
        history.saw(Some(&SpinEnd::Deadline));
        history.saw(Some(&SpinEnd::NotRunning));
        let asleep = (0..100).take_while(|_| !history.stays_awake()).count();
        assert_eq!(asleep, 8);
        history.saw(Some(&SpinEnd::Deadline));
        history.saw(None);
        assert!(history.stays_awake());
    }

    #[test]
    fn a_look_in_time_counts_as_a_spin_that_ended_with_the_lock() {
        let cell = Cell::new(SpinRecord { failures: 3, skip: 1, ..SpinRecord::NEW });
        let mut history = SpinHistory { cell: &cell, record: cell.get(), firsts: None };
        history.looked_at_once(true);
        let SpinRecord { failures, skip, score, late, .. } = cell.get();
        assert_eq!((failures, skip, late), (0, 0, 0));
        assert!(score > 0);
        history.looked_at_once(false);
        assert!(cell.get().late > 0);
    }

    #[test]
    fn early_looks_that_fail_are_left_out_and_tried_again_now_and_then() {
        let mut record = SpinRecord::NEW;
        assert!(record.tries_early());
        let failures = (1..).find(|_| {
            record.tried_early(false);
            !record.tries_early()
        });
        assert!((3..=6).contains(&failures.unwrap()), "{failures:?}");
        for _ in 0..3 {
            let patient = 1 + (0..1000).take_while(|_| !record.tries_early()).count();
            assert!((30..=34).contains(&patient), "{patient}");
            record.tried_early(false);
        }
        (0..1000).take_while(|_| !record.tries_early()).for_each(drop);
        (0..20).for_each(|_| record.tried_early(true));
        record.tried_early(false);
        assert!(record.tries_early(), "one failure among successes is forgiven");
    }
}
