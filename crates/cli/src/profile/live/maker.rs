//! Makes the profile of the observations: exact sums from the program's counters, the rest from the records.

use super::log::{Estimate, Place};
use super::{Look, Seen, remarks};
use indexmap::IndexSet;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use turnwise_live::{Kind, SiteSum, Waiting, unnumbered};
use turnwise_profile::analysis::{is_lock_class, is_wrapper, shown};
use turnwise_profile::model::{
    Blocked, Distribution, Episode, Events, FrameId, Lock, LockId, LockKind, Method, Profile, Program, Recording,
    SCHEMA, Site, SiteId, StackUsage, Thread, ThreadId, Usage,
};
use turnwise_profile::symbols::Symbols;

/// The maximum number of locks; those at which threads waited least are left out.
const MOST_LOCKS: usize = 4_000;

/// Makes the profile.
pub(super) fn profile(seen: &Seen, program: Program) -> Profile {
    let mut maker = Maker::new(seen);
    maker.sites();
    maker.locks();
    maker.blocked();
    maker.episodes();
    maker.finish(program)
}

/// A call site as it is shown: the lock's address, the frames, and whether it reads.
type Key = (u64, Vec<FrameId>, bool);

/// The totals of a call site's waits in the recorded time.
#[derive(Clone, Debug, Default)]
struct Part {
    wait: Distribution,
    gave_up: u64,
    events: [u64; 3],
}

struct Maker<'a> {
    seen: &'a Seen,
    symbols: Symbols,
    stacks: IndexSet<Vec<FrameId>>,
    frames: HashMap<u64, Vec<FrameId>>,
    threads: BTreeMap<u32, ThreadId>,
    site_ids: HashMap<Key, SiteId>,
    lock_ids: HashMap<u64, LockId>,
    kinds: HashMap<u64, Kind>,
    left_out: usize,
    profile: Profile,
}

impl<'a> Maker<'a> {
    fn new(seen: &'a Seen) -> Maker<'a> {
        let mut maker = Maker {
            seen,
            symbols: Symbols::in_order(seen.modules.all()),
            stacks: IndexSet::new(),
            frames: HashMap::new(),
            threads: BTreeMap::new(),
            site_ids: HashMap::new(),
            lock_ids: HashMap::new(),
            kinds: HashMap::new(),
            left_out: 0,
            profile: Profile { schema: SCHEMA, ..Profile::default() },
        };
        maker.threads();
        maker
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
        for (id, tid) in (0..).zip(tids) {
            let life = self.seen.log.threads.get(&tid);
            let is_in = |threads: &[turnwise_live::Thread]| threads.iter().any(|thread| thread.tid == tid);
            let names = known().filter(|thread| thread.tid == tid).map(|thread| thread.name.as_str());
            let name = names.chain(life.map(|life| life.name.as_str())).find(|name| !name.is_empty());
            // The beginnings and ends of threads are not reported.
            let began_ns = life.filter(|_| !is_in(&first.threads)).map_or(0, |life| self.at(life.first_ns));
            let ended = life.filter(|_| last.alive && !is_in(&last.threads)).map(|life| self.at(life.last_ns));
            let wait = life.map(|life| life.waits.distribution()).unwrap_or_default();
            self.threads.insert(tid, id);
            self.profile.threads.push(Thread {
                tid,
                name: name.unwrap_or("thread").to_owned(),
                began_ns,
                ended_ns: ended.unwrap_or_else(|| self.duration_ns()),
                usage: Usage { contended: wait.count, wait, ..Usage::default() },
            });
        }
    }

    /// Returns the frames of a call site.
    fn frames_of(&mut self, site: u64) -> Vec<FrameId> {
        if let Some(frames) = self.frames.get(&site) {
            return frames.clone();
        }
        let frames = if site == 0 { Vec::new() } else { self.symbols.of_return_address(site) };
        let own = frames.iter().position(|frame| !is_lock_class(self.symbols.frame(*frame))).unwrap_or(0);
        let frames = self.symbols.distinguished(frames[own..].to_vec(), site);
        self.frames.insert(site, frames.clone());
        frames
    }

    /// Returns a stack, by its number in the log.
    fn stack_of(&mut self, stack: usize) -> u32 {
        let addresses = self.seen.log.stacks.get_index(stack).cloned().unwrap_or_default();
        let mut frames = addresses.first().map(|site| self.frames_of(*site)).unwrap_or_default();
        for address in addresses.iter().skip(1) {
            frames.extend(self.symbols.of_return_address(*address));
        }
        self.stacks.insert_full(frames).0 as u32
    }

    /// Adds all call sites that waited, longest first; locks are numbered in the same order.
    fn sites(&mut self) {
        let mut found: BTreeMap<Key, Part> = BTreeMap::new();
        for (place, part) in parts(&self.seen.first, &self.seen.last) {
            let key = self.key(place);
            let entry = found.entry(key).or_default();
            merge(entry, &part);
        }
        let mut by_lock: BTreeMap<u64, u64> = BTreeMap::new();
        for ((address, ..), part) in &found {
            *by_lock.entry(*address).or_default() += part.wait.sum_ns;
        }
        let mut locks: Vec<(u64, u64)> = by_lock.into_iter().collect();
        locks.sort_by_key(|(_, wait_ns)| Reverse(*wait_ns));
        self.left_out = locks.len().saturating_sub(MOST_LOCKS);
        locks.truncate(MOST_LOCKS);
        self.lock_ids = locks.iter().map(|(address, _)| *address).zip(0..).collect();
        let mut found: Vec<(Key, Part)> = found.into_iter().collect();
        found.sort_by_key(|(_, part)| Reverse(part.wait.sum_ns));
        for (key, part) in found {
            self.site(key, usage(part));
        }
        self.sampled();
    }

    fn key(&mut self, (address, kind, site): Place) -> Key {
        self.kinds.insert(address, kind);
        (address, self.frames_of(site), kind == Kind::Read)
    }

    /// Adds a site, unless its lock is left out.
    fn site(&mut self, key: Key, usage: Usage) -> Option<SiteId> {
        if let Some(known) = self.site_ids.get(&key) {
            return Some(*known);
        }
        let lock = *self.lock_ids.get(&key.0)?;
        let id = self.profile.sites.len() as SiteId;
        let (frames, reader) = (key.1.clone(), key.2);
        self.profile.sites.push(Site { lock, frames, reader, usage, ..Site::default() });
        self.site_ids.insert(key, id);
        Some(id)
    }

    /// Returns a site that records name.
    fn site_of(&mut self, place: Place) -> Option<SiteId> {
        let key = self.key(place);
        self.site(key, Usage::default())
    }

    /// Adds the sites' data from records: stacks and holds.
    fn sampled(&mut self) {
        let log = &self.seen.log;
        let mut stacks: BTreeMap<(SiteId, u32), Estimate> = BTreeMap::new();
        for ((place, stack), estimate) in &log.sites {
            let Some(site) = self.site_of(*place) else { continue };
            stacks.entry((site, self.stack_of(*stack))).or_default().merge(estimate);
        }
        for ((site, stack), estimate) in stacks {
            let (waits, wait_ns) = estimate.sums();
            self.profile.sites[site as usize].stacks.push(StackUsage { stack, waits, wait_ns });
        }
        let mut holds: BTreeMap<SiteId, Estimate> = BTreeMap::new();
        for (place, estimate) in &log.holds {
            let Some(site) = self.site_of(*place) else { continue };
            holds.entry(site).or_default().merge(estimate);
        }
        for (site, estimate) in holds {
            self.profile.sites[site as usize].usage.hold = estimate.distribution();
        }
    }

    fn locks(&mut self) {
        let mut addresses: Vec<(u64, LockId)> = self.lock_ids.iter().map(|(address, id)| (*address, *id)).collect();
        addresses.sort_by_key(|(_, id)| *id);
        let duration_ns = self.duration_ns();
        for (address, id) in addresses {
            let (over_time, step_ns) =
                self.seen.log.courses.get(&address).map(|course| course.steps(duration_ns)).unwrap_or_default();
            let variable = self.symbols.variable(address);
            let of_lock = || self.profile.sites.iter().filter(|site| site.lock == id);
            let taken =
                of_lock().find_map(|site| Some(format!("taken in {}", shown(self.symbols.frame(self.taken(site)?)))));
            let name = variable.as_ref().map(|found| found.name.clone()).or(taken);
            let lock = Lock {
                address,
                kind: match self.kinds.get(&address) {
                    Some(Kind::Read | Kind::Write) => LockKind::RwLock,
                    Some(Kind::Spin) => LockKind::SpinLock,
                    _ => LockKind::Mutex,
                },
                name: name.unwrap_or_else(|| format!("{:#x}", unnumbered(address))),
                symbol: variable.map(|found| format!("{} ({})", found.name, found.module)),
                usage: sum(of_lock().map(|site| &site.usage)),
                over_time,
                step_ns,
                ..Lock::default()
            };
            self.profile.locks.push(lock);
        }
    }

    /// Returns the frame that names a lock that is taken there: not of a function that only locks for others.
    fn taken(&self, site: &Site) -> Option<FrameId> {
        let passes = |frame: &FrameId| is_wrapper(self.symbols.frame(*frame));
        let own = *site.frames.first()?;
        let longest = site.stacks.iter().max_by_key(|stack| stack.wait_ns).filter(|_| passes(&own));
        let stack = longest.and_then(|stack| self.stacks.get_index(stack.stack as usize));
        Some(stack.and_then(|frames| frames.iter().copied().find(|frame| !passes(frame))).unwrap_or(own))
    }

    fn blocked(&mut self) {
        let mut pairs: BTreeMap<(SiteId, SiteId), Estimate> = BTreeMap::new();
        for ((place, holder), estimate) in &self.seen.log.blocked {
            let Some(waiter) = self.site_of(*place) else { continue };
            let Some(holder) = self.holder_site(place.0, *holder) else { continue };
            pairs.entry((waiter, holder)).or_default().merge(estimate);
        }
        for ((waiter, holder), estimate) in pairs {
            let (waits, wait_ns) = estimate.sums();
            self.profile.blocked.push(Blocked { waiter, holder, waits, wait_ns, ..Blocked::default() });
        }
        self.profile.blocked.sort_by_key(|pair| Reverse(pair.wait_ns));
    }

    /// Returns the site of a holder, if known: one that writes. (Readers are never named as holders.)
    fn holder_site(&mut self, address: u64, site: u64) -> Option<SiteId> {
        let kind = match self.kinds.get(&address) {
            Some(Kind::Read) | None => Kind::Write,
            Some(kind) => *kind,
        };
        self.site_of((address, kind, site))
    }

    fn episodes(&mut self) {
        for kept in &self.seen.log.kept {
            let wait = &kept.wait;
            let Some(&thread) = self.threads.get(&wait.tid) else { continue };
            let Some(site) = self.site_of((wait.lock, wait.kind, wait.site)) else { continue };
            let holder = wait
                .holder
                .filter(|_| wait.holder_site != 0)
                .and_then(|tid| Some((*self.threads.get(&tid)?, self.holder_site(wait.lock, wait.holder_site)?)));
            let stack = Some(self.stack_of(kept.stack));
            let (began_ns, acquired_ns) = (self.at(wait.began_ns), self.at(wait.ended_ns));
            let released_ns = kept.released_ns.map(|at| self.at(at));
            self.profile.episodes.push(Episode {
                thread,
                site,
                stack,
                began_ns,
                acquired_ns,
                released_ns,
                holder,
                acquired: wait.acquired,
            });
        }
        self.profile.episodes.sort_by_key(|wait| wait.began_ns);
    }

    fn finish(self, program: Program) -> Profile {
        let (pid, duration_ns) = (self.seen.last.snapshot.pid, self.duration_ns());
        let mut profile = self.profile;
        let (frames, troubles) = self.symbols.finish();
        (profile.stacks, profile.frames) = (self.stacks.into_iter().collect(), frames);
        profile.program = Program { pid, duration_ns, ..program };
        let (waits, log) = (profile.locks.iter().map(|lock| lock.usage.wait.count).sum::<u64>(), &self.seen.log);
        let kept = profile.episodes.len() as u64;
        profile.recording = Recording {
            // Never 1: stacks are scaled up to the exact sums.
            stack_one_in: waits.checked_div(log.records).unwrap_or(0).clamp(2, u64::from(u32::MAX)) as u32,
            episodes_kept: kept,
            episodes_dropped: waits.saturating_sub(kept),
            method: Method::Live,
            records_lost: self.seen.losses.0,
            ..Recording::default()
        };
        let missing = self.seen.missing.iter().map(|why| format!("No live view of the process was found: {why}."));
        profile.recording.missing = missing.collect();
        profile.deadlocks = remarks::deadlocks(self.seen, &profile);
        profile.recording.remarks = remarks::of(self.seen, &profile, self.left_out, troubles);
        profile.locks.iter_mut().for_each(|lock| lock.address = unnumbered(lock.address));
        profile
    }
}

/// Returns the totals of each call site's waits between two looks.
fn parts(first: &Look, last: &Look) -> BTreeMap<Place, Part> {
    let place = |sum: &SiteSum| (sum.lock, sum.kind, sum.address);
    let before: HashMap<Place, &SiteSum> = first.sums.iter().map(|sum| (place(sum), sum)).collect();
    let mut parts: BTreeMap<Place, Part> = BTreeMap::new();
    for sum in &last.sums {
        let part = part(sum, before.get(&place(sum)).copied());
        if part.wait.count > 0 {
            parts.insert(place(sum), part);
        }
    }
    // Current waits count until now; waits that had begun earlier count without the time before.
    for (look, sign) in [(last, 1), (first, -1)] {
        let waiting = look.snapshot.threads.iter().filter_map(|thread| thread.waiting.as_ref());
        for wait in waiting.filter(|_| look.snapshot.alive) {
            let place: Place = (wait.lock, wait.kind, wait.site);
            let ns = waited_ns(wait, look);
            match (sign, parts.get_mut(&place)) {
                (-1, Some(part)) => part.wait.sum_ns = part.wait.sum_ns.saturating_sub(ns),
                (-1, None) => {}
                (_, part) if part.is_none() => {
                    parts.entry(place).or_default().wait =
                        Distribution { sum_ns: ns, max_ns: ns, ..Default::default() };
                }
                (_, Some(part)) => {
                    part.wait.sum_ns = part.wait.sum_ns.saturating_add(ns);
                    part.wait.max_ns = part.wait.max_ns.max(ns);
                }
                (_, None) => {}
            }
        }
    }
    parts
}

fn waited_ns(wait: &Waiting, look: &Look) -> u64 {
    look.snapshot.taken_ns.saturating_sub(wait.since_ns)
}

fn part(sum: &SiteSum, before: Option<&SiteSum>) -> Part {
    let count = |place: usize| sum.histogram[place].saturating_sub(before.map_or(0, |sum| sum.histogram[place]));
    let bound = |place: usize| (2_u64 << place) - 1;
    let buckets: Vec<(u64, u64)> =
        (0..sum.histogram.len()).map(|place| (bound(place), count(place))).filter(|(_, count)| *count > 0).collect();
    let longest_before = before.map_or(0, |sum| sum.longest_ns);
    let last_bound = buckets.last().map_or(0, |(bound, _)| *bound);
    // The longest wait of all is known to be in this time only if it is longer than the one before.
    let max_ns = if sum.longest_ns > longest_before { sum.longest_ns } else { last_bound.min(sum.longest_ns) };
    let wait = Distribution {
        count: buckets.iter().map(|(_, count)| count).sum(),
        sum_ns: sum.wait_ns.saturating_sub(before.map_or(0, |sum| sum.wait_ns)),
        max_ns,
        buckets,
    };
    let gave_up = sum.gave_up.saturating_sub(before.map_or(0, |sum| sum.gave_up));
    let event = |event: usize| sum.events[event].saturating_sub(before.map_or(0, |sum| sum.events[event]));
    Part { wait, gave_up, events: std::array::from_fn(event) }
}

fn merge(part: &mut Part, other: &Part) {
    merge_waits(&mut part.wait, &other.wait);
    part.gave_up = part.gave_up.saturating_add(other.gave_up);
    part.events.iter_mut().zip(other.events).for_each(|(sum, more)| *sum = sum.saturating_add(more));
}

fn merge_waits(all: &mut Distribution, other: &Distribution) {
    all.count = all.count.saturating_add(other.count);
    all.sum_ns = all.sum_ns.saturating_add(other.sum_ns);
    all.max_ns = all.max_ns.max(other.max_ns);
    let mut buckets: BTreeMap<u64, u64> = all.buckets.iter().copied().collect();
    for (bound, count) in &other.buckets {
        *buckets.entry(*bound).or_default() += count;
    }
    all.buckets = buckets.into_iter().collect();
}

fn usage(part: Part) -> Usage {
    let [sleeps, steals, handoffs] = part.events.map(Some);
    let contended = part.wait.count.saturating_sub(part.gave_up);
    let events = Events { sleeps, steals, handoffs, watched: part.wait.count, ..Events::default() };
    Usage { contended, failed: part.gave_up, wait: part.wait, events, ..Usage::default() }
}

/// Returns a lock's usage from its sites'.
fn sum<'a>(usages: impl Iterator<Item = &'a Usage>) -> Usage {
    let mut all = Usage {
        events: Events { sleeps: Some(0), steals: Some(0), handoffs: Some(0), ..Events::default() },
        ..Usage::default()
    };
    for usage in usages {
        all.contended = all.contended.saturating_add(usage.contended);
        all.failed = all.failed.saturating_add(usage.failed);
        merge_waits(&mut all.wait, &usage.wait);
        merge_waits(&mut all.hold, &usage.hold);
        let (events, more) = (&mut all.events, &usage.events);
        for (sum, more) in [&mut events.sleeps, &mut events.steals, &mut events.handoffs].into_iter().zip([
            more.sleeps,
            more.steals,
            more.handoffs,
        ]) {
            *sum = sum.map(|sum| sum.saturating_add(more.unwrap_or(0)));
        }
        events.watched = events.watched.saturating_add(more.watched);
    }
    all
}
