//! Where CPU time goes: to the place in the locks' source whose operation takes it, as in a profiler; and to the
//! activity that the thread declared ([`crate::Sim::within`]), like a profiler's callers.

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

/// What a CPU does, and for which line of source, if not for the system itself: the address of a location, which is a
/// multiple of 8 below 2 to the power of 48, with the kind in its lowest bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Doing(u64);

/// Bits of [`Doing`] for the kind.
const KIND_BITS: u64 = 7;
/// The first bit of a key that is not of a [`Doing`].
const SCOPE_FROM: u32 = 48;
const _: () = assert!(align_of::<Location<'static>>() as u64 > KIND_BITS && KINDS as u64 <= KIND_BITS + 1);

impl Doing {
    pub(crate) const IDLE: Doing = Doing(Kind::Idle as u64);
    pub(crate) const SWITCH: Doing = Doing(Kind::System as u64);

    #[inline]
    pub(crate) fn new(kind: Kind, at: &'static Location<'static>) -> Doing {
        Doing(std::ptr::from_ref(at).expose_provenance() as u64 | kind as u64)
    }

    /// Returns the line of source; `None`: the system itself.
    pub(crate) fn at(self) -> Option<&'static Location<'static>> {
        let at: *const Location<'static> = std::ptr::with_exposed_provenance((self.0 & !KIND_BITS) as usize);
        // SAFETY: null, or from a static reference: see `Doing::new`.
        unsafe { at.as_ref() }
    }

    /// Returns a key that differs from all others, in each scope. It is never [`NONE`].
    #[inline]
    fn key(self, scope: Scope) -> u64 {
        self.0 ^ u64::from(scope.0) << SCOPE_FROM
    }
}

/// The activity that a thread declared: an index of names, 0 for none.
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
    /// The activity that the thread declared ([`crate::Sim::within`]); empty: none, or the system itself.
    pub scope: &'static str,
    /// The program that the thread declared ([`crate::Sim::becomes`]); empty: none.
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
/// An impossible key: there is no unnamed scope but the first.
const NONE: u64 = u64::MAX;
/// Times that are noted before they are added up.
const NOTED: usize = 128;

/// Time by place, scope and kind: a table by the address of the location, which is quicker to hash than its content.
/// Each operation's time is only noted at first: when they are added up one after the other, the look-ups overlap in
/// the host's CPU.
pub(crate) struct Profile {
    notes: Box<[(u64, Ps); NOTED]>,
    noted: usize,
    /// Keys with their times; the length is a power of two, less than an eighth of it in use, so that hardly any
    /// look-up meets another key.
    table: Vec<(u64, Ps)>,
    used: usize,
    /// The names of scopes: the program, and its activity.
    scopes: Vec<[&'static str; 2]>,
}

impl Profile {
    pub(crate) fn new() -> Profile {
        let (notes, table) = (Box::new([(NONE, 0); NOTED]), vec![(NONE, 0); 4096]);
        Profile { notes, noted: 0, table, used: 0, scopes: vec![[""; 2]] }
    }

    /// Returns the scope of the same program when it does this.
    pub(crate) fn doing(&mut self, scope: Scope, name: &'static str) -> Scope {
        let [command, _] = self.scopes[usize::from(scope.0)];
        self.scope([command, name])
    }

    /// Returns the scope of another program with the activity of this one.
    pub(crate) fn running(&mut self, scope: Scope, command: &'static str) -> Scope {
        let [_, name] = self.scopes[usize::from(scope.0)];
        self.scope([command, name])
    }

    /// Returns the scope of these names.
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
        let place = self.noted % NOTED;
        self.notes[place] = (doing.key(scope), time);
        self.noted = place + 1;
        if self.noted == NOTED {
            self.add_up();
        }
    }

    /// Adds up what is noted.
    #[inline(never)]
    pub(crate) fn add_up(&mut self) {
        for note in 0..std::mem::take(&mut self.noted) {
            let (key, time) = self.notes[note];
            self.add_to(key, time);
        }
    }

    #[inline]
    fn add_to(&mut self, key: u64, time: Ps) {
        let mask = self.table.len() - 1;
        let mut place = Profile::first_place(key) & mask;
        loop {
            let there = &mut self.table[place & mask];
            if there.0 == key {
                there.1 += time;
                return;
            }
            if there.0 == NONE {
                return self.take(place & mask, key, time);
            }
            place += 1;
        }
    }

    #[inline]
    fn first_place(key: u64) -> usize {
        key.wrapping_mul(GOLDEN) as usize >> 32
    }

    #[cold]
    fn take(&mut self, place: usize, key: u64, time: Ps) {
        if (self.used + 1) * 8 > self.table.len() {
            let room = self.table.len() * 2;
            let small = std::mem::replace(&mut self.table, vec![(NONE, 0); room]);
            self.used = 0;
            small.into_iter().filter(|slot| slot.0 != NONE).for_each(|(key, time)| self.add_to(key, time));
            return self.add_to(key, time);
        }
        self.used += 1;
        self.table[place] = (key, time);
    }

    /// Returns the time that CPUs were not idle, of what is [added up](Profile::add_up).
    pub(crate) fn busy(&self) -> Ps {
        let slots = self.table.iter().filter(|slot| slot.0 != NONE);
        slots.filter(|slot| slot.0 & KIND_BITS != Kind::Idle as u64).map(|slot| slot.1).sum()
    }

    /// Returns everything that is [added up](Profile::add_up), one entry for each place, scope and kind, in source
    /// order.
    pub(crate) fn entries(&self) -> Vec<ProfileEntry> {
        const ALL: [Kind; KINDS] = [Kind::Compute, Kind::Memory, Kind::Spin, Kind::System, Kind::Idle];
        let slots = self.table.iter().filter(|slot| slot.0 != NONE && slot.1 > 0);
        let entry = |&(key, ps): &(u64, Ps)| {
            let at = Doing(key & ((1 << SCOPE_FROM) - 1)).at();
            let (file, line, column) = at.map_or(("", 0, 0), |at| (at.file(), at.line(), at.column()));
            let scope = if at.is_some() { (key >> SCOPE_FROM) as usize } else { 0 };
            let [command, scope] = self.scopes[scope];
            ProfileEntry { file, line, column, scope, command, kind: ALL[(key & KIND_BITS) as usize], ps }
        };
        let mut all: Vec<ProfileEntry> = slots.map(entry).collect();
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
