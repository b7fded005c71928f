//! The laboratory: which memory orderings the locks use, where, and how one of them is weakened for a run.
//!
//! Every word operation asks `order` which ordering to use. It answers with the one in the source, unless that
//! place is the subject of the experiment. A place is known by `#[track_caller]`, so nothing is recompiled. In the same
//! way a wake-up may be left out.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::Location;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

/// Which of an operation's orderings: a compare-exchange has two.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Part {
    /// The ordering of a load, a store, an exchange, or of a compare-exchange that succeeds.
    Main,
    /// The ordering of a compare-exchange that fails.
    Failure,
    /// No ordering at all: a wake-up, which stands here as a `Release`, and `Relaxed` is none.
    Wake,
}

/// A place in the lock sources that uses an ordering.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Site {
    /// Source file, as the compiler was given it.
    pub file: &'static str,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// Which ordering of the operation there.
    pub part: Part,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        if self.part == Part::Failure { f.write_str(" (on failure)") } else { Ok(()) }
    }
}

/// One experiment: the ordering at this place replaced by a weaker one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Weakening {
    /// Where.
    pub site: Site,
    /// What the source says.
    pub from: Ordering,
    /// What is used instead.
    pub to: Ordering,
}

impl fmt::Display for Weakening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.site.part == Part::Wake {
            return write!(f, "{}: nobody is woken", self.site);
        }
        write!(f, "{}: {:?} -> {:?}", self.site, self.from, self.to)
    }
}

/// The orderings one step below `order`. SeqCst is left out: loom treats it as AcqRel, so the step would not show.
pub fn weaker(order: Ordering) -> &'static [Ordering] {
    match order {
        SeqCst => &[Acquire, Release],
        AcqRel => &[Acquire, Release],
        Acquire | Release => &[Relaxed],
        _ => &[],
    }
}

/// Every place seen with an ordering stronger than relaxed.
pub type Sites = BTreeMap<Site, Ordering>;

#[derive(Default)]
struct Lab {
    sites: Sites,
    weakenings: Vec<Weakening>,
    /// What to use, by address of the location: spares the comparison of file names.
    known: Vec<(*const Location<'static>, Part, Ordering)>,
}

thread_local! {
    static LAB: RefCell<Lab> = RefCell::default();
}

/// Starts an experiment on this thread: forgets the sites seen, sets what is weakened.
pub fn start(weakenings: &[Weakening]) {
    LAB.with_borrow_mut(|lab| *lab = Lab { weakenings: weakenings.to_vec(), ..Lab::default() });
}

/// The sites seen since [`start`].
pub fn sites() -> Sites {
    LAB.with_borrow(|lab| lab.sites.clone())
}

/// Whether the wake-up at `at` wakes anybody.
pub(crate) fn wakes(at: &'static Location<'static>) -> bool {
    order(at, Part::Wake, Release) == Release
}

/// The ordering to use at `at`, where the source says `order`.
pub(crate) fn order(at: &'static Location<'static>, part: Part, order: Ordering) -> Ordering {
    if order == Relaxed {
        return Relaxed;
    }
    LAB.with_borrow_mut(|lab| {
        let seen = lab.known.iter().find(|k| std::ptr::eq(k.0, at) && k.1 == part);
        if let Some(known) = seen {
            return known.2;
        }
        let site = Site { file: at.file(), line: at.line(), column: at.column(), part };
        let used = lab.weakenings.iter().find(|w| w.site == site).map_or(order, |w| w.to);
        lab.sites.insert(site, order);
        lab.known.push((at, part, used));
        used
    })
}
