//! Sites with their stacks, individual waits, and which sites blocked which.

use super::Work;
use super::sites::{RawSite, Sites};
use super::sums::held_by_one;
use crate::figures::scaled;
use crate::model::{Blocked, Distribution, Episode, Profile, Site, SiteId, StackId, StackUsage};
use std::cmp::Reverse;
use std::collections::HashMap;
use turnwise_recording::{ACQUIRED, EpisodeCopy, Op, Ref, TALLY_HOLDER, TALLY_LOOKED, TALLY_OFF_CPU, TALLY_STACK};

/// Fills in `sites`, `episodes` and `blocked`.
pub(super) fn fill(work: &mut Work, sites: &Sites, profile: &mut Profile) {
    let mut blocked = Vec::new();
    for (raw, id) in sites.sites.iter().zip(0..) {
        profile.sites.push(site(work, sites, raw, id, &mut blocked));
    }
    let known = |episode: &EpisodeCopy| {
        let site = sites.of_entry(work.recording.entry_at(episode.entry)?)?;
        Some((episode.clone(), site))
    };
    let known: Vec<_> = work.recording.episodes.iter().filter_map(known).collect();
    profile.episodes = known.iter().map(|(episode, site)| self::episode(work, sites, episode, *site)).collect();
    profile.episodes.sort_by_key(|episode| (episode.began_ns, episode.thread));
    profile.blocked = blocked;
    profile.blocked.sort_by_key(|pair| (Reverse(pair.wait_ns), pair.waiter, pair.holder));
    profile.recording.episodes_kept = profile.episodes.len() as u64;
    profile.recording.episodes_dropped = work.recording.threads.iter().map(|thread| thread.dropped).sum();
}

fn site(work: &mut Work, sites: &Sites, raw: &RawSite, id: SiteId, blocked: &mut Vec<Blocked>) -> Site {
    let mut parts = Parts::default();
    for entry in &raw.entries {
        for wait in work.pending.of_entry(*entry) {
            let wait_ns = work.clock.ns(wait.ticks);
            add(&mut parts.stacks, work.stack(wait.episode.stack), 1, wait_ns);
            let holder = sites.holder(*entry, wait.episode.holder_site).filter(|_| wait.episode.holder > 0);
            add(&mut parts.holders, holder, 1, wait_ns);
        }
        let copy = &work.recording.entries[*entry];
        let Some(detail) = work.recording.detail(copy.detail) else { continue };
        if raw.op == Op::Sleep {
            let (waits, wait_ns) = (detail.wait.iter().map(|n| u64::from(*n)).sum(), work.clock.ns(detail.wait_sum));
            add(&mut parts.stacks, work.stack(copy.mutex_or_under as Ref), waits, wait_ns);
        }
        for tally in work.recording.tallies(detail.tallies) {
            let (waits, wait_ns) = (tally.waits, work.clock.ns(tally.ticks));
            let holder = sites.holder(*entry, tally.key);
            match tally.kind {
                TALLY_STACK => add(&mut parts.stacks, work.stack(tally.key as Ref), waits, wait_ns),
                TALLY_HOLDER => add(&mut parts.holders, holder, waits, wait_ns),
                TALLY_LOOKED => add(&mut parts.looks, holder, waits, 0),
                TALLY_OFF_CPU => add(&mut parts.looks, holder, 0, waits),
                _ => {}
            }
        }
    }
    parts.fit(&raw.sum.waits(work.clock));
    blocked.extend(parts.blocked(id));
    let mut usage = raw.sum.usage(work.clock, work.reports);
    if raw.op != Op::Read {
        usage = held_by_one(usage, work.duration_ns);
    }
    let frames = match raw.op {
        Op::Sleep | Op::Wake => super::slept(&mut work.symbols, &[raw.address]).frames,
        _ => super::call_site(&mut work.symbols, raw.address),
    };
    Site {
        lock: sites.lock_id(raw.key.0).unwrap_or_default(),
        frames,
        reader: raw.op == Op::Read,
        after_wait: raw.op == Op::AfterWait,
        usage,
        stacks: parts.stacks(),
    }
}

/// A site's waits by what they had in common: waits and nanoseconds.
#[derive(Default)]
struct Parts {
    stacks: HashMap<StackId, (u64, u64)>,
    holders: HashMap<SiteId, (u64, u64)>,
    /// Waits at whose beginning the holder was checked, and those in which it was off its CPU.
    looks: HashMap<SiteId, (u64, u64)>,
}

/// Adds two figures to the part of `key`, if it is known.
fn add(parts: &mut HashMap<u32, (u64, u64)>, key: Option<u32>, first: u64, second: u64) {
    if let Some(key) = key {
        let part = parts.entry(key).or_default();
        *part = (part.0 + first, part.1 + second);
    }
}

impl Parts {
    fn blocked(&self, waiter: SiteId) -> impl Iterator<Item = Blocked> {
        self.holders.iter().map(move |(holder, &(waits, wait_ns))| {
            let (looked, off) = self.looks.get(holder).copied().unwrap_or_default();
            // Both are estimates: of few waits, more may have been checked than there were.
            let part = |of: u64| scaled(of, looked.max(1), looked.min(waits));
            let holder_off_cpu = (looked > 0).then(|| part(off));
            Blocked { waiter, holder: *holder, waits, wait_ns, looked: part(looked), holder_off_cpu }
        })
    }

    /// Makes the stacks, known from samples, add up to all waits, and the holders to no more than all: the holders of
    /// many waits are unknown.
    fn fit(&mut self, all: &Distribution) {
        fit(&mut self.stacks, all, true);
        fit(&mut self.holders, all, false);
    }

    fn stacks(&self) -> Vec<StackUsage> {
        let usage =
            |(stack, part): (&StackId, &(u64, u64))| StackUsage { stack: *stack, waits: part.0, wait_ns: part.1 };
        let mut usages: Vec<_> = self.stacks.iter().map(usage).collect();
        usages.sort_by_key(|usage| (Reverse(usage.wait_ns), usage.stack));
        usages
    }
}

fn fit<K>(parts: &mut HashMap<K, (u64, u64)>, all: &Distribution, whole: bool) {
    let known = parts.values().fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    let fitted = |part: u64, known: u64, all: u64| match known {
        0 => part,
        _ if known > all || whole => scaled(part, known, all),
        _ => part,
    };
    for part in parts.values_mut() {
        *part = (fitted(part.0, known.0, all.count), fitted(part.1, known.1, all.sum_ns));
    }
}

fn episode(work: &mut Work, sites: &Sites, episode: &EpisodeCopy, site: SiteId) -> Episode {
    let entry = work.recording.entry_at(episode.entry);
    let last = work.recording.threads.len().saturating_sub(1) as u32;
    let holder = episode
        .holder
        .checked_sub(1)
        .and_then(|thread| Some((thread.min(last), sites.holder(entry?, episode.holder_site)?)));
    let end = if episode.acquired == 0 { work.duration_ns } else { work.clock.since_start(episode.acquired) };
    Episode {
        thread: episode.thread.min(last),
        site,
        stack: work.stack(episode.stack),
        began_ns: work.clock.since_start(episode.began),
        acquired_ns: end,
        released_ns: (episode.released != 0).then(|| work.clock.since_start(episode.released)),
        holder,
        acquired: episode.flags & ACQUIRED != 0,
    }
}
