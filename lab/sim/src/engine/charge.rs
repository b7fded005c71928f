//! Where CPU time goes: to the place in the locks' source whose operation takes it, as a profiler would have it; and to
//! what the thread said that it does ([`crate::Sim::within`]), as a profiler's callers would have it.

use crate::spec::Ps;
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

/// What a thread said that it does: an index of names, 0 for nothing.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Scope(u16);

/// Time spent at a place.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ProfileEntry {
    /// The source file; empty: the system itself.
    pub file: &'static str,
    /// Line and column in it.
    pub line: u32,
    /// See `line`.
    pub column: u32,
    /// What the thread said that it does ([`crate::Sim::within`]); empty: nothing, or the system itself.
    pub scope: &'static str,
    /// The program that the thread said that it runs ([`crate::Sim::becomes`]); empty: it did not say.
    pub command: &'static str,
    /// What was done there.
    pub kind: Kind,
    /// For how long, over all CPUs, in picoseconds.
    pub ps: Ps,
}

/// Kinds there are.
const KINDS: usize = 5;

/// 2 to the power of 64, divided by the golden ratio: spreads what it multiplies over the upper bits.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Time by place and kind: a table by the address of the location, which is quicker to hash than what it says, and
/// asked for at each operation. The keys are by themselves, so that those of all places stay in the host's first cache.
pub(crate) struct Profile {
    /// See [`key`]; 0 where nothing is.
    keys: Vec<u64>,
    /// Time at the place of each key, by kind.
    times: Vec<[Ps; KINDS]>,
    places: Vec<Option<(&'static Location<'static>, Scope)>>,
    used: usize,
    /// Time of the system itself, by kind.
    system: [Ps; KINDS],
    busy: Ps,
    /// What scopes are called: the program, and what it does.
    scopes: Vec<[&'static str; 2]>,
}

/// Tells places and scopes apart: no two locations have one address, which has at most 48 bits and is not 0.
#[inline]
fn key(at: &'static Location<'static>, scope: Scope) -> u64 {
    std::ptr::from_ref(at).addr() as u64 ^ u64::from(scope.0) << 48
}

impl Profile {
    pub(crate) fn new() -> Profile {
        Profile::with_room(1024, vec![[""; 2]])
    }

    fn with_room(room: usize, scopes: Vec<[&'static str; 2]>) -> Profile {
        let (keys, times, places) = (vec![0; room], vec![[0; KINDS]; room], vec![None; room]);
        Profile { keys, times, places, used: 0, system: [0; KINDS], busy: 0, scopes }
    }

    /// The scope of the same program when it does this.
    pub(crate) fn doing(&mut self, scope: Scope, name: &'static str) -> Scope {
        let [command, _] = self.scopes[usize::from(scope.0)];
        self.scope([command, name])
    }

    /// The scope of another program when it does what this one says.
    pub(crate) fn running(&mut self, scope: Scope, command: &'static str) -> Scope {
        let [_, name] = self.scopes[usize::from(scope.0)];
        self.scope([command, name])
    }

    /// The scope of these names.
    ///
    /// # Panics
    /// When there are 65 536 scopes.
    fn scope(&mut self, names: [&'static str; 2]) -> Scope {
        let known = self.scopes.iter().position(|known| *known == names);
        let index = known.unwrap_or_else(|| {
            self.scopes.push(names);
            self.scopes.len() - 1
        });
        Scope(u16::try_from(index).expect("names of a program's functions, not of its data"))
    }

    #[inline]
    pub(crate) fn add(&mut self, doing: Doing, scope: Scope, time: Ps) {
        if doing.kind != Kind::Idle {
            self.busy += time;
        }
        let times = match doing.at {
            Some(at) => self.slot(at, scope),
            None => &mut self.system,
        };
        times[doing.kind as usize] += time;
    }

    #[inline]
    fn slot(&mut self, at: &'static Location<'static>, scope: Scope) -> &mut [Ps; KINDS] {
        let mask = self.keys.len() - 1;
        let key = key(at, scope);
        let mut place = (key >> 3).wrapping_mul(GOLDEN) as usize >> 32 & mask;
        loop {
            let there = self.keys[place];
            if there == key {
                return &mut self.times[place];
            }
            if there == 0 {
                return self.take(place, at, scope);
            }
            place = (place + 1) & mask;
        }
    }

    #[cold]
    fn take(&mut self, place: usize, at: &'static Location<'static>, scope: Scope) -> &mut [Ps; KINDS] {
        if (self.used + 1) * 2 > self.keys.len() {
            self.grow();
            return self.slot(at, scope);
        }
        self.used += 1;
        (self.keys[place], self.places[place]) = (key(at, scope), Some((at, scope)));
        &mut self.times[place]
    }

    fn grow(&mut self) {
        let mut larger = Profile::with_room(self.keys.len() * 2, std::mem::take(&mut self.scopes));
        (larger.system, larger.busy) = (self.system, self.busy);
        for (&place, &times) in self.places.iter().zip(&self.times) {
            place.into_iter().for_each(|(at, scope)| *larger.slot(at, scope) = times);
        }
        *self = larger;
    }

    /// Time that CPUs were not idle.
    pub(crate) fn busy(&self) -> Ps {
        self.busy
    }

    /// Everything, one entry for each place, scope and kind, in the order of the source.
    pub(crate) fn entries(&self) -> Vec<ProfileEntry> {
        const ALL: [Kind; KINDS] = [Kind::Compute, Kind::Memory, Kind::Spin, Kind::System, Kind::Idle];
        let places = self.places.iter().zip(&self.times);
        let places = places.filter_map(|(place, times)| place.map(|(at, scope)| (Some(at), scope, times)));
        let mut all = Vec::new();
        for (at, scope, times) in places.chain([(None, Scope::default(), &self.system)]) {
            let (file, line, column) = at.map_or(("", 0, 0), |at| (at.file(), at.line(), at.column()));
            let spent = ALL.iter().map(|&kind| (kind, times[kind as usize])).filter(|spent| spent.1 > 0);
            let [command, scope] = self.scopes[usize::from(scope.0)];
            all.extend(spent.map(|(kind, ps)| ProfileEntry { file, line, column, scope, command, kind, ps }));
        }
        all.sort_unstable();
        // A location can have more than one address.
        all.dedup_by(|next, kept| {
            let same = ProfileEntry { ps: 0, ..next.clone() } == ProfileEntry { ps: 0, ..kept.clone() };
            kept.ps += if same { next.ps } else { 0 };
            same
        });
        all
    }
}
