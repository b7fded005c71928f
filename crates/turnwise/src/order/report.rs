//! Reports of faults, and their handler.

use core::fmt;
use core::panic::Location;
use std::sync::{Mutex, PoisonError};
use std::vec::Vec;

/// A place in the source.
///
/// ```
/// use turnwise::order::SourceLocation;
///
/// let here: SourceLocation = std::panic::Location::caller();
/// assert!(here.line() > 0);
/// ```
pub type SourceLocation = &'static Location<'static>;

/// The kind of a fault.
///
/// ```
/// use turnwise::order::Fault;
///
/// assert!(Fault::SelfDeadlock.to_string().starts_with("self-deadlock"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Fault {
    /// The classes were acquired in the opposite order before.
    Inversion,
    /// The thread waits for a lock that it holds.
    SelfDeadlock,
    /// The thread acquires for reading a lock that it holds for reading.
    ReadAgain,
    /// The thread acquires two locks of one class at a time.
    SameClass,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::Inversion => {
                "lock order inversion: threads that do this at the same time may wait for each other for ever"
            }
            Fault::SelfDeadlock => "self-deadlock: this thread waits for a lock that it holds",
            Fault::ReadAgain => "read lock within a read lock: with a writer waiting in between, both wait for ever",
            Fault::SameClass => {
                "two locks made at one place, in an order that was not stated \
                 (`order::nested` and `order::by_address` do that)"
            }
        })
    }
}

/// One lock acquired while another was held.
///
/// ```
/// use turnwise::order::Step;
///
/// /// Where a report's step went on.
/// fn place(step: &Step) -> String {
///     format!("{}:{}", step.next_at.file(), step.next_at.line())
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Step {
    /// Where the held lock was created; `None` in zeroed memory.
    pub held: Option<SourceLocation>,
    /// Where the held lock was acquired.
    pub held_at: SourceLocation,
    /// Where the next lock was created.
    pub next: Option<SourceLocation>,
    /// Where the next lock was acquired.
    pub next_at: SourceLocation,
}

/// A report of an acquisition that can deadlock.
///
/// ```
/// use turnwise::{Mutex, order};
///
/// // To a log, in place of a panic.
/// order::set_handler(|report| eprintln!("{}: {report}", report.cycle.len()));
/// let (a, b) = (Mutex::new(0), Mutex::new(0));
/// let _both = (a.lock(), b.lock());
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The kind of the fault.
    pub fault: Fault,
    /// The step that this thread is about to take; after it, for an inversion, the earlier steps that lead back.
    pub cycle: Vec<Step>,
}

struct Made(Option<SourceLocation>);

impl fmt::Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(place) => write!(f, "the lock made at {place}"),
            None => f.write_str("a lock in zeroed memory"),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.fault)?;
        for (number, step) in self.cycle.iter().enumerate() {
            let who = if number == 0 { "now" } else { "before" };
            write!(f, "\n  {who}: with {}, acquired at {},", Made(step.held), step.held_at)?;
            write!(f, "\n  {:w$}  {} is acquired at {}", "", Made(step.next), step.next_at, w = who.len())?;
        }
        Ok(())
    }
}

/// The function that receives the reports.
static HANDLER: Mutex<fn(&Report)> = Mutex::new(complain);

/// Sets the function that is called on a fault, instead of a panic with the report as its message. If it returns, the
/// thread continues and acquires the lock despite the fault. It is called with none of the checker's locks held.
pub fn set_handler(handler: fn(&Report)) {
    *HANDLER.lock().unwrap_or_else(PoisonError::into_inner) = handler;
}

/// Calls the handler with a report.
pub(super) fn tell(report: &Report) {
    let handler = *HANDLER.lock().unwrap_or_else(PoisonError::into_inner);
    handler(report);
}

/// Panics with the report, unless the thread is already panicking: a second panic would end the process before the
/// first is shown.
fn complain(report: &Report) {
    if std::thread::panicking() {
        std::eprintln!("{report}");
    } else {
        panic!("{report}");
    }
}
