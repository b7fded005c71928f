//! `Loom`: the machine that the locks run on under the model checker loom.
//!
//! | what a lock requests | what it gets |
//! |---|---|
//! | words | loom's atomics, with the orderings that the laboratory hands out |
//! | `park`, `wake`, `requeue` | a table of sleepers; no happens-before edge comes with a wake-up |
//! | a deadline of a sleeper | may pass at once ([`Setup::alarms`]) and whenever the sleeper is scheduled |
//! | a limit of a spin | passed when the spinner has polled without success [`Setup::polls`] times |
//! | `Pause::Rest`, a pause between a spin's immediate polls | nothing: time is not what a model is about |
//! | `now` | a counter; it jumps past the hand-off bound at any reading, up to [`Setup::jumps`] times |
//! | `me`, `slot` | slots of this execution |
//! | `Preempt::Off`, `Preempt::On` | counted: a thread that sleeps or ends has it on (but a model's first thread) |
//! | `Preempt::IsDue` | `None`; in a model of a kernel ([`Setup::kernel`]) no, yes, no, yes |
//! | `on_cpu` | `Unknown` |
//! | `Hint::Cpus` | the model's number ([`Setup::cpus`]) |
//! | `generation` | 0, and one more after each [`forked`] |

mod host;
mod memory;
mod park;
mod word;
mod world;

pub use host::{LoomHost, LoomPin, on_charge};
pub use word::{LoomPtr, LoomU32, LoomU64};
pub use world::{Handle, JUMP_NS, THREADS, forked, keep, later, number, rest, saw, saw_if, set_stage, sleeping, spawn};
pub(crate) use world::{finish, start, take_seen, token_of, trace};

use crate::lab;
use std::panic::Location;
use std::sync::atomic::Ordering::Relaxed;
use turnwise::platform::{
    Deadline, Hint, Lane, Me, Parked, Pause, Platform, Preempt, SpinEnd, SpinLimit, ThreadSlot, Token, Word,
};

/// What identity the threads of a model have for the locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Identity {
    /// Each has a token and a slot.
    Full,
    /// Each has a token, but no slot: it cannot queue, and parks at once.
    NoSlot,
    /// None has a token.
    Anonymous,
}

/// Words of which two loads are tried in both orders, too. Loom looks for races only between a store and the last
/// access before it: if that is a load by the storing thread itself, it overlooks the loads of the others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Races {
    /// Where stores and exchanges suffice.
    None,
    /// Pointers.
    Pointers,
    /// Pointers and words of 64 bits.
    Long,
}

/// How the machine behaves in a model.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// The identity of the threads.
    pub identity: Identity,
    /// How often the clock jumps ([`JUMP_NS`]) at most, at any of its first readings.
    pub jumps: u8,
    /// How many sleeps with a deadline are also tried with the time running out at once.
    pub alarms: u8,
    /// One sleeper may return this without having been woken.
    pub spurious: Option<Parked>,
    /// The newest sleeper is woken first, as if each had a higher priority than those before it.
    pub newest_first: bool,
    /// Others run, at no preemption's cost, right before sleepers are moved to another word.
    pub late_requeue: bool,
    /// Polls before a spin with a limit ends.
    pub polls: u32,
    /// CPUs that the locks see.
    pub cpus: u32,
    /// As in a kernel: locks rely on preemption being off, and ask whether they should yield their CPU. Every second
    /// question is answered with yes.
    pub kernel: bool,
    /// Which loads are tried in both orders.
    pub races: Races,
}

impl Setup {
    /// Threads with slots, a clock that does not jump, two polls.
    pub const PLAIN: Setup = Setup {
        identity: Identity::Full,
        jumps: 0,
        alarms: 0,
        spurious: None,
        newest_first: false,
        late_requeue: false,
        polls: 2,
        cpus: 1,
        kernel: false,
        races: Races::None,
    };

    /// Returns [`Setup::PLAIN`] with what these words change.
    pub(crate) fn of(words: &str) -> Setup {
        let mut setup = Setup::PLAIN;
        for word in words.split(' ') {
            match word {
                "plain" => {}
                "no-slot" => setup.identity = Identity::NoSlot,
                "nameless" => setup.identity = Identity::Anonymous,
                // A spin ends after its first poll.
                "hasty" => setup.polls = 1,
                // A spinner still spins when the stage is set.
                "longer" => setup.polls = 6,
                "patient" => setup.polls = u32::MAX,
                "parks" => (setup.identity, setup.polls) = (Identity::NoSlot, 1),
                "late" => setup.jumps += 1,
                "alarm" => setup.alarms += 1,
                "spurious" => setup.spurious = Some(Parked::Woken),
                "interrupted" => setup.spurious = Some(Parked::Interrupted),
                "newest-first" => setup.newest_first = true,
                "late-requeue" => setup.late_requeue = true,
                "two-cpus" => setup.cpus = 2,
                "kernel" => setup.kernel = true,
                "pointer-races" => setup.races = Races::Pointers,
                "long-races" => setup.races = Races::Long,
                _ => panic!("no such word of a machine: {word}"),
            }
        }
        setup
    }
}

/// The model checker as a platform. Only usable inside of a model.
pub struct Loom;

// SAFETY: tokens are numbers of threads, which are not reused within an execution; slots live as long as it.
unsafe impl Platform for Loom {
    type U32 = LoomU32;
    type U64 = LoomU64;
    type Ptr<T: 'static> = LoomPtr<T>;

    #[track_caller]
    fn pause(pause: Pause) {
        let at = Location::caller();
        match pause {
            // A spin's immediate polls are few, and then it continues: a thread that waited here would seldom reach
            // that.
            Pause::Relax if !lab::is_of_spin(at) => {
                lab::visit(at);
                world::spin(at);
            }
            // Time is not what a model is about.
            Pause::Relax | Pause::Rest(_) => lab::visit(at),
            Pause::Yield | Pause::Offer => {
                lab::visit(at);
                rest();
            }
            Pause::Nap(_) => rest(),
        }
    }

    #[track_caller]
    fn spin_until<W: Word>(
        word: &W,
        mut ready: impl FnMut(W::Value) -> bool,
        limit: SpinLimit,
    ) -> Result<W::Value, SpinEnd> {
        let at = Location::caller();
        lab::visit(at);
        for look in 1.. {
            let value = word.load(Relaxed);
            if ready(value) {
                return Ok(value);
            }
            give_up(look, limit)?;
            world::spin(at);
        }
        unreachable!("looks are not counted that far")
    }

    fn preempt(what: Preempt) -> Option<bool> {
        match what {
            Preempt::Off => world::preempt(|depth| depth + 1),
            Preempt::On => {
                world::preempt(|depth| depth.checked_sub(1).expect("preemption is turned on where it is not off"));
            }
            Preempt::IsDue => return world::need_resched(),
        }
        None
    }

    #[track_caller]
    fn park(word: &LoomU32, expected: u32, lane: Lane, deadline: Option<Deadline>) -> Parked {
        park::park(word, expected, lane, deadline)
    }

    #[track_caller]
    fn wake(word: *const LoomU32, lane: Lane, count: u32) -> u32 {
        park::wake(word, lane, count)
    }

    #[track_caller]
    fn requeue(from: &LoomU32, expected: u32, to: *const LoomU32) -> Option<u32> {
        park::requeue(from, expected, to)
    }

    #[track_caller]
    fn now() -> u64 {
        lab::visit(Location::caller());
        world::now()
    }

    fn current() -> Token {
        world::token()
    }

    #[track_caller]
    fn me() -> Option<Me<Self>> {
        lab::visit(Location::caller());
        let full = world::with(|w| w.setup.identity == Identity::Full);
        let token = world::token();
        full.then(|| Me { token, slot: world::slot(token) })
    }

    fn slot(token: Token) -> &'static ThreadSlot<Self> {
        world::slot(token)
    }

    /// Threads are on two nodes alternately.
    fn hint(hint: Hint) -> u32 {
        let cpu = || u32::try_from(number()).expect("models have few threads");
        match hint {
            Hint::Cpu => cpu(),
            Hint::Cpus => world::with(|w| w.setup.cpus),
            Hint::Node => cpu() % 2,
            Hint::LineNs => 0,
        }
    }

    fn generation() -> u32 {
        world::with(|w| w.generation)
    }
}

/// Ends a spin with a limit after its polls.
fn give_up(look: u32, limit: SpinLimit) -> Result<(), SpinEnd> {
    let endless = limit.until.is_none() && limit.owner.is_none();
    if endless || look < world::with(|w| w.setup.polls) {
        return Ok(());
    }
    if limit.owner.is_some() {
        return Err(SpinEnd::NotRunning);
    }
    limit.until.into_iter().for_each(world::advance_to);
    Err(SpinEnd::Deadline)
}
