//! Adds up the figures of the table and the blocks, for each call site and each lock.

use super::clock::Clock;
use super::copy::{BlockCopy, Copy};
use super::snapshot::{Lock, Site, SiteSum, Totals};
use crate::layout::{self, BUCKETS, Entry, Wait, flags, state};
use crate::{Key, Kind};
use core::cmp::Reverse;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Returns the totals of the waits at each call site of each lock.
pub(crate) fn by_site(copy: &Copy, clock: &Clock) -> Vec<SiteSum> {
    let mut places: FxHashMap<(u64, Kind, u64), usize> = FxHashMap::default();
    let mut sites: Vec<SiteSum> = Vec::new();
    let of_table = copy.table.iter().filter_map(of_entry);
    for sum in of_table.chain(copy.blocks.iter().flat_map(|block| of_block(block, clock))) {
        let place = *places.entry((sum.lock, sum.kind, sum.address)).or_insert(sites.len());
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

/// Returns the locks with waits that have ended, the one with most wait time first.
pub(crate) fn by_lock(sites: &[SiteSum], copy: &Copy, clock: &Clock) -> Vec<Arc<Lock>> {
    let mut places: FxHashMap<(u64, Kind), usize> = FxHashMap::default();
    let mut locks: Vec<Lock> = Vec::new();
    for sum in sites {
        let place = *places.entry((sum.lock, sum.kind)).or_insert(locks.len());
        if place == locks.len() {
            let (address, kind) = (sum.lock, sum.kind);
            let (totals, sites) = (Totals::default(), Vec::new());
            locks.push(Lock { address, kind, totals, rule: None, last_ns: None, site: 0, sites });
        }
        add(&mut locks[place], sum);
    }
    for (key, at_ns) in copy.blocks.iter().filter_map(|block| last(block, clock)) {
        if let Some(place) = places.get(&(key.address(), key.kind())) {
            locks[*place].last_ns = locks[*place].last_ns.max(Some(at_ns));
        }
    }
    locks.retain(|lock| lock.waits > 0);
    locks.sort_by_cached_key(|lock| (Reverse(lock.wait_ns), lock.address, lock.kind));
    locks.into_iter().map(in_order).map(Arc::new).collect()
}

/// Puts a lock's call sites in order.
fn in_order(mut lock: Lock) -> Lock {
    lock.sites.sort_unstable_by_key(|site| (Reverse(site.wait_ns), site.address));
    lock
}

/// Adds the waits at a call site to those of its lock.
fn add(lock: &mut Lock, sum: &SiteSum) {
    let &SiteSum { address, rule, totals, .. } = sum;
    // Among sites with equally long waits the first, independent of the order in which they are added.
    let is_first = address != 0 && (lock.site == 0 || address < lock.site);
    if totals.waits > 0 && (totals.longest_ns > lock.longest_ns || totals.longest_ns == lock.longest_ns && is_first) {
        lock.site = address;
    }
    lock.totals.add(&totals);
    lock.rule = lock.rule.max(rule);
    lock.sites.push(Site { address, waits: totals.waits, wait_ns: totals.wait_ns, longest_ns: totals.longest_ns });
}

/// Returns a block's figures: the entries that were stable, and the wait that ended last.
fn of_block(block: &BlockCopy, clock: &Clock) -> impl Iterator<Item = SiteSum> {
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

fn of_entry(entry: &Entry) -> Option<SiteSum> {
    let key = Key::read(entry.key.load(Relaxed))?;
    let count = |count: &AtomicU32| u64::from(count.load(Relaxed));
    let histogram = entry.histogram.each_ref().map(count);
    let waits = histogram.iter().sum();
    let totals = Totals {
        waits,
        wait_ns: entry.wait_ns.load(Relaxed),
        // A wait that is just being counted is not the longest of those that are.
        longest_ns: if waits > 0 { entry.longest_ns.load(Relaxed) } else { 0 },
        sleeps: count(&entry.sleeps),
        steals: count(&entry.steals),
        handoffs: count(&entry.handoffs),
        gave_up: count(&entry.gave_up),
        histogram,
    };
    Some(of_key(key, entry.site.load(Relaxed), totals, rule(&entry.rule)))
}

fn of_wait(wait: &Wait, clock: &Clock) -> Option<SiteSum> {
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

fn of_key(key: Key, address: u64, totals: Totals, rule: Option<u32>) -> SiteSum {
    SiteSum { lock: key.address(), kind: key.kind(), address, totals, rule }
}

/// Returns the number of a rule.
fn rule(word: &AtomicU64) -> Option<u32> {
    word.load(Relaxed).checked_sub(1)?.try_into().ok()
}
