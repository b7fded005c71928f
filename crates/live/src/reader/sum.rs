//! Adds up the figures of the table and the blocks for each lock.
//!
//! The sums are kept between looks: only those of a lock's records that have changed are read again. The blocks'
//! figures are added afresh each time; each has at most some twenty locks.

use super::clock::Clock;
use super::copy::BlockCopy;
use super::snapshot::{Lock, Site, SiteSum, Totals};
use super::table::Table;
use crate::Key;
use crate::layout::{self, BUCKETS, Entry, LOCKS, Wait, flags, state};
use core::cmp::Reverse;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::Arc;

/// The number of locks remembered, including those that found no room in the table and have since left their block.
const MANY: usize = 4 * LOCKS;

/// The totals of all locks at the last look.
#[derive(Default)]
pub(crate) struct Sums {
    pub(crate) table: Table,
    locks: Vec<Known>,
    /// Indices in `locks`.
    places: FxHashMap<Key, usize>,
    /// For each record of the table, the lock that it is linked to, and the lock's next record.
    links: Vec<Link>,
    /// Indices of locks to which blocks contributed.
    in_blocks: Vec<usize>,
    /// Locks of earlier looks, the oldest first.
    old: VecDeque<Arc<Lock>>,
}

/// A lock.
struct Known {
    key: Key,
    /// Its first record in the table.
    first: Option<usize>,
    /// `None`: no wait for it has ended.
    sum: Option<Arc<Lock>>,
}

#[derive(Clone, Copy, Default)]
struct Link {
    key: Option<Key>,
    next: Option<usize>,
}

impl Sums {
    /// Adds up the data read into the table, and the blocks; returns the locks, the one with most wait time first.
    pub(crate) fn look(&mut self, blocks: &[BlockCopy], clock: &Clock) -> Vec<Arc<Lock>> {
        let mut again = self.changed();
        again.append(&mut self.in_blocks);
        let of_blocks: Vec<(usize, SiteSum)> =
            blocks.iter().flat_map(|block| of_block(block, clock)).map(|(key, sum)| (self.place(key), sum)).collect();
        self.in_blocks.extend(of_blocks.iter().map(|(place, _)| *place));
        again.extend(&self.in_blocks);
        again.sort_unstable();
        again.dedup();
        let mut sums: Vec<Arc<Lock>> = again.iter().map(|place| self.of_table(*place)).collect();
        for (place, sum) in &of_blocks {
            if let Some(lock) = again.binary_search(place).ok().and_then(|at| Arc::get_mut(&mut sums[at])) {
                add(lock, sum);
            }
        }
        for (key, at_ns) in blocks.iter().filter_map(|block| last(block, clock)) {
            let at = self.places.get(&key).and_then(|place| again.binary_search(place).ok());
            if let Some(lock) = at.and_then(|at| Arc::get_mut(&mut sums[at])) {
                lock.last_ns = lock.last_ns.max(Some(at_ns));
            }
        }
        for (place, mut lock) in again.into_iter().zip(sums) {
            if let Some(lock) = Arc::get_mut(&mut lock) {
                lock.sites.sort_unstable_by_key(|site| (Reverse(site.wait_ns), site.address));
            }
            let sum = Some(lock).filter(|lock| lock.waits > 0);
            self.old.extend(core::mem::replace(&mut self.locks[place].sum, sum));
        }
        self.in_order()
    }

    /// Returns the places of locks whose records have changed.
    fn changed(&mut self) -> Vec<usize> {
        let changed = self.table.take_changed();
        if self.locks.len() <= MANY
            && let Some(places) = self.link_all(&changed)
        {
            return places;
        }
        // Most locks are gone, or a record has passed to another lock, which no program does: start afresh.
        self.links.clear();
        self.locks.clear();
        self.places.clear();
        self.in_blocks.clear();
        self.link_all(&self.table.taken()).unwrap_or_default()
    }

    /// Links records to their locks; returns the locks' places. `None`: one was linked to another lock before.
    fn link_all(&mut self, records: &[usize]) -> Option<Vec<usize>> {
        self.links.resize(LOCKS, Link::default());
        let mut places = Vec::with_capacity(records.len());
        for &record in records {
            let key = Key::read(self.table.record(record).key.load(Relaxed));
            let linked = self.links[record].key;
            match key {
                _ if linked.is_some() && linked != key => return None,
                None => {}
                Some(key) => {
                    let place = self.place(key);
                    if linked.is_none() {
                        let next = self.locks[place].first.replace(record);
                        self.links[record] = Link { key: Some(key), next };
                    }
                    places.push(place);
                }
            }
        }
        Some(places)
    }

    /// Returns a lock's place; it gets one if it has none.
    fn place(&mut self, key: Key) -> usize {
        let place = *self.places.entry(key).or_insert(self.locks.len());
        if place == self.locks.len() {
            self.locks.push(Known { key, first: None, sum: None });
        }
        place
    }

    /// Returns the table's totals of a lock, as the only reference to them.
    fn of_table(&mut self, place: usize) -> Arc<Lock> {
        let mut shared = self.empty(self.locks[place].key);
        let mut next = self.locks[place].first;
        while let (Some(record), Some(lock)) = (next, Arc::get_mut(&mut shared)) {
            if let Some((_, sum)) = of_entry(self.table.record(record)) {
                add(lock, &sum);
            }
            next = self.links[record].next;
        }
        shared
    }

    /// Returns a lock without waits, in the memory of an old one if that is no longer referenced: allocating that much
    /// memory at each look costs more than all sums.
    fn empty(&mut self, key: Key) -> Arc<Lock> {
        // Snapshots that are kept by the caller cannot be reused.
        while self.old.len() > 3 * self.locks.len() {
            self.old.pop_front();
        }
        let Some(mut shared) = self.old.pop_front() else { return Arc::new(empty(key, Vec::new())) };
        match Arc::get_mut(&mut shared) {
            Some(lock) => {
                let mut sites = core::mem::take(&mut lock.sites);
                sites.clear();
                *lock = empty(key, sites);
                shared
            }
            None => {
                self.old.push_front(shared);
                Arc::new(empty(key, Vec::new()))
            }
        }
    }

    fn in_order(&self) -> Vec<Arc<Lock>> {
        let mut locks: Vec<&Arc<Lock>> = self.locks.iter().filter_map(|known| known.sum.as_ref()).collect();
        locks.sort_by_cached_key(|lock| (Reverse(lock.wait_ns), lock.address, lock.kind));
        locks.into_iter().cloned().collect()
    }
}

/// Returns the totals of the waits at each call site of each lock.
pub(crate) fn by_site(table: &Table, blocks: &[BlockCopy], clock: &Clock) -> Vec<SiteSum> {
    let mut places: FxHashMap<(Key, u64), usize> = FxHashMap::default();
    let mut sites: Vec<SiteSum> = Vec::new();
    let of_table = table.taken().into_iter().filter_map(|place| of_entry(table.record(place)));
    for (key, sum) in of_table.chain(blocks.iter().flat_map(|block| of_block(block, clock))) {
        let place = *places.entry((key, sum.address)).or_insert(sites.len());
        match sites.get_mut(place) {
            Some(site) => {
                site.totals.add(&sum.totals);
                site.rule = site.rule.max(sum.rule);
            }
            None => sites.push(sum),
        }
    }
    sites
}

/// Returns a block's figures: the entries that were stable, and the wait that ended last.
fn of_block(block: &BlockCopy, clock: &Clock) -> impl Iterator<Item = (Key, SiteSum)> {
    let is_free = block.block.state.load(Relaxed) == state::FREE;
    let entries = (0..layout::ENTRIES).filter_map(|index| steady(block, index)).filter_map(of_entry);
    entries.chain(ended(block).and_then(|wait| of_wait(wait, clock))).filter(move |_| !is_free)
}

/// Returns an entry whose lock did not change in the three readings. It only grows while it is the same entry.
fn steady(block: &BlockCopy, index: usize) -> Option<&Entry> {
    let readings = [&block.before, &block.block, &block.after].map(|block| &block.entries[index]);
    let [before, entry, after] = readings.map(|e| {
        let waits = e.histogram.iter().fold(0_u64, |sum, count| sum + u64::from(count.load(Relaxed)));
        (e.key.load(Relaxed), e.site.load(Relaxed), waits)
    });
    let is_same = (before.0, before.1) == (entry.0, entry.1) && (after.0, after.1) == (entry.0, entry.1);
    (is_same && before.2 <= entry.2 && entry.2 <= after.2).then_some(readings[1])
}

/// Returns the last wait of a block's thread, if it has ended.
fn ended(block: &BlockCopy) -> Option<&Wait> {
    let wait = &block.block.wait;
    let is_over = wait.flags.load(Relaxed) & (flags::ACQUIRED | flags::GAVE_UP) != 0;
    (is_over && block.stood(|block| &block.wait.sequence)).then_some(wait)
}

/// Returns the lock that a block's thread last waited for, and when that wait ended.
fn last(block: &BlockCopy, clock: &Clock) -> Option<(Key, u64)> {
    let wait = ended(block).filter(|_| block.block.state.load(Relaxed) != state::FREE)?;
    Some((Key::read(wait.key.load(Relaxed))?, clock.at(wait.until.load(Relaxed))))
}

fn of_entry(entry: &Entry) -> Option<(Key, SiteSum)> {
    let key = Key::read(entry.key.load(Relaxed))?;
    let histogram = entry.histogram.each_ref().map(|count| count.load(Relaxed).into());
    let count = |count: &AtomicU32| count.load(Relaxed).into();
    let totals = Totals {
        waits: histogram.iter().fold(0_u64, |all, count| all.saturating_add(*count)),
        wait_ns: entry.wait_ns.load(Relaxed),
        longest_ns: entry.longest_ns.load(Relaxed),
        sleeps: count(&entry.sleeps),
        steals: count(&entry.steals),
        handoffs: count(&entry.handoffs),
        gave_up: count(&entry.gave_up),
        histogram,
    };
    Some(of_key(key, entry.site.load(Relaxed), totals, rule(&entry.rule)))
}

fn of_wait(wait: &Wait, clock: &Clock) -> Option<(Key, SiteSum)> {
    let ns = clock.length(wait.until.load(Relaxed).saturating_sub(wait.since.load(Relaxed)));
    let mut histogram = [0; BUCKETS];
    histogram[layout::bucket(ns)] = 1;
    let happened = |n: usize| wait.after[n].load(Relaxed).wrapping_sub(wait.before[n].load(Relaxed)).into();
    let [sleeps, steals, handoffs] = core::array::from_fn(happened);
    let gave_up = u64::from(wait.flags.load(Relaxed) & flags::GAVE_UP != 0);
    let totals = Totals { waits: 1, wait_ns: ns, longest_ns: ns, sleeps, steals, handoffs, gave_up, histogram };
    // Its rule is known when it is counted.
    Some(of_key(Key::read(wait.key.load(Relaxed))?, wait.site.load(Relaxed), totals, None))
}

fn of_key(key: Key, address: u64, totals: Totals, rule: Option<u32>) -> (Key, SiteSum) {
    (key, SiteSum { lock: key.address(), kind: key.kind(), address, totals, rule })
}

/// Returns the number of a rule.
fn rule(word: &AtomicU64) -> Option<u32> {
    word.load(Relaxed).checked_sub(1)?.try_into().ok()
}

fn empty(key: Key, sites: Vec<Site>) -> Lock {
    let (address, kind) = (key.address(), key.kind());
    Lock { address, kind, totals: Totals::default(), rule: None, last_ns: None, site: 0, sites }
}

/// Adds the waits at a call site to those of its lock.
fn add(lock: &mut Lock, sum: &SiteSum) {
    let more = &sum.totals;
    // Among sites with equally long waits the first, independent of the order in which they are added.
    let is_first = sum.address != 0 && (lock.site == 0 || sum.address < lock.site);
    if more.waits > 0 && (more.longest_ns > lock.longest_ns || more.longest_ns == lock.longest_ns && is_first) {
        lock.site = sum.address;
    }
    // A wait that is just being counted has no site yet.
    lock.totals.add(&Totals { longest_ns: if more.waits > 0 { more.longest_ns } else { 0 }, ..*more });
    lock.rule = lock.rule.max(sum.rule);
    let new = Site { address: sum.address, waits: 0, wait_ns: 0, longest_ns: 0 };
    let place = lock.sites.iter().position(|site| site.address == sum.address).unwrap_or_else(|| {
        lock.sites.push(new);
        lock.sites.len() - 1
    });
    let site = &mut lock.sites[place];
    site.waits = site.waits.saturating_add(more.waits);
    site.wait_ns = site.wait_ns.saturating_add(more.wait_ns);
    site.longest_ns = site.longest_ns.max(more.longest_ns);
}
