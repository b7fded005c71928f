//! Makes the profile of the observations: exact sums from the program's counters, the rest from the records.

use super::log::{Log, Place};
use super::{Look, Seen, remarks};
use crate::live::{ProcessId, channel_of, lock_kind};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use turnwise_live::layout::stack_of_site;
use turnwise_live::{Channel, Kind, SiteSum, Waiting, unnumbered};
use turnwise_profile::analysis::{Slept, call_site, is_wrapper, shown, slept};
use turnwise_profile::model::{
    Awaited, AwaitedSite, Distribution, Episode, Events, FrameId, LockKind, Method, Profile, Program, Recording, Site,
    StackId, Thread, Usage,
};
use turnwise_profile::waits::{Key, Waits};

pub(super) fn profile(seen: &Seen, program: Program) -> Profile {
    let snapshot = &seen.last.snapshot;
    let mut maker = Maker {
        seen,
        channel: channel_of(ProcessId { pid: snapshot.pid, start: snapshot.start }),
        waits: Waits::new(seen.modules.all()),
        places: HashMap::new(),
        kinds: HashMap::new(),
        awaited: Vec::new(),
        stacks: Vec::new(),
    };
    maker.threads();
    maker.sites();
    maker.locks();
    maker.blocked();
    maker.episodes();
    maker.finish(program)
}

struct Maker<'a> {
    seen: &'a Seen,
    /// The view, which has the stacks of waits that are not for our locks.
    channel: Option<Channel>,
    waits: Waits,
    places: HashMap<u64, Slept>,
    /// The way of waiting for a lock, and what it is, if it is not ours.
    kinds: HashMap<u64, (Kind, Option<LockKind>)>,
    awaited: Vec<Awaited>,
    /// The numbers of the log's stacks.
    stacks: Vec<StackId>,
}

impl<'a> Maker<'a> {
    fn log(&self) -> &'a Log {
        &self.seen.log
    }

    fn duration_ns(&self) -> u64 {
        self.seen.last.snapshot.taken_ns.saturating_sub(self.seen.first.snapshot.taken_ns)
    }

    /// Converts a point in time to the profile's.
    fn at(&self, ns: u64) -> u64 {
        ns.saturating_sub(self.seen.first.snapshot.taken_ns).min(self.duration_ns())
    }

    fn threads(&mut self) {
        let (first, last) = (&self.seen.first.snapshot, &self.seen.last.snapshot);
        let known = || first.threads.iter().chain(&last.threads);
        let holders = self.seen.log.kept.iter().filter_map(|kept| kept.wait.holder);
        let tids: BTreeSet<u32> =
            known().map(|thread| thread.tid).chain(self.seen.log.threads.keys().copied()).chain(holders).collect();
        for tid in tids {
            let life = self.seen.log.threads.get(&tid);
            let is_in = |threads: &[turnwise_live::Thread]| threads.iter().any(|thread| thread.tid == tid);
            let names = known().filter(|thread| thread.tid == tid).map(|thread| thread.name.as_str());
            let name = names.chain(life.map(|life| life.name.as_str())).find(|name| !name.is_empty());
            // The beginnings and ends of threads are not reported.
            let began_ns = life.filter(|_| !is_in(&first.threads)).map_or(0, |life| self.at(life.first_ns));
            let ended = life.filter(|_| last.alive && !is_in(&last.threads)).map(|life| self.at(life.last_ns));
            self.waits.thread(Thread {
                tid,
                name: name.unwrap_or("thread").to_owned(),
                began_ns,
                ended_ns: ended.unwrap_or_else(|| self.duration_ns()),
                usage: life.map(|life| life.waits.usage()).unwrap_or_default(),
                only_slept: false,
            });
        }
    }

    fn place(&mut self, site: u64) -> &Slept {
        let (symbols, channel) = (&mut self.waits.symbols, self.channel.as_ref());
        self.places.entry(site).or_insert_with(|| match site {
            0 => Slept::default(),
            _ if stack_of_site(site).is_none() => Slept { frames: call_site(symbols, site), ..Slept::default() },
            _ => slept(symbols, &channel.map(|channel| channel.calls(site)).unwrap_or_default()),
        })
    }

    fn frames_of(&mut self, site: u64) -> Vec<FrameId> {
        self.place(site).frames.clone()
    }

    /// Returns a call site as it is shown. Where each thread sleeps on a word of its own, the code stands for all.
    fn key(&mut self, (address, way, site): Place) -> Key {
        let place = self.place(site).clone();
        let kind = lock_kind(way, place.kind);
        let address = if kind.is_some_and(LockKind::is_parked) { place.call } else { address };
        self.kinds.insert(address, (way, kind));
        (address, place.frames, way == Kind::Read)
    }

    /// Returns that of a holder: one that writes. (Readers are never named as holders.)
    fn holder(&mut self, address: u64, site: u64) -> Key {
        let kind = match self.kinds.get(&address) {
            Some((Kind::Read, _)) | None => Kind::Write,
            Some((way, _)) => *way,
        };
        self.key((address, kind, site))
    }

    fn sites(&mut self) {
        let usages = usages(&self.seen.first, &self.seen.last);
        let usages: Vec<_> = usages.into_iter().map(|(place, usage)| (self.key(place), usage)).collect();
        let is_of_lock = |((address, ..), _): &(Key, Usage)| kind_in(&self.kinds, *address).is_lock();
        let (of_locks, others): (Vec<_>, Vec<_>) = usages.into_iter().partition(is_of_lock);
        others.into_iter().for_each(|(key, usage)| self.awaits(key, &usage));
        self.awaited.sort_by_key(|one| (Reverse(one.wait.sum_ns), one.address));
        self.waits.sites(of_locks);
        for stack in &self.log().stacks {
            let mut frames = stack.first().map(|site| self.frames_of(*site)).unwrap_or_default();
            for address in stack.iter().skip(1) {
                frames.extend(self.waits.symbols.of_return_address(*address));
            }
            self.stacks.push(self.waits.stack(frames));
        }
        let stacks = self.log().sites.iter();
        let stacks: Vec<_> = stacks.map(|((place, stack), sum)| (self.key(*place), self.stacks[*stack], sum)).collect();
        self.waits.stacks(stacks);
        let holds: Vec<_> = self.log().holds.iter().map(|(place, sum)| (self.key(*place), sum)).collect();
        self.waits.holds(holds);
    }

    /// Adds waits for what is no lock.
    fn awaits(&mut self, (address, frames, _): Key, usage: &Usage) {
        let kind = kind_in(&self.kinds, address);
        let place = self.awaited.iter().position(|one| (one.address, one.kind) == (address, kind));
        let place = place.unwrap_or_else(|| {
            let symbols = &mut self.waits.symbols;
            let variable = symbols.variable(address).map(|found| found.name);
            let used = || Some(format!("in {}", shown(symbols.frame(*frames.first()?))));
            let name = variable.or_else(used).unwrap_or_else(|| format!("{:#x}", unnumbered(address)));
            self.awaited.push(Awaited { address, kind, name, ..Awaited::default() });
            self.awaited.len() - 1
        });
        let one = &mut self.awaited[place];
        one.wait.merge(&usage.wait);
        one.timed_out += usage.failed;
        one.sites.push(AwaitedSite { frames, waits: usage.wait.count, wait_ns: usage.wait.sum_ns });
        one.sites.sort_by_key(|site| Reverse(site.wait_ns));
    }

    fn locks(&mut self) {
        let (kinds, courses, duration_ns) = (&self.kinds, &self.log().courses, self.duration_ns());
        let about = |address| (kind_in(kinds, address), courses.get(&address));
        self.waits.locks(duration_ns, about, |waits, site| {
            Some(format!("taken in {}", shown(waits.symbols.frame(taken(waits, site)?))))
        });
    }

    fn blocked(&mut self) {
        let pairs = self.log().blocked.iter();
        let pairs = pairs.map(|((place, holder), sum)| (self.key(*place), self.holder(place.0, *holder), sum));
        let pairs: Vec<_> = pairs.collect();
        self.waits.blocked(pairs);
    }

    fn episodes(&mut self) {
        for kept in &self.log().kept {
            let wait = &kept.wait;
            let site = self.key((wait.lock, wait.kind, wait.site));
            let holder = wait.holder.filter(|_| wait.holder_site != 0);
            let holder = holder.map(|tid| (tid, self.holder(wait.lock, wait.holder_site)));
            let episode = Episode {
                stack: Some(self.stacks[kept.stack]),
                began_ns: self.at(wait.began_ns),
                acquired_ns: self.at(wait.ended_ns),
                released_ns: kept.released_ns.map(|at| self.at(at)),
                acquired: wait.acquired,
                ..Episode::default()
            };
            self.waits.episode(wait.tid, site, holder, episode);
        }
    }

    fn finish(self, program: Program) -> Profile {
        let (pid, duration_ns) = (self.seen.last.snapshot.pid, self.duration_ns());
        let (mut profile, troubles) = self.waits.finish();
        profile.awaited = self.awaited;
        profile.awaited.iter_mut().for_each(|one| one.address = unnumbered(one.address));
        profile.program = Program { pid, duration_ns, ..program };
        let waits: u64 = profile.locks.iter().map(|lock| lock.usage.wait.count).sum();
        let missing = self.seen.missing.iter().map(|why| format!("No live view of the process was found: {why}."));
        profile.recording = Recording {
            // Never 1: stacks are scaled up to the exact sums.
            stack_one_in: waits.checked_div(self.seen.log.records).unwrap_or(0).clamp(2, u64::from(u32::MAX)) as u32,
            episodes_dropped: waits.saturating_sub(profile.recording.episodes_kept),
            method: Method::Live,
            records_lost: self.seen.losses.0,
            missing: missing.collect(),
            ..profile.recording
        };
        profile.deadlocks = remarks::deadlocks(self.seen, &profile);
        profile.recording.remarks = remarks::of(self.seen, &profile, troubles);
        profile.locks.iter_mut().for_each(|lock| lock.address = unnumbered(lock.address));
        profile
    }
}

/// Returns what a lock is, by the ways of waiting for it.
fn kind_in(kinds: &HashMap<u64, (Kind, Option<LockKind>)>, address: u64) -> LockKind {
    match kinds.get(&address) {
        Some((_, Some(kind))) => *kind,
        Some((Kind::Read | Kind::Write, None)) => LockKind::RwLock,
        Some((Kind::Spin, None)) => LockKind::SpinLock,
        _ => LockKind::Mutex,
    }
}

/// Returns the frame that names a lock that is taken there: not of a function that only locks for others.
fn taken(waits: &Waits, site: &Site) -> Option<FrameId> {
    let passes = |frame: &FrameId| is_wrapper(waits.symbols.frame(*frame));
    let own = *site.frames.first()?;
    let longest = site.stacks.iter().max_by_key(|stack| stack.wait_ns).filter(|_| passes(&own));
    let stack = longest.map_or(&[][..], |stack| waits.frames(stack.stack));
    Some(stack.iter().copied().find(|frame| !passes(frame)).unwrap_or(own))
}

/// Returns the use of each call site between two looks.
fn usages(first: &Look, last: &Look) -> BTreeMap<Place, Usage> {
    let place = |sum: &SiteSum| (sum.lock, sum.kind, sum.address);
    let before: HashMap<Place, &SiteSum> = first.sums.iter().map(|sum| (place(sum), sum)).collect();
    let since = |sum: &SiteSum| (place(sum), usage(sum, before.get(&place(sum)).copied()));
    let mut usages: BTreeMap<Place, Usage> =
        last.sums.iter().map(since).filter(|(_, usage)| usage.wait.count > 0).collect();
    let known = Events { sleeps: Some(0), steals: Some(0), handoffs: Some(0), ..Events::default() };
    let none = || Usage { events: known, ..Usage::default() };
    // Current waits count until now; waits that had begun earlier count without the time before.
    for (look, is_last) in [(last, true), (first, false)] {
        let waiting = look.snapshot.threads.iter().filter_map(|thread| thread.waiting.as_ref());
        for wait in waiting.filter(|_| look.snapshot.alive) {
            let place: Place = (wait.lock, wait.kind, wait.site);
            let ns = waited_ns(wait, look);
            if is_last {
                let wait = &mut usages.entry(place).or_insert_with(none).wait;
                (wait.sum_ns, wait.max_ns) = (wait.sum_ns.saturating_add(ns), wait.max_ns.max(ns));
            } else if let Some(usage) = usages.get_mut(&place) {
                usage.wait.sum_ns = usage.wait.sum_ns.saturating_sub(ns);
            }
        }
    }
    usages
}

fn waited_ns(wait: &Waiting, look: &Look) -> u64 {
    look.snapshot.taken_ns.saturating_sub(wait.since_ns)
}

fn usage(sum: &SiteSum, before: Option<&SiteSum>) -> Usage {
    let before = before.map(|sum| sum.totals).unwrap_or_default();
    let since = sum.totals.since(&before);
    let counts = since.histogram.iter().enumerate().filter(|(_, count)| **count > 0);
    let buckets: Vec<(u64, u64)> = counts.map(|(place, count)| ((2 << place) - 1, *count)).collect();
    let last_bound = buckets.last().map_or(0, |(bound, _)| *bound);
    // The longest wait of all is known to be in this time only if it is longer than the one before.
    let is_new = since.longest_ns > before.longest_ns;
    let max_ns = if is_new { since.longest_ns } else { last_bound.min(since.longest_ns) };
    let count = buckets.iter().map(|(_, count)| count).sum();
    let wait = Distribution { count, sum_ns: since.wait_ns, max_ns, buckets };
    let [sleeps, steals, handoffs] = [since.sleeps, since.steals, since.handoffs].map(Some);
    let events = Events { sleeps, steals, handoffs, watched: count, ..Events::default() };
    let (contended, failed) = (count.saturating_sub(since.gave_up), since.gave_up);
    Usage { contended, failed, wait, events, ..Usage::default() }
}
