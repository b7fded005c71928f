//! A check: a lock, threads that use it, and what must hold in all of their interleavings.

pub(super) use super::machine::{Record, bury, choose, clock, fork, is_stopped, leave, stoppable};
use super::memory::{Fiber, scrub};
use super::search::{Found, Search};
use super::setting::{Machine, Size};
use super::{Explicit, machine};
use crate::check::{Failure, Outcome, Width, quietly};
use crate::lab::{self, Mutation};
use crate::platform;
use crate::scenarios::Stage;
use std::cell::{Cell, RefCell};
use std::time::Instant;

/// A check.
#[derive(Clone, Copy)]
pub struct Check {
    /// What it shows, in a few words.
    pub name: &'static str,
    /// The machine.
    pub machine: Machine,
    /// The bounded and the wide run.
    pub sizes: (Size, Size),
    /// Rare lines that some interleaving must enter.
    pub shows: &'static [&'static str],
    /// Makes the objects and the threads.
    pub body: Body,
}

/// What makes the objects and the threads.
pub type Body = &'static (dyn Fn(&CheckSetup, Size) + Send + Sync);

/// States that a bounded and a wide run may have.
const STATES: (usize, usize) = (24_000_000, 40_000_000);

/// States that a bounded run of a mutant may have: a fault shows soon, or another check shows it.
const STATES_OF_A_MUTANT: usize = 1_000_000;

/// Where a check puts its objects and threads. None of them may own memory outside the arena.
pub struct CheckSetup {
    /// Each thread, and whether it begins after a fork.
    bodies: RefCell<Vec<(Fiber, bool)>>,
    end: RefCell<Option<Box<dyn Fn()>>>,
}

impl Stage for CheckSetup {
    type P = Explicit;

    /// Puts `value` where all threads see it, and where it is part of the state.
    fn keep<T: 'static>(&self, value: T) -> &'static T {
        machine::keep(value)
    }

    /// Adds a thread. Whatever is on its stack while others run must own nothing.
    fn spawn(&self, body: impl FnOnce() + Copy + 'static) {
        self.add(body, false);
    }

    /// Sets what must hold when all threads are done.
    fn at_end(&self, holds: impl Fn() + 'static) {
        *self.end.borrow_mut() = Some(Box::new(holds));
    }
}

impl CheckSetup {
    /// Adds a thread that runs `round` `rounds` times, each on a clean stack.
    pub fn spawn_rounds(&self, rounds: u32, round: impl Fn() + Copy + 'static) {
        self.spawn(move || {
            for _ in 0..rounds {
                scrub();
                round();
            }
        });
    }

    /// Adds this many threads of that kind.
    pub fn spawn_many(&self, threads: usize, rounds: u32, round: impl Fn() + Copy + 'static) {
        (0..threads).for_each(|_| self.spawn_rounds(rounds, round));
    }

    /// Adds this many threads that a forked child starts.
    pub fn spawn_in_child(&self, threads: usize, body: impl FnOnce() + Copy + 'static) {
        (0..threads).for_each(|_| self.add(body, true));
    }

    fn add(&self, body: impl FnOnce() + Copy + 'static, later: bool) {
        let fiber = Fiber::new(move |suspend| {
            machine::begun(suspend);
            body();
        });
        self.bodies.borrow_mut().push((fiber, later));
    }

    /// Calls `watch` for each operation as it is done.
    pub(super) fn watch(&self, watch: impl Fn(&Record) + 'static) {
        machine::watch(Box::new(watch));
    }

    /// Keeps `value`, which inspects each operation as it is done.
    pub(super) fn keep_watched<T: 'static>(&self, value: T, watch: fn(&T, &Record)) -> &'static T {
        let kept = self.keep(value);
        self.watch(move |record| watch(kept, record));
        kept
    }

    /// Does something as one of the threads, before they start.
    pub fn before(&self, thread: usize, what: impl FnOnce()) {
        machine::act(thread, what);
    }
}

impl Check {
    /// Runs it, with these changes to the lock.
    pub fn run(&self, width: Width, mutations: &[Mutation]) -> Outcome {
        let (size, limit) = match width {
            Width::Wide => (self.sizes.1, STATES.1),
            Width::Bounded if mutations.is_empty() => (self.sizes.0, STATES.0),
            Width::Bounded => (self.sizes.0, STATES_OF_A_MUTANT),
        };
        lab::start(mutations);
        platform::take_seen();
        let start = Instant::now();
        let mut found = Found::default();
        let large = Cell::new(false);
        let result = quietly(|| self.search(size, limit, &large, &mut found));
        let seen = platform::take_seen();
        let missing = || self.shows.iter().find(|what| !seen.contains(*what)).copied();
        let failure = Failure::of(result, large.get(), machine::trace, missing);
        machine::finish();
        let (tried, extent) = (found.states as u64, Some((found.steps, found.depth)));
        Outcome { name: self.name, tried, extent, elapsed: start.elapsed(), places: lab::places(), seen, failure }
    }

    fn search(&self, size: Size, limit: usize, large: &Cell<bool>, found: &mut Found) {
        machine::start(self.machine, size);
        let stage = CheckSetup { bodies: RefCell::default(), end: RefCell::default() };
        (self.body)(&stage, size);
        let (fibers, later): (Vec<_>, Vec<_>) = stage.bodies.into_inner().into_iter().unzip();
        machine::ready(&later, size);
        let end = stage.end.into_inner();
        Search::new(self.machine, fibers, found).run(limit, large, &|| end.iter().for_each(|holds| holds()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Cause;
    use crate::explicit::ExplicitWord;
    use crate::explicit::checks::Section;
    use crate::scenarios::{Section as _, Who::Writer};
    use std::sync::atomic::Ordering::Relaxed;
    use turnwise::platform::{IntWord, Lane, Pause, Platform, SpinLimit, Word};

    type Word32 = ExplicitWord<u32>;

    fn run(body: fn(&CheckSetup, Size)) -> Outcome {
        let sizes = (Size::of(2, 3), Size::of(2, 3));
        let machine = Machine::SPINS;
        Check { name: "test", machine, sizes, shows: &[], body: Box::leak(Box::new(body)) }.run(Width::Bounded, &[])
    }

    fn fails(body: fn(&CheckSetup, Size), with: &str) {
        let failure = run(body).failure.expect("the check fails");
        assert!(failure.cause == Cause::Wrong && failure.message.contains(with), "{failure}");
    }

    #[test]
    fn all_interleavings_are_visited_once() {
        let outcome = run(|stage, size| {
            for _ in 0..size.threads {
                let own = stage.keep(Word32::new(0));
                stage.spawn(move || (0..size.rounds).for_each(|_| _ = own.fetch_add(1, Relaxed)));
            }
        });
        assert!(outcome.failure.is_none());
        assert_eq!((outcome.tried, outcome.extent.unwrap().0), (16, 24));
    }

    #[test]
    fn a_lost_update_is_found() {
        fails(
            |stage, size| {
                let word = stage.keep(Word32::new(0));
                for _ in 0..size.threads {
                    stage.spawn(move || word.store(word.load(Relaxed) + 1, Relaxed));
                }
                stage.at_end(move || assert_eq!(word.peek(), 2, "an update is lost"));
            },
            "an update is lost",
        );
    }

    #[test]
    fn two_owners_at_a_time_are_found() {
        fails(
            |stage, _| {
                let (word, section) = (stage.keep(Word32::new(0)), stage.keep(Section::new()));
                for _ in 0..2 {
                    stage.spawn(move || {
                        word.store(1, Relaxed); // whether it is taken or not
                        section.alone();
                        section.leave(Writer);
                        word.store(0, Relaxed);
                    });
                }
            },
            "inside: 2 writers",
        );
    }

    #[test]
    fn a_lost_wake_up_is_found_even_if_time_would_help() {
        fails(
            |stage, _| {
                let word = stage.keep(Word32::new(0));
                stage.spawn(move || {
                    if word.load(Relaxed) == 0 {
                        Explicit::park(word, 1, Lane::Waiters, None);
                        Explicit::park(word, 0, Lane::Waiters, None);
                    }
                });
                stage.spawn(move || {
                    Explicit::wake(word, Lane::Waiters, 1);
                });
            },
            "nobody gets on; thread 0 sleeps",
        );
    }

    #[test]
    fn threads_that_go_round_in_circles_are_found() {
        fails(
            |stage, _| {
                let word = stage.keep(Word32::new(0));
                let limit = SpinLimit { until: Some(9), ..SpinLimit::NONE };
                stage.spawn(move || while Explicit::spin_until(word, |value| value == 1, limit).is_err() {});
                stage.spawn(move || word.store(2, Relaxed));
            },
            "no way leads to an end from here on",
        );
    }

    #[test]
    fn a_use_after_the_end_is_found() {
        fails(
            |stage, _| {
                let word = stage.keep(Word32::new(0));
                stage.spawn(move || {
                    word.store(1, Relaxed);
                    bury(word);
                });
                stage.spawn(move || _ = word.load(Relaxed));
            },
            "after it was freed",
        );
    }

    #[test]
    fn a_loop_that_saw_a_word_change_looks_again() {
        let outcome = run(|stage, _| {
            let word = stage.keep(Word32::new(0));
            stage.spawn(move || {
                while word.load(Relaxed) != 1 {
                    let _ = word.compare_exchange(7, 8, Relaxed, Relaxed);
                    Explicit::pause(Pause::Relax);
                }
            });
            stage.spawn(move || word.store(1, Relaxed));
        });
        assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
    }
}
