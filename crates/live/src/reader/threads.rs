//! Finds which threads wait now, and for which owners.

use super::clock::Clock;
use super::copy::{BlockCopy, Copy};
use super::names::ThreadNames;
use super::snapshot::{Thread, Waiting};
use crate::Key;
use crate::layout::{Block, THREADS, Wait, flags, state};
use core::sync::atomic::Ordering::Relaxed;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// An observation of a lock's owner at some time; `None`: the owner is unknown.
#[derive(Clone, Copy)]
struct Sight {
    at: u64,
    owner: Option<u32>,
    /// When it acquired the lock by a wait.
    since: Option<u64>,
}

/// Returns the threads of a copy. Those of an ended process have no names.
pub(crate) fn threads(copy: &Copy, clock: &Clock, alive: Option<u32>, names: &mut ThreadNames) -> Vec<Thread> {
    names.look(alive, clock.ns);
    let living: Vec<(&BlockCopy, String)> = copy
        .blocks
        .iter()
        .filter(|copy| copy.block.state.load(Relaxed) == state::LIVE)
        .filter_map(|copy| {
            let tid = copy.block.tid.load(Relaxed);
            Some((copy, names.of(alive, tid)?))
        })
        .collect();
    let owners = owners(living.iter().map(|(copy, _)| *copy));
    let mut threads: BTreeMap<u32, (u64, Thread)> = BTreeMap::new();
    for (copy, name) in living {
        let (tid, since) = (copy.block.tid.load(Relaxed), copy.block.wait.since.load(Relaxed));
        // A thread's number may have been another's, whose block still exists.
        if threads.get(&tid).is_none_or(|(other, _)| *other <= since) {
            let waiting = current(copy).and_then(|wait| waiting(wait, &owners, clock));
            threads.insert(tid, (since, Thread { tid, name, waiting }));
        }
    }
    let mut threads: BTreeMap<u32, Thread> = threads.into_iter().map(|(tid, (_, thread))| (tid, thread)).collect();
    add_owners(&mut threads, alive, names);
    threads.into_values().collect()
}

/// Adds threads that never waited but that others wait for; drops owners that have exited.
fn add_owners(threads: &mut BTreeMap<u32, Thread>, alive: Option<u32>, names: &mut ThreadNames) {
    let owners: BTreeSet<u32> = threads.values().filter_map(|thread| thread.waiting.as_ref()?.owner).collect();
    for tid in owners {
        if threads.contains_key(&tid) {
            continue;
        }
        match names.of(alive, tid) {
            Some(name) => {
                threads.insert(tid, Thread { tid, name, waiting: None });
            }
            None => {
                let waits = threads.values_mut().filter_map(|thread| thread.waiting.as_mut());
                waits.filter(|wait| wait.owner == Some(tid)).for_each(|wait| wait.owner = None);
            }
        }
    }
}

/// Returns the last wait of a block's thread, if it has not ended.
fn current(copy: &BlockCopy) -> Option<&Wait> {
    let wait = &copy.block.wait;
    let waits = wait.key.load(Relaxed) != 0 && wait.flags.load(Relaxed) == 0;
    (waits && copy.stood(|block| &block.wait.sequence)).then_some(wait)
}

fn waiting(wait: &Wait, owners: &HashMap<u64, Sight>, clock: &Clock) -> Option<Waiting> {
    let key = Key::read(wait.key.load(Relaxed))?;
    let owner = owners.get(&key.address());
    Some(Waiting {
        lock: key.address(),
        kind: key.kind(),
        since_ns: clock.at(wait.since.load(Relaxed)),
        owner: owner.and_then(|sight| sight.owner),
        owner_since_ns: owner.and_then(|sight| sight.since).map(|since| clock.at(since)),
        site: wait.site.load(Relaxed),
    })
}

/// Finds the owner of each lock: the last one observed. A thread that acquires a lock that others sleep for does so by
/// a wait, and records it; a thread that begins to wait sees the owner.
fn owners<'a>(blocks: impl Iterator<Item = &'a BlockCopy> + Clone) -> HashMap<u64, Sight> {
    // A thread pointer may have been another thread's, whose block still exists: the later one owns it.
    let mut by_age: Vec<&BlockCopy> = blocks.clone().collect();
    by_age.sort_by_key(|copy| copy.block.wait.since.load(Relaxed));
    let named: HashMap<u64, (u32, &Block)> = by_age
        .into_iter()
        .flat_map(|copy| {
            let (block, tid) = (&copy.block, copy.block.tid.load(Relaxed));
            [u64::from(tid), block.thread_pointer.load(Relaxed)].map(|name| (name, (tid, block)))
        })
        .collect();
    let mut owners: HashMap<u64, Sight> = HashMap::new();
    let mut see = |key: u64, sight: Sight| {
        let Some(key) = Key::read(key) else { return };
        let known = owners.entry(key.address()).or_insert(sight);
        if sight.at >= known.at {
            *known = sight;
        }
    };
    for copy in blocks.clone() {
        if let Some(wait) = current(copy) {
            let (key, seen) = (wait.key.load(Relaxed), wait.owner.load(Relaxed));
            let named = named.get(&seen).filter(|_| seen != 0);
            let since = named.and_then(|(_, block)| got(block, key));
            // A thread that never waited has no block.
            let owner = named.map(|(tid, _)| *tid).or((1..THREADS).contains(&seen).then_some(seen as u32));
            see(key, Sight { at: wait.since.load(Relaxed), owner, since });
        }
    }
    for copy in blocks {
        let owner = Some(copy.block.tid.load(Relaxed));
        for (key, since) in holds(&copy.block) {
            see(key, Sight { at: since, owner, since: Some(since) });
        }
    }
    owners
}

/// Returns the locks that a thread acquired by waits, and is not known to have released, with their times.
fn holds(block: &Block) -> impl Iterator<Item = (u64, u64)> {
    let wait = &block.wait;
    let has = wait.flags.load(Relaxed) & (flags::ACQUIRED | flags::RELEASED) == flags::ACQUIRED;
    let last = has.then(|| (wait.key.load(Relaxed), wait.until.load(Relaxed)));
    let before = block.held.iter().map(|held| (held.key.load(Relaxed), held.since.load(Relaxed)));
    last.into_iter().chain(before).filter(|(key, _)| *key != 0)
}

/// Returns when a thread acquired a lock by a wait.
fn got(block: &Block, key: u64) -> Option<u64> {
    let address = Key::read(key)?.address();
    holds(block).find(|(held, _)| Key::read(*held).is_some_and(|held| held.address() == address)).map(|(_, at)| at)
}
