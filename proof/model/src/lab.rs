//! The laboratory: what the locks do at each place in their sources, and how one of these is changed for a run.
//!
//! A place is identified by `#[track_caller]`, so nothing is recompiled. An engine's words and platform call these:
//!
//! | before | they call | and do |
//! |---|---|---|
//! | an operation on a word | `order` | it with that ordering |
//! | one that writes | `kept` | it so that these bits keep their old value |
//! | a wake-up | `waking` | wake this many |
//!
//! and report to `changed` what an operation would have written, to `visit` what else was called. The answers are those
//! of the source, unless that place is the subject of the experiment.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::panic::Location;
use std::sync::Mutex;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

/// A place in a source.
pub(crate) type Place = &'static Location<'static>;

/// Which of an operation's orderings: a compare-exchange has two.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Part {
    /// The ordering of a load, a store, an exchange, or of a compare-exchange that succeeds.
    Main,
    /// The ordering of a compare-exchange that fails.
    Failure,
}

/// A place in the lock sources that uses a word or the platform.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct UseSite {
    /// Source file, from the workspace's root.
    pub file: &'static str,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
}

impl UseSite {
    fn of(at: Place) -> UseSite {
        UseSite { file: direct(at.file()), line: at.line(), column: at.column() }
    }
}

/// Returns the path without `..` steps, which that of an included file has.
fn direct(file: &'static str) -> &'static str {
    static DIRECT: Mutex<BTreeMap<&str, &str>> = Mutex::new(BTreeMap::new());
    if !file.contains("/../") {
        return file;
    }
    let mut known = DIRECT.lock().expect("nobody panics with it");
    known.entry(file).or_insert_with(|| {
        let mut parts = Vec::new();
        for part in file.split('/') {
            match part {
                ".." => _ = parts.pop(),
                _ => parts.push(part),
            }
        }
        parts.join("/").leak()
    })
}

impl fmt::Display for UseSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// What an experiment changes at a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// The operation has an ordering other than the source's.
    Order {
        /// Which ordering of the operation.
        part: Part,
        /// The ordering in the source.
        from: Ordering,
        /// What is used instead.
        to: Ordering,
    },
    /// An operation leaves part of the word as it was.
    Left {
        /// The name of that part.
        name: &'static str,
        /// Which bits these are.
        bits: u64,
    },
    /// A wake-up wakes at most this many.
    Wakes {
        /// 0 or 1.
        most: u32,
    },
}

/// One experiment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mutation {
    /// The place.
    pub place: UseSite,
    /// The change there.
    pub change: Change,
}

impl fmt::Display for Mutation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.place)?;
        match self.change {
            Change::Order { part: Part::Main, from, to } => write!(f, ": {from:?} -> {to:?}"),
            Change::Order { part: Part::Failure, from, to } => write!(f, " (on failure): {from:?} -> {to:?}"),
            Change::Left { name, .. } => write!(f, ": {name} stays as it was"),
            Change::Wakes { most: 0 } => f.write_str(": nobody is woken"),
            Change::Wakes { most } => write!(f, ": no more than {most} woken"),
        }
    }
}

/// Returns the orderings one step below `order`. SeqCst is left out: loom treats it as AcqRel, which hides the step.
pub fn weaker(order: Ordering) -> &'static [Ordering] {
    match order {
        SeqCst => &[Acquire, Release],
        AcqRel => &[Acquire, Release],
        Acquire | Release => &[Relaxed],
        _ => &[],
    }
}

/// What a word may hold, as bits.
pub trait Value: Copy + PartialEq + 'static {
    /// Returns the bits.
    fn bits(self) -> u64;

    /// Returns `new`, except for the `kept` bits of `old`.
    fn mix(old: Self, new: Self, kept: u64) -> Self;
}

impl Value for u32 {
    fn bits(self) -> u64 {
        self.into()
    }

    fn mix(old: u32, new: u32, kept: u64) -> u32 {
        let kept = kept as u32;
        old & kept | new & !kept
    }
}

impl Value for u64 {
    fn bits(self) -> u64 {
        self
    }

    fn mix(old: u64, new: u64, kept: u64) -> u64 {
        old & kept | new & !kept
    }
}

impl<T: 'static> Value for *mut T {
    fn bits(self) -> u64 {
        self.addr() as u64
    }

    /// A pointer stays or changes as a whole.
    fn mix(old: Self, new: Self, kept: u64) -> Self {
        if kept == 0 { new } else { old }
    }
}

/// What was done at one place in all executions of a run together. For words: what the source meant, changed or not.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Done {
    /// The ordering of each [`Part`], if it is stronger than relaxed.
    pub orders: [Option<Ordering>; 2],
    /// Bits that were clear before an operation and set after it.
    pub set: u64,
    /// Bits that were set before and clear after.
    pub cleared: u64,
    /// Bits that were set before and after an operation that writes.
    pub stayed: u64,
    /// Bits that a spinner set: a thread whose last poll was that of a spin.
    pub spun_set: u64,
    /// Bits that a spinner cleared.
    pub spun_cleared: u64,
    /// How many a wake-up was to wake at most; 0: there was none.
    pub wakes: u32,
}

impl Done {
    /// Adds what another run did at the same place.
    pub fn add(&mut self, other: &Done) {
        self.orders = [0, 1].map(|part| self.orders[part].or(other.orders[part]));
        self.set |= other.set;
        self.cleared |= other.cleared;
        self.stayed |= other.stayed;
        self.spun_set |= other.spun_set;
        self.spun_cleared |= other.spun_cleared;
        self.wakes = self.wakes.max(other.wakes);
    }

    /// Returns its orderings that are stronger than relaxed.
    pub fn orders(&self) -> impl Iterator<Item = (Part, Ordering)> {
        [Part::Main, Part::Failure].into_iter().filter_map(|part| Some((part, self.orders[part as usize]?)))
    }
}

/// Every place that a run reached.
pub type UseSites = BTreeMap<UseSite, Done>;

/// A place that this run knows, with what is changed there.
struct Known {
    place: UseSite,
    done: Done,
    orders: [Option<Ordering>; 2],
    kept: u64,
    most: u32,
}

#[derive(Default)]
struct Lab {
    mutations: Vec<Mutation>,
    /// By address of the location, of which a place has one or more: avoids comparing file names.
    known: HashMap<*const Location<'static>, Known>,
}

thread_local! {
    static LAB: RefCell<Lab> = RefCell::default();
}

/// Starts an experiment on this thread: forgets the places seen, sets what is changed.
pub fn start(mutations: &[Mutation]) {
    LAB.with_borrow_mut(|lab| *lab = Lab { mutations: mutations.to_vec(), ..Lab::default() });
}

/// Returns the places seen since [`start`].
pub fn places() -> UseSites {
    LAB.with_borrow(|lab| {
        let mut places = UseSites::new();
        lab.known.values().for_each(|known| places.entry(known.place).or_default().add(&known.done));
        places
    })
}

fn at<R>(at: Place, f: impl FnOnce(&mut Known) -> R) -> R {
    LAB.with_borrow_mut(|lab| {
        let mutations = &lab.mutations;
        f(lab.known.entry(std::ptr::from_ref(at)).or_insert_with(|| meet(at, mutations)))
    })
}

/// Returns a place seen for the first time.
#[cold]
fn meet(at: Place, mutations: &[Mutation]) -> Known {
    let place = UseSite::of(at);
    let mut known = Known { place, done: Done::default(), orders: [None; 2], kept: 0, most: u32::MAX };
    for mutation in mutations.iter().filter(|mutation| mutation.place == place) {
        match mutation.change {
            Change::Order { part, to, .. } => known.orders[part as usize] = Some(to),
            Change::Left { bits, .. } => known.kept |= bits,
            Change::Wakes { most } => known.most = most,
        }
    }
    known
}

/// Notes that the lock reached this place.
pub(crate) fn visit(place: Place) {
    at(place, |_| ());
}

/// Returns the ordering to use at `place`, where the source has `order`.
pub(crate) fn order(place: Place, part: Part, order: Ordering) -> Ordering {
    at(place, |known| {
        if order == Relaxed {
            return Relaxed;
        }
        known.done.orders[part as usize] = Some(order);
        known.orders[part as usize].unwrap_or(order)
    })
}

/// Returns the bits that an operation at `place` shall leave unchanged, whatever the source says.
pub(crate) fn kept(place: Place) -> u64 {
    at(place, |known| known.kept)
}

/// Returns whether this is the spin loop of the sleeping locks.
pub(crate) fn is_of_spin(place: Place) -> bool {
    place.file().ends_with("turnwise/src/wait/spin.rs")
}

/// Notes that an operation at `place` found `old` and was meant to leave `new`. `before`: where its thread did its
/// previous operation on a word.
pub(crate) fn changed(place: Place, before: Option<Place>, old: u64, new: u64) {
    at(place, |known| {
        known.done.set |= new & !old;
        known.done.cleared |= old & !new;
        known.done.stayed |= old & new;
        if before.is_some_and(is_of_spin) {
            known.done.spun_set |= new & !old;
            known.done.spun_cleared |= old & !new;
        }
    });
}

/// Returns how many a wake-up at `place` shall wake, where the source has `count`.
pub(crate) fn waking(place: Place, count: u32) -> u32 {
    at(place, |known| {
        known.done.wakes = known.done.wakes.max(count);
        known.most.min(count)
    })
}
