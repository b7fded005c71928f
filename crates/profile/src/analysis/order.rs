//! The order in which threads take locks, and where it leads back to its beginning.

use super::cycles::{self, Mode, Step};
use super::sites::{Key, Sites};
use crate::model::{CycleStep, LockCycle};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use turnwise_recording::reader::Recording;
use turnwise_recording::{EntryCopy, LAST_EDGE, Op};

pub(super) struct PlacedStep {
    /// The lock that is held, and where it was taken.
    pub(super) held: Key,
    /// The lock that is taken under it, and where.
    pub(super) taken: Key,
    guards: Rc<[Mode]>,
    threads: Vec<u32>,
}

/// The orders of a run.
pub(super) struct Orders {
    all: Vec<PlacedStep>,
    /// Cycles of steps that threads could do at the same time.
    pub(super) cycles: Vec<Vec<PlacedStep>>,
    /// Whether all were searched.
    pub(super) is_complete: bool,
}

pub(super) fn collect(recording: &Recording) -> Orders {
    type Way = (Key, Key, Rc<[Mode]>);
    let mut ways: BTreeMap<Way, BTreeSet<u32>> = BTreeMap::new();
    for (thread, taken, held) in acquisitions(recording) {
        let guards: BTreeMap<u32, bool> = held.iter().rev().map(|held| mode(*held)).collect();
        let guards: Rc<[Mode]> = guards.into_iter().collect();
        for held in held.iter().filter(|held| held.0 != taken.0) {
            ways.entry((*held, taken, guards.clone())).or_default().insert(thread);
        }
    }
    let step = |((held, taken, guards), threads): (&Way, &BTreeSet<u32>)| Step {
        held: mode(*held),
        taken: mode(*taken),
        guards: guards.clone(),
        threads: threads.iter().copied().collect(),
    };
    let steps: Vec<Step> = ways.iter().map(step).collect();
    let places: Vec<(Key, Key)> = ways.into_keys().map(|(held, taken, _)| (held, taken)).collect();
    let placed = |step: &usize| {
        let (held, taken) = places[*step];
        PlacedStep { held, taken, guards: steps[*step].guards.clone(), threads: steps[*step].threads.clone() }
    };
    let lives =
        recording.threads.iter().map(|thread| (thread.began, if thread.ended == 0 { u64::MAX } else { thread.ended }));
    let (found, is_complete) = cycles::find(&steps, &lives.collect::<Vec<_>>(), &|_| true);
    let cycles = found.iter().map(|cycle| cycle.iter().map(placed).collect()).collect();
    Orders { all: (0..steps.len()).map(|step| placed(&step)).collect(), cycles, is_complete }
}

/// Returns the acquisitions of locks under others: the thread, the lock with its site, and all locks held with theirs.
/// Those of which not all edges were written, or can be read, are left out: a lock might be missing that keeps other
/// threads away.
fn acquisitions(recording: &Recording) -> impl Iterator<Item = (u32, Key, Vec<Key>)> {
    type Locks = (Option<Key>, Vec<Option<Key>>);
    let mut all: BTreeMap<(u32, u32), Locks> = BTreeMap::new();
    let mut whole = BTreeSet::new();
    let key = |place| recording.entry_at(place).map(|index| key(&recording.entries[index]));
    for edge in recording.edges.iter().filter(|edge| edge.acquisition != 0) {
        let number = (edge.thread, edge.acquisition & !LAST_EDGE);
        let (taken, held) = all.entry(number).or_default();
        *taken = key(edge.acquired);
        held.push(key(edge.held));
        if edge.acquisition & LAST_EDGE != 0 {
            whole.insert(number);
        }
    }
    let known = all.into_iter().filter(move |(number, _)| whole.contains(number));
    known.filter_map(|((thread, _), (taken, held))| Some((thread, taken?, held.into_iter().collect::<Option<_>>()?)))
}

fn key(entry: &EntryCopy) -> Key {
    (entry.lock, entry.site)
}

fn mode((lock, site): Key) -> Mode {
    (lock, site >> 56 == Op::Read as u64)
}

/// Returns the cycles as a profile has them, each from its first lock there.
pub(super) fn in_profile(cycles: &[Vec<PlacedStep>], sites: &Sites) -> Vec<LockCycle> {
    let cycle = |cycle: &Vec<PlacedStep>| {
        let mut steps = cycle.iter().map(|step| self::step(step, sites)).collect::<Option<Vec<_>>>()?;
        let first = (0..steps.len()).min_by_key(|place| steps[*place].held)?;
        steps.rotate_left(first);
        Some(LockCycle { steps })
    };
    let mut found: Vec<LockCycle> = cycles.iter().filter_map(cycle).collect();
    found.sort_by_key(|cycle| (cycle.steps.len(), cycle.steps[0].held));
    found
}

/// Returns all orders as a profile has them, but those under a lock that it leaves out.
pub(super) fn all(orders: &Orders, sites: &Sites) -> Vec<CycleStep> {
    let known = orders.all.iter().filter_map(|placed| Some((placed, step(placed, sites)?)));
    known.filter(|(placed, step)| step.guards.len() == placed.guards.len()).map(|(_, step)| step).collect()
}

fn step(step: &PlacedStep, sites: &Sites) -> Option<CycleStep> {
    Some(CycleStep {
        held: sites.lock_id(step.held.0)?,
        held_at: sites.id(step.held)?,
        taken_at: sites.id(step.taken)?,
        threads: step.threads.clone(),
        guards: step.guards.iter().filter_map(|(lock, reads)| Some((sites.lock_id(*lock)?, *reads))).collect(),
    })
}
