//! Entries by lock and call site: several threads' entries are one site.

use super::pending::Pending;
use super::sleeps::Sleeps;
use super::sums::Sum;
use crate::model::{LockId, SiteId};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use turnwise_recording::reader::Recording;
use turnwise_recording::{Class, Op};

/// A lock's number in the recording, and [`turnwise_recording::EntryCopy::site`].
pub(super) type Key = (u32, u64);

pub(super) struct RawSite {
    pub(super) key: Key,
    pub(super) op: Op,
    pub(super) address: u64,
    pub(super) sum: Sum,
    pub(super) entries: Vec<usize>,
}

/// All sites, in the order of the profile.
pub(super) struct Sites<'a> {
    pub(super) sites: Vec<RawSite>,
    ids: HashMap<Key, SiteId>,
    locks: Vec<u32>,
    lock_ids: HashMap<u32, LockId>,
    by_lock: HashMap<u32, Vec<usize>>,
    by_entry: HashMap<usize, SiteId>,
    sleeps: &'a Sleeps,
}

impl<'a> Sites<'a> {
    /// Collects the sites of locks; those of condition variables and of what else threads sleep on are elsewhere.
    pub(super) fn collect(recording: &Recording, pending: &Pending, sleeps: &'a Sleeps) -> Sites<'a> {
        let mut found: HashMap<Key, RawSite> = HashMap::new();
        for (index, entry) in recording.entries.iter().enumerate() {
            let Some(lock) = recording.locks.get(entry.lock as usize) else { continue };
            let Some(key) = sleeps.lock_and_site(recording, index) else { continue };
            let Some((op, address)) = Op::split(key.1) else { continue };
            let used = entry.acquisitions > 0 || entry.failed > 0 || pending.of_entry(index).next().is_some();
            if lock.class == Class::Condition as u32 || !used {
                continue;
            }
            let new = |key, op, address| RawSite { key, op, address, sum: Sum::default(), entries: Vec::new() };
            // A site that only woke others has no waits of its own.
            for waker in if op == Op::Sleep { sleeps.waker_sites(recording, index) } else { Vec::new() } {
                let (key, at) = ((key.0, waker), waker & !(0xff << 56));
                found.entry(key).or_insert_with(|| new(key, Op::Wake, at));
            }
            let site = found.entry(key).or_insert_with(|| new(key, op, address));
            site.sum.add(entry, recording.detail(entry.detail).as_ref());
            pending.of_entry(index).for_each(|wait| site.sum.add_pending(wait.ticks, pending.ticks));
            site.entries.push(index);
        }
        let mut sites: Vec<RawSite> = found.into_values().collect();
        sites.sort_by_key(|site| (Reverse(site.sum.wait_ticks()), Reverse(site.sum.acquisitions), site.key));
        let mut all = Sites {
            sites,
            ids: HashMap::new(),
            locks: Vec::new(),
            lock_ids: HashMap::new(),
            by_lock: HashMap::new(),
            by_entry: HashMap::new(),
            sleeps,
        };
        all.index();
        all
    }

    fn index(&mut self) {
        self.ids = self.sites.iter().zip(0..).map(|(site, id)| (site.key, id)).collect();
        self.by_lock.clear();
        self.by_entry.clear();
        for (index, site) in self.sites.iter().enumerate() {
            self.by_lock.entry(site.key.0).or_default().push(index);
            self.by_entry.extend(site.entries.iter().map(|entry| (*entry, index as SiteId)));
        }
        let mut locks: Vec<(u64, u64, u32)> = self.by_lock.keys().map(|number| self.weight(*number)).collect();
        locks.sort_by_key(|(wait, acquisitions, number)| (Reverse(*wait), Reverse(*acquisitions), *number));
        self.locks = locks.into_iter().map(|(.., number)| number).collect();
        self.lock_ids = self.locks.iter().copied().zip(0..).collect();
    }

    /// Returns the ticks waited, the acquisitions, and the number itself.
    fn weight(&self, number: u32) -> (u64, u64, u32) {
        let sites = || self.of_lock(number).map(|site| &site.sum);
        (sites().map(Sum::wait_ticks).sum(), sites().map(|sum| sum.acquisitions).sum(), number)
    }

    /// Keeps only the first `most` locks, and `more`; returns how many were left out, and their acquisitions.
    pub(super) fn keep(&mut self, most: usize, more: &HashSet<u32>) -> (usize, u64) {
        let rest = self.locks.iter().skip(most).filter(|number| !more.contains(number));
        let rest: HashSet<u32> = rest.copied().collect();
        if rest.is_empty() {
            return (0, 0);
        }
        let left_out = (rest.len(), rest.iter().map(|number| self.weight(*number).1).sum());
        self.sites.retain(|site| !rest.contains(&site.key.0));
        self.index();
        left_out
    }

    pub(super) fn acquisitions(&self) -> u64 {
        self.sites.iter().map(|site| site.sum.acquisitions).sum()
    }

    /// Returns the locks' numbers in the recording, in the order of the profile.
    pub(super) fn lock_numbers(&self) -> &[u32] {
        &self.locks
    }

    pub(super) fn lock_id(&self, number: u32) -> Option<LockId> {
        self.lock_ids.get(&number).copied()
    }

    pub(super) fn of_entry(&self, entry: usize) -> Option<SiteId> {
        self.by_entry.get(&entry).copied()
    }

    pub(super) fn lock_of_entry(&self, entry: usize) -> Option<LockId> {
        self.lock_id(self.sites[self.of_entry(entry)? as usize].key.0)
    }

    /// Returns the site of a holder of an entry's lock.
    pub(super) fn holder(&self, entry: usize, site: u64) -> Option<SiteId> {
        self.id((self.sites[self.of_entry(entry)? as usize].key.0, self.sleeps.holder_site(site)))
    }

    pub(super) fn of_lock(&self, number: u32) -> impl Iterator<Item = &RawSite> {
        self.by_lock.get(&number).into_iter().flatten().map(|index| &self.sites[*index])
    }

    pub(super) fn id(&self, key: Key) -> Option<SiteId> {
        self.ids.get(&key).copied()
    }
}
