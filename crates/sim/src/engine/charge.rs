//! Where CPU time goes: to the place in the locks' source whose operation takes it, as a profiler would have it.

use crate::spec::Ps;
use rustc_hash::FxHashMap;
use std::panic::Location;

/// What a CPU does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// It computes.
    Compute,
    /// It waits for a cache line, or executes one access.
    Memory,
    /// It spins.
    Spin,
    /// It is in the operating system.
    System,
    /// It has nothing to do.
    Idle,
}

/// What a CPU does, and for which line of source; `None`: for the system itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Doing {
    pub(crate) kind: Kind,
    pub(crate) at: Option<&'static Location<'static>>,
}

impl Doing {
    pub(crate) const IDLE: Doing = Doing { kind: Kind::Idle, at: None };
    pub(crate) const SWITCH: Doing = Doing { kind: Kind::System, at: None };

    pub(crate) fn new(kind: Kind, at: &'static Location<'static>) -> Doing {
        Doing { kind, at: Some(at) }
    }
}

/// Time spent at a place.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ProfileEntry {
    /// The source file; empty: the system itself.
    pub file: &'static str,
    /// Line and column in it.
    pub line: u32,
    /// See `line`.
    pub column: u32,
    /// What was done there.
    pub kind: Kind,
    /// For how long, over all CPUs, in picoseconds.
    pub ps: Ps,
}

/// Time by place and kind.
#[derive(Default)]
pub(crate) struct Profile {
    /// By the address of the location, which is quicker to hash than what it says.
    times: FxHashMap<(usize, Kind), (Doing, Ps)>,
    busy: Ps,
}

impl Profile {
    #[inline]
    pub(crate) fn add(&mut self, doing: Doing, time: Ps) {
        if doing.kind != Kind::Idle {
            self.busy += time;
        }
        let place = doing.at.map_or(0, |at| std::ptr::from_ref(at).addr());
        self.times.entry((place, doing.kind)).or_insert((doing, 0)).1 += time;
    }

    /// Time that CPUs were not idle.
    pub(crate) fn busy(&self) -> Ps {
        self.busy
    }

    /// Everything, one entry for each place and kind, in the order of the source.
    pub(crate) fn entries(&self) -> Vec<ProfileEntry> {
        let entry = |&(doing, ps): &(Doing, Ps)| {
            let (file, line, column) = doing.at.map_or(("", 0, 0), |at| (at.file(), at.line(), at.column()));
            ProfileEntry { file, line, column, kind: doing.kind, ps }
        };
        let mut all: Vec<ProfileEntry> = self.times.values().map(entry).collect();
        all.sort_unstable();
        // A location can have more than one address.
        all.dedup_by(|next, kept| {
            let same = (kept.file, kept.line, kept.column, kept.kind) == (next.file, next.line, next.column, next.kind);
            kept.ps += if same { next.ps } else { 0 };
            same
        });
        all
    }
}
