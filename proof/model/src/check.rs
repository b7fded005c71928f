//! Runs a model: all its executions within the bound, or up to the first that fails.

use crate::lab::{self, Mutation, UseSites};
use crate::lines;
pub use crate::lock::Lock;
use crate::platform::{self, Setup};
use crate::sources::Sources;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A model.
#[derive(Clone, Copy)]
pub struct Model {
    /// What it shows, in a few words.
    pub name: &'static str,
    /// The lock that it is of.
    pub lock: Lock,
    /// The machine.
    pub setup: Setup,
    /// How often a thread may be interrupted where it would not yield by itself: in the bounded and in the wide run.
    pub preemptions: (usize, usize),
    /// What must have happened in some execution, or else the model shows less than it states: events noted by
    /// [`platform::saw`], and rare lines ([`lines`]).
    pub shows: &'static [&'static str],
    /// What the first thread does.
    pub body: Body,
}

/// What the first thread of a model does.
pub type Body = &'static (dyn Fn() + Send + Sync);

/// Which of a model's bounds to use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Width {
    /// Seconds.
    Bounded,
    /// Minutes.
    Wide,
}

impl Width {
    /// Returns [`Width::Wide`] if the environment has `TURNWISE_MODEL_WIDE=1`.
    pub fn from_environment() -> Width {
        if std::env::var_os("TURNWISE_MODEL_WIDE").is_some_and(|v| v == "1") { Width::Wide } else { Width::Bounded }
    }
}

/// The outcome of a run of a model or a check.
#[derive(Debug)]
pub struct Outcome {
    /// Its name.
    pub name: &'static str,
    /// How many executions or states were tried.
    pub tried: u64,
    /// Of a check: steps between states, and the longest way that was taken.
    pub extent: Option<(usize, usize)>,
    /// How long that took.
    pub elapsed: Duration,
    /// The places that the executions reached.
    pub places: UseSites,
    /// What the executions noted.
    pub seen: BTreeSet<&'static str>,
    /// What went wrong in the last execution, if anything did.
    pub failure: Option<Failure>,
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ms = self.elapsed.as_millis();
        match self.extent {
            None => write!(f, "{:>9} executions {ms:>6} ms", self.tried),
            Some((steps, depth)) => {
                write!(f, "{:>9} states {steps:>10} steps, depth {depth:>4}, {ms:>7} ms", self.tried)
            }
        }
    }
}

/// Why a model fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// An execution went wrong.
    Wrong,
    /// No execution went wrong, but none did what the model is about either.
    Empty,
    /// There are too many executions to try.
    TooLarge,
}

/// How a model or a check fails.
#[derive(Debug)]
pub struct Failure {
    /// Why.
    pub cause: Cause,
    /// The message of the failed check.
    pub message: String,
    /// The operations on words, in order: thread, place, operation, value found, value left.
    pub trace: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}\n{}", self.message, self.trace)
    }
}

impl Failure {
    /// Returns why a run that ended this way fails, if it does; calls `trace` and `missing` only where they matter.
    pub(crate) fn of(
        result: Result<(), String>,
        too_large: bool,
        trace: fn() -> String,
        missing: impl FnOnce() -> Option<&'static str>,
    ) -> Option<Failure> {
        match result {
            Err(message) => {
                let cause = if too_large { Cause::TooLarge } else { Cause::Wrong };
                Some(Failure { cause, message, trace: trace() })
            }
            Ok(()) => {
                let message = format!("nothing shows: {}", missing()?);
                Some(Failure { cause: Cause::Empty, message, trace: String::new() })
            }
        }
    }
}

/// Branching points that an execution may have: more means that it does not terminate.
const BRANCHES: usize = 4_000;

/// Executions that a bounded run may have.
const EXECUTIONS: u64 = 100_000;

impl Model {
    /// Runs the model, with these changes.
    pub fn run(&self, width: Width, mutations: &[Mutation]) -> Outcome {
        let model = *self;
        let executions = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&executions);
        let mut builder = loom::model::Builder::new();
        builder.max_branches = BRANCHES;
        builder.preemption_bound = Some(if width == Width::Wide { self.preemptions.1 } else { self.preemptions.0 });
        builder.expect_explicit_explore = true;
        let limit = if width == Width::Wide { u64::MAX } else { EXECUTIONS };
        lab::start(mutations);
        platform::take_seen();
        let start = Instant::now();
        let result = quietly(|| {
            builder.check(move || {
                let tried = count.fetch_add(1, Relaxed);
                assert!(tried < limit, "{}: more than {limit} executions: make it smaller", model.name);
                platform::start(model.name, model.setup);
                loom::explore();
                (model.body)();
                platform::finish();
            });
        });
        let (seen, places, tried) = (platform::take_seen(), lab::places(), executions.load(Relaxed));
        let failure = Failure::of(result, tried > limit, platform::trace, || self.missing(&seen, &places));
        Outcome { name: self.name, tried, extent: None, elapsed: start.elapsed(), places, failure, seen }
    }

    /// Returns the first required observation that no execution made.
    fn missing(&self, seen: &BTreeSet<&'static str>, places: &UseSites) -> Option<&'static str> {
        let mut missing = self.shows.iter().copied().filter(|what| !seen.contains(what)).peekable();
        missing.peek()?;
        let sources = Sources::of(self.lock).expect("the lock's sources can be read");
        let entered = lines::entered(self.lock, &sources, places);
        missing.find(|what| !entered.contains(what))
    }
}

thread_local! {
    /// The message of a panic on this thread, while it is kept from the screen.
    static CAUGHT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `f`; if it panics, returns the panic's message instead of printing it.
pub(crate) fn quietly(f: impl FnOnce()) -> Result<(), String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let ours = CAUGHT.with_borrow_mut(|caught| match caught {
                // A second panic comes from cleaning up after the first.
                Some(first) if first.is_empty() => {
                    *first = info.to_string();
                    true
                }
                other => other.is_some(),
            });
            if !ours {
                usual(info);
            }
        }));
    });
    CAUGHT.set(Some(String::new()));
    let result = panic::catch_unwind(AssertUnwindSafe(f));
    let message = CAUGHT.take().unwrap_or_default();
    result.map_err(|_| message)
}
