//! What threads do with the table: each scene is run by loom and by the explicit-state checks.

use super::{Machine, Parking};
use crate::explicit::Size;
use crate::platform::{saw, saw_if};
use crate::scenarios::Stage;
use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;
use turnwise::platform::{Clock, Deadline, IntWord, Lane, Parked, Word};

/// What the threads of a scene share.
struct Scene<P: Machine, T> {
    table: T,
    words: [P::U32; 2],
    /// Threads that were woken, as they know themselves.
    woken: Cell<u32>,
    /// Threads that were woken, as wake-ups report.
    said: Cell<u32>,
}

/// A deadline that comes only when the machine lets it.
const SOON: Deadline = Deadline { clock: Clock::Monotonic, at: 20_000_000 };

impl<P: Machine, T: Parking<P>> Scene<P, T> {
    fn on(stage: &impl Stage<P = P>) -> &'static Self {
        let word = || P::U32::new(0);
        stage.keep(Scene { table: T::new(), words: [word(), word()], woken: Cell::new(0), said: Cell::new(0) })
    }

    /// Sleeps until a word has this bit.
    fn wait(&self, place: usize, bit: u32, lane: Lane) {
        loop {
            let value = self.words[place].load(Relaxed);
            if value & bit != 0 {
                return;
            }
            self.table.park(&self.words[place], value, lane, None);
        }
    }

    /// Gives a word this bit, and wakes.
    fn tell(&self, place: usize, bit: u32, lane: Lane, count: u32) {
        self.words[place].fetch_or(bit, Relaxed);
        self.wake(place, lane, count);
    }

    fn wake(&self, place: usize, lane: Lane, count: u32) {
        let woken = self.table.wake(&self.words[place], lane, count);
        assert!(woken <= count, "{woken} are woken, of {count} at most");
        self.said.set(self.said.get() + woken);
        saw_if(woken > 0, "woke");
        saw_if(woken > 1, "woke several");
    }

    /// Parks once, with a deadline.
    fn park(&self, lane: Lane) -> Parked {
        let parked = self.table.park(&self.words[0], 0, lane, Some(SOON));
        match parked {
            Parked::Woken => self.woken.set(self.woken.get() + 1),
            Parked::TimedOut => saw("gave up"),
            other => assert_eq!(other, Parked::Changed),
        }
        parked
    }

    /// Takes one of the tokens that the first word counts; returns whether there was one.
    fn take(&self) -> bool {
        let tokens = self.words[0].load(Relaxed);
        tokens > 0 && self.words[0].compare_exchange(tokens, tokens - 1, Relaxed, Relaxed).is_ok()
    }

    /// Gives a token back, and wakes one.
    fn give(&self) {
        self.words[0].fetch_add(1, Relaxed);
        self.wake(0, Lane::Waiters, 1);
    }
}

/// Returns the scene of this name.
pub(crate) fn scene<S: Stage<P: Machine>, T: Parking<S::P>>(name: &str) -> fn(&S, Size) {
    named! { name:
        pass = pass::<S, T>, change = change::<S, T>, lanes = lanes::<S, T>, counts = counts::<S, T>,
        token = token::<S, T>, words = words::<S, T>,
    }
}

/// All threads but one sleep until the last changes their word and wakes them all.
fn change<S: Stage<P: Machine>, T: Parking<S::P>>(stage: &S, size: Size) {
    let scene = Scene::<S::P, T>::on(stage);
    for _ in 1..size.threads {
        stage.spawn(move || scene.wait(0, 1, Lane::Readers));
    }
    stage.spawn(move || scene.tell(0, 1, Lane::Readers, u32::MAX));
}

/// Two threads pass a word to each other, `rounds` times.
fn pass<S: Stage<P: Machine>, T: Parking<S::P>>(stage: &S, size: Size) {
    let scene = Scene::<S::P, T>::on(stage);
    for mine in 0..2 {
        stage.spawn(move || {
            for _ in 0..size.rounds {
                while scene.words[0].load(Relaxed) != mine {
                    scene.table.park(&scene.words[0], 1 - mine, Lane::Waiters, None);
                }
                scene.words[0].store(1 - mine, Relaxed);
                scene.wake(0, Lane::Waiters, 1);
            }
        });
    }
}

/// One thread sleeps on the second word, all others but one on the first. The last wakes the one and then the others,
/// all of them and no more.
fn words<S: Stage<P: Machine>, T: Parking<S::P>>(stage: &S, size: Size) {
    let scene = Scene::<S::P, T>::on(stage);
    for thread in 1..size.threads {
        stage.spawn(move || scene.wait(usize::from(thread == 1), 1, Lane::Waiters));
    }
    let others = u32::try_from(size.threads - 2).expect("a scene has few threads");
    stage.spawn(move || {
        scene.tell(1, 1, Lane::Waiters, 1);
        scene.tell(0, 1, Lane::Waiters, others);
    });
}

/// Two threads sleep in two lanes of one word, and each is woken by itself.
fn lanes<S: Stage<P: Machine>, T: Parking<S::P>>(stage: &S, _size: Size) {
    const LANES: [(u32, Lane); 2] = [(1, Lane::First), (2, Lane::Waiters)];
    let scene = Scene::<S::P, T>::on(stage);
    for (bit, lane) in LANES {
        stage.spawn(move || scene.wait(0, bit, lane));
    }
    stage.spawn(move || LANES.into_iter().for_each(|(bit, lane)| scene.tell(0, bit, lane, 1)));
}

/// The number woken is what the wake-ups report, even if waits time out.
fn counts<S: Stage<P: Machine>, T: Parking<S::P>>(stage: &S, size: Size) {
    let scene = Scene::<S::P, T>::on(stage);
    for _ in 1..size.threads {
        stage.spawn(move || _ = scene.park(Lane::Waiters));
    }
    stage.spawn(move || (1..3).for_each(|count| scene.wake(0, Lane::Waiters, count)));
    stage.at_end(move || assert_eq!(scene.woken.get(), scene.said.get(), "woken, and woken as wake-ups say"));
}

/// One waits for the token for a while and, if it gets it, gives it back; one waits until it has it.
fn token<S: Stage<P: Machine>, T: Parking<S::P>>(stage: &S, _size: Size) {
    let scene = Scene::<S::P, T>::on(stage);
    stage.spawn(move || {
        loop {
            if scene.take() {
                saw("got it in time");
                return scene.give();
            }
            if scene.park(Lane::Waiters) == Parked::TimedOut {
                return;
            }
        }
    });
    stage.spawn(move || {
        while !scene.take() {
            scene.table.park(&scene.words[0], 0, Lane::Waiters, None);
        }
    });
    stage.spawn(move || scene.give());
}
