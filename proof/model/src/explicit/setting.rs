//! How large a check is, and what its machine is like.

use crate::platform::Identity;

/// How large a check is: its threads, and how often in all the environment may act on them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    /// Threads, or the number that the check sets.
    pub threads: usize,
    /// How often each thread does its part.
    pub rounds: u32,
    /// The clock jumps past the hand-off bound as it is read.
    pub jumps: u8,
    /// A sleeper's deadline passes.
    pub timeouts: u8,
    /// A sleeper is interrupted by a signal.
    pub interrupts: u8,
    /// A sleeper returns as if woken.
    pub unwoken: u8,
    /// The process forks, and the child continues, with one thread.
    pub forks: u8,
    /// The first thread is stopped for ever in its wait; then the next deadline passes where nothing else can happen.
    pub stops: u8,
}

impl Size {
    /// Returns a check of these threads and rounds, in which nothing else happens.
    pub const fn of(threads: usize, rounds: u32) -> Size {
        Size { threads, rounds, jumps: 0, timeouts: 0, interrupts: 0, unwoken: 0, forks: 0, stops: 0 }
    }

    /// Reads threads x rounds, and what else may happen: each word allows it once more.
    pub(crate) fn read(words: &str) -> Size {
        let mut words = words.split(' ');
        let base = words.next().and_then(|base| base.split_once('x'));
        let base = base.and_then(|(threads, rounds)| Some(Size::of(threads.parse().ok()?, rounds.parse().ok()?)));
        let mut size = base.expect("a size begins with threads x rounds");
        for word in words {
            match word {
                "late" => size.jumps += 1,
                "timed" => size.timeouts += 1,
                // One sleeper is interrupted, and one returns as if woken.
                "spurious" => (size.interrupts, size.unwoken) = (1, 1),
                "forked" => size.forks += 1,
                "stopped" => size.stops += 1,
                _ => panic!("no such word of a size: {word}"),
            }
        }
        size
    }
}

/// What the machine is like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Machine {
    /// What identity the threads have for the locks.
    pub identity: Identity,
    /// CPUs that the locks see.
    pub cpus: u32,
    /// Spins with a limit may end without success.
    pub spins_end: bool,
    /// An owner may be found off its CPU.
    pub owners_leave: bool,
    /// Threads may rely on deadlines that pass to make progress: a thread may have vanished, or never comes.
    pub time_helps: bool,
    /// Threads poll from time to time: if nothing else can happen, the next deadline passes.
    pub naps_end: bool,
    /// Threads write into each other's stacks: a step may change all of them.
    pub stacks_are_shared: bool,
}

impl Machine {
    /// Threads that spin and sleep.
    pub const SPINS: Machine = Machine {
        identity: Identity::Full,
        cpus: 2,
        spins_end: true,
        owners_leave: false,
        time_helps: false,
        naps_end: false,
        stacks_are_shared: false,
    };

    /// Returns [`Machine::SPINS`] with what these words change.
    pub(crate) fn of(words: &str) -> Machine {
        let mut machine = Machine::SPINS;
        for word in words.split(' ') {
            match word {
                "spins" => {}
                // Threads without slots sleep at once.
                "sleeps" => machine.identity = Identity::NoSlot,
                "nameless" => machine.identity = Identity::Anonymous,
                "patient" => machine.spins_end = false,
                "leaves" => machine.owners_leave = true,
                "timely" => machine.time_helps = true,
                "naps" => machine.naps_end = true,
                "stacks-shared" => machine.stacks_are_shared = true,
                _ => panic!("no such word of a machine: {word}"),
            }
        }
        machine
    }
}
