//! Adds up what a copy says.

use super::clock::Clock;
use super::copy::{BlockCopy, Copy};
use super::snapshot::{Lock, Site, SiteSum};
use crate::layout::{self, BUCKETS, Entry, Wait, flags, state};
use crate::{Key, Kind};
use core::cmp::Reverse;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64};
use std::collections::HashMap;

/// Returns the locks of a copy; the one with most wait time first.
pub(crate) fn locks(copy: &Copy, clock: &Clock) -> Vec<Lock> {
    let mut places: HashMap<Key, usize> = HashMap::with_capacity(copy.locks.len());
    let mut locks: Vec<Lock> = Vec::with_capacity(copy.locks.len());
    for (key, sum) in sums(copy, clock) {
        let place = *places.entry(key).or_insert(locks.len());
        if place == locks.len() {
            locks.push(empty(key));
        }
        add(&mut locks[place], &sum);
    }
    in_order(locks)
}

/// Returns what the waits come to at each call site of each lock.
pub(crate) fn by_site(copy: &Copy, clock: &Clock) -> Vec<SiteSum> {
    let mut places: HashMap<(Key, u64), usize> = HashMap::new();
    let mut sites: Vec<SiteSum> = Vec::new();
    for (key, sum) in sums(copy, clock) {
        let place = *places.entry((key, sum.address)).or_insert(sites.len());
        match sites.get_mut(place) {
            Some(site) => merge(site, &sum),
            None => sites.push(sum),
        }
    }
    sites
}

/// What the threads and the table say, part by part.
fn sums(copy: &Copy, clock: &Clock) -> impl Iterator<Item = (Key, SiteSum)> {
    let entries = copy.blocks.iter().filter(|b| b.block.state.load(Relaxed) != state::FREE).flat_map(|block| {
        let entries = (0..layout::ENTRIES).filter_map(|index| steady(block, index)).filter_map(of_entry);
        entries.chain(ended(block).and_then(|wait| of_wait(wait, clock)))
    });
    copy.locks.iter().filter_map(of_lock).chain(entries)
}

fn merge(site: &mut SiteSum, sum: &SiteSum) {
    let grow = |count: &mut u64, more: u64| *count = count.saturating_add(more);
    grow(&mut site.wait_ns, sum.wait_ns);
    grow(&mut site.gave_up, sum.gave_up);
    site.longest_ns = site.longest_ns.max(sum.longest_ns);
    site.events.iter_mut().zip(sum.events).for_each(|(count, more)| grow(count, more));
    site.histogram.iter_mut().zip(sum.histogram).for_each(|(count, more)| grow(count, more));
}

/// Sorts the locks and their sites by wait time. The locks move once: there may be thousands, of half a kilobyte.
fn in_order(locks: Vec<Lock>) -> Vec<Lock> {
    let rank = |(place, lock): (usize, &Lock)| (Reverse(lock.wait_ns), lock.address, lock.kind, place);
    let mut ranks: Vec<_> = locks.iter().enumerate().filter(|(_, lock)| lock.waits > 0).map(rank).collect();
    ranks.sort_unstable();
    let mut locks: Vec<Option<Lock>> = locks.into_iter().map(Some).collect();
    let mut sorted: Vec<Lock> = ranks.into_iter().filter_map(|(.., place)| locks[place].take()).collect();
    for lock in &mut sorted {
        lock.sites.sort_unstable_by_key(|site| (Reverse(site.wait_ns), site.address));
    }
    sorted
}

/// An entry whose lock did not change in the three readings. It only grows while it is the same entry.
fn steady(block: &BlockCopy, index: usize) -> Option<&Entry> {
    let readings = [&block.before, &block.block, &block.after].map(|block| &block.entries[index]);
    let [before, entry, after] = readings.map(|e| {
        let waits = e.histogram.iter().fold(0_u64, |sum, count| sum + u64::from(count.load(Relaxed)));
        (e.key.load(Relaxed), e.site.load(Relaxed), waits)
    });
    let is_same = (before.0, before.1) == (entry.0, entry.1) && (after.0, after.1) == (entry.0, entry.1);
    (is_same && before.2 <= entry.2 && entry.2 <= after.2).then_some(readings[1])
}

/// The last wait of a block's thread, if it has ended.
fn ended(block: &BlockCopy) -> Option<&Wait> {
    let wait = &block.block.wait;
    let is_over = wait.flags.load(Relaxed) & (flags::ACQUIRED | flags::GAVE_UP) != 0;
    (is_over && block.stood(|block| &block.wait.sequence)).then_some(wait)
}

fn of_lock(lock: &layout::Lock) -> Option<(Key, SiteSum)> {
    let key = Key::read(lock.key.load(Relaxed))?;
    Some((
        key,
        SiteSum {
            lock: key.address(),
            kind: key.kind(),
            address: lock.site.load(Relaxed).saturating_sub(1),
            wait_ns: lock.wait_ns.load(Relaxed),
            longest_ns: lock.longest_ns.load(Relaxed),
            events: [&lock.sleeps, &lock.steals, &lock.handoffs].map(|count: &AtomicU64| count.load(Relaxed)),
            gave_up: lock.gave_up.load(Relaxed),
            histogram: lock.histogram.each_ref().map(|count| count.load(Relaxed)),
        },
    ))
}

fn of_entry(entry: &Entry) -> Option<(Key, SiteSum)> {
    let key = Key::read(entry.key.load(Relaxed))?;
    Some((
        key,
        SiteSum {
            lock: key.address(),
            kind: key.kind(),
            address: entry.site.load(Relaxed),
            wait_ns: entry.wait_ns.load(Relaxed),
            longest_ns: entry.longest_ns.load(Relaxed),
            events: [&entry.sleeps, &entry.steals, &entry.handoffs].map(|count: &AtomicU32| count.load(Relaxed).into()),
            gave_up: entry.gave_up.load(Relaxed).into(),
            histogram: entry.histogram.each_ref().map(|count| count.load(Relaxed).into()),
        },
    ))
}

fn of_wait(wait: &Wait, clock: &Clock) -> Option<(Key, SiteSum)> {
    let ns = clock.length(wait.until.load(Relaxed).saturating_sub(wait.since.load(Relaxed)));
    let mut histogram = [0; BUCKETS];
    histogram[layout::bucket(ns)] = 1;
    let happened = |n: usize| wait.after[n].load(Relaxed).wrapping_sub(wait.before[n].load(Relaxed)).into();
    let key = Key::read(wait.key.load(Relaxed))?;
    Some((
        key,
        SiteSum {
            lock: key.address(),
            kind: key.kind(),
            address: wait.site.load(Relaxed),
            wait_ns: ns,
            longest_ns: ns,
            events: core::array::from_fn(happened),
            gave_up: u64::from(wait.flags.load(Relaxed) & flags::GAVE_UP != 0),
            histogram,
        },
    ))
}

fn empty(key: Key) -> Lock {
    let (address, kind): (u64, Kind) = (key.address(), key.kind());
    Lock {
        address,
        kind,
        waits: 0,
        wait_ns: 0,
        histogram: [0; BUCKETS],
        longest_ns: 0,
        sleeps: 0,
        steals: 0,
        handoffs: 0,
        gave_up: 0,
        site: 0,
        sites: Vec::new(),
    }
}

/// Adds without overflow, whatever a damaged file says.
fn add(lock: &mut Lock, sum: &SiteSum) {
    let waits = sum.histogram.iter().fold(0_u64, |all, count| all.saturating_add(*count));
    let grow = |count: &mut u64, more: u64| *count = count.saturating_add(more);
    grow(&mut lock.waits, waits);
    grow(&mut lock.wait_ns, sum.wait_ns);
    for (count, more) in lock.histogram.iter_mut().zip(sum.histogram) {
        grow(count, more);
    }
    for (count, more) in [&mut lock.sleeps, &mut lock.steals, &mut lock.handoffs].into_iter().zip(sum.events) {
        grow(count, more);
    }
    grow(&mut lock.gave_up, sum.gave_up);
    if sum.longest_ns >= lock.longest_ns && waits > 0 {
        (lock.longest_ns, lock.site) = (sum.longest_ns, sum.address);
    }
    let new = Site { address: sum.address, waits: 0, wait_ns: 0, longest_ns: 0 };
    let place = lock.sites.iter().position(|site| site.address == sum.address).unwrap_or_else(|| {
        lock.sites.push(new);
        lock.sites.len() - 1
    });
    let site = &mut lock.sites[place];
    grow(&mut site.waits, waits);
    grow(&mut site.wait_ns, sum.wait_ns);
    site.longest_ns = site.longest_ns.max(sum.longest_ns);
}
