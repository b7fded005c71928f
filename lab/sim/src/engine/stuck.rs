//! A run that makes no progress: which thread has what, and which waits for what.

use super::Engine;
use super::thread::At;
use crate::spec::NS;
use std::fmt::{self, Write};

/// What is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StuckKind {
    /// Some threads wait, and nothing will ever happen.
    Deadlock,
    /// Things happen, but no thread completes an operation.
    Livelock,
    /// Some threads complete operations, but one waits longer than allowed.
    Starvation,
}

impl fmt::Display for StuckKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StuckKind::Deadlock => "deadlock",
            StuckKind::Livelock => "livelock",
            StuckKind::Starvation => "starvation",
        })
    }
}

/// A run that makes no progress.
#[derive(Debug)]
pub struct Stuck {
    /// What is wrong.
    pub kind: StuckKind,
    /// When it was noticed, in simulated nanoseconds.
    pub at_ns: u64,
    /// The seed that reproduces it.
    pub seed: u64,
    /// Which thread has what, and which waits for what, line by line.
    pub who: String,
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {} ns, seed {}\n{}", self.kind, self.at_ns, self.seed, self.who)
    }
}

impl std::error::Error for Stuck {}

/// Threads that a report names; the rest is counted.
const NAMED: usize = 32;

impl Engine {
    pub(super) fn stuck(&self, kind: StuckKind, seed: u64) -> Stuck {
        Stuck { kind, at_ns: self.now / NS, seed, who: self.describe() }
    }

    fn describe(&self) -> String {
        let mut text = String::new();
        for known in self.locks.iter().filter(|known| !known.holders.is_empty()) {
            let holders: Vec<_> = known.holders.iter().take(NAMED).map(|t| format!("thread {t}")).collect();
            let _ = writeln!(text, "{} is held by {}", known.name, holders.join(", "));
        }
        let waits = |&(_, t): &(usize, &super::Thread)| t.at != At::Ended;
        let waiting: Vec<_> = self.threads.iter().enumerate().filter(waits).collect();
        for &(number, thread) in waiting.iter().take(NAMED) {
            let _ = writeln!(text, "thread {number} {}", self.describe_thread(thread));
        }
        if waiting.len() > NAMED {
            let _ = writeln!(text, "and {} more threads", waiting.len() - NAMED);
        }
        text
    }

    fn describe_thread(&self, thread: &super::Thread) -> String {
        let place = |at: Option<&std::panic::Location<'_>>| {
            at.map_or(String::new(), |at| format!(" at {}:{}", at.file(), at.line()))
        };
        let mut text = match thread.at {
            At::Asleep { word: Some(word), .. } => {
                format!("sleeps on {}{}", self.name_of(word), place(thread.parked_at))
            }
            At::Asleep { word: None, .. } => format!("sleeps{}", place(thread.parked_at)),
            At::Ready => format!("is ready, on CPU {}", thread.cpu),
            At::Running => {
                let doing = self.cpus[thread.cpu as usize].doing;
                let what = if thread.watch.is_some() { "spins" } else { "runs" };
                format!("{what} on CPU {}{}", thread.cpu, place(doing.at()))
            }
            At::Ended => "has ended".to_owned(),
        };
        thread.sections.describe(&mut text);
        if let Some((lock, since)) = thread.asks {
            let _ = write!(text, ", asks for {} since {} ns", self.locks[lock as usize].name, since / NS);
        }
        text
    }
}
