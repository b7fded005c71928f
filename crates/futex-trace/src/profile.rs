//! The profile of a trace.

mod pending;
mod places;
mod remarks;

use crate::pairing::{Outcome, StackId};
use crate::process::Process;
use crate::sums::Sum;
use crate::trace::Trace;
use places::Places;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use turnwise_present::printable;
use turnwise_profile::analysis::shown;
use turnwise_profile::model::{
    Blocked, Episode, FrameId, Lock, LockKind, Method, Profile, Program, Recording, SCHEMA, Site, SiteId, StackUsage,
    Thread, ThreadId, Usage,
};
use turnwise_recording::unmarked;

/// The maximum number of futexes; those at which threads waited least are left out.
const MOST_LOCKS: usize = 4_000;

impl Trace {
    /// Makes the profile of the process that waited most; `program` is other information about it.
    #[must_use]
    pub fn profile(&self, program: Program) -> Profile {
        let nobody = Process::default();
        let processes = self.processes();
        let process = processes.first().copied().unwrap_or(&nobody);
        let duration_ns = self.ended_ns.saturating_sub(self.began_ns);
        let mut maker = Maker::new(process, duration_ns);
        maker.sites();
        maker.wakers();
        maker.episodes();
        let names = remarks::Known { trace: self, process, left_out: maker.left_out };
        let mut profile = maker.finish();
        profile.program = Program { pid: process.pid, duration_ns, policy: "its own".to_owned(), ..program };
        profile.deadlocks = pending::deadlocks(process, &profile);
        let still = process.pairing.unfinished.iter().filter(|wait| !wait.with_thread);
        profile.recording.still_waiting = still.count() as u64;
        let troubles = std::mem::take(&mut profile.recording.remarks);
        profile.recording.remarks = remarks::of(&names, &profile, troubles);
        profile.recording.records_lost = self.lost;
        profile.locks.iter_mut().for_each(|lock| lock.address = unmarked(lock.address).0);
        profile
    }
}

/// A call site: the futex's address, and the frames that are shown.
type Key = (u64, Vec<FrameId>);

struct Maker<'a> {
    process: &'a Process,
    duration_ns: u64,
    places: Places<'a>,
    threads: HashMap<u32, ThreadId>,
    site_ids: HashMap<Key, SiteId>,
    lock_ids: HashMap<u64, u32>,
    left_out: usize,
    profile: Profile,
}

impl<'a> Maker<'a> {
    fn new(process: &'a Process, duration_ns: u64) -> Maker<'a> {
        let recording = Recording {
            stack_one_in: 1,
            episodes_dropped: process.pairing.dropped,
            method: Method::FutexTrace,
            ..Recording::default()
        };
        let threads = process.threads.iter().map(|(tid, life)| Thread {
            tid: *tid,
            name: printable(&life.name).into_owned(),
            began_ns: life.began_ns,
            ended_ns: life.ended_ns.unwrap_or(duration_ns),
            usage: process.pairing.threads.get(tid).map(usage).unwrap_or_default(),
        });
        Maker {
            process,
            duration_ns,
            places: Places::new(process),
            threads: process.threads.keys().copied().zip(0..).collect(),
            site_ids: HashMap::new(),
            lock_ids: HashMap::new(),
            left_out: 0,
            profile: Profile { schema: SCHEMA, recording, threads: threads.collect(), ..Profile::default() },
        }
    }

    /// Adds the futexes and the sites that wait for them, longest first.
    fn sites(&mut self) {
        let mut by_lock: BTreeMap<u64, Sum> = BTreeMap::new();
        for ((address, _), sum) in &self.process.pairing.sites {
            by_lock.entry(*address).or_default().merge(sum);
        }
        let mut locks: Vec<(u64, Sum)> = by_lock.into_iter().collect();
        locks.sort_by_key(|(_, sum)| Reverse(sum.sum_ns));
        self.left_out = locks.len().saturating_sub(MOST_LOCKS);
        locks.truncate(MOST_LOCKS);
        self.lock_ids = locks.iter().map(|(address, _)| *address).zip(0..).collect();
        let mut found: BTreeMap<Key, (Sum, Vec<StackUsage>)> = BTreeMap::new();
        let mut all: Vec<_> = self.process.pairing.sites.iter().collect();
        all.sort_by_key(|(key, _)| **key);
        for ((address, stack), sum) in all {
            let place = self.places.of(*stack);
            let site = found.entry((*address, place.site.clone())).or_default();
            site.0.merge(sum);
            site.1.push(StackUsage { stack: place.stack, waits: sum.waits, wait_ns: sum.sum_ns });
        }
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_by_key(|(_, (sum, _))| Reverse(sum.sum_ns));
        for (key, (sum, stacks)) in found {
            self.site(key, usage(&sum), stacks);
        }
        for (address, sum) in locks {
            let lock = self.lock(address, &sum);
            self.profile.locks.push(lock);
        }
    }

    /// Adds a site, unless its futex is left out.
    fn site(&mut self, key: Key, usage: Usage, stacks: Vec<StackUsage>) -> Option<SiteId> {
        if let Some(known) = self.site_ids.get(&key) {
            return Some(*known);
        }
        let lock = *self.lock_ids.get(&key.0)?;
        let id = self.profile.sites.len() as SiteId;
        let frames = key.1.clone();
        self.profile.sites.push(Site { lock, frames, usage, stacks, ..Site::default() });
        self.site_ids.insert(key, id);
        Some(id)
    }

    fn lock(&mut self, address: u64, sum: &Sum) -> Lock {
        let course = self.process.pairing.courses.get(&address);
        let (over_time, step_ns) = course.map(|course| course.steps(self.duration_ns)).unwrap_or_default();
        let variable = self.places.symbols.variable(address);
        let used = || {
            let id = self.lock_ids.get(&address)?;
            let site = self.profile.sites.iter().find(|site| site.lock == *id)?;
            let frame = self.places.symbols.frame(*site.frames.first()?);
            // A place where all locks are taken identifies none.
            (!places::passes_on(frame)).then(|| format!("used in {}", shown(frame)))
        };
        let name = variable.as_ref().map(|found| found.name.clone()).or_else(used);
        Lock {
            address,
            kind: LockKind::Futex,
            name: name.unwrap_or_else(|| format!("{:#x}", unmarked(address).0)),
            symbol: variable.map(|found| format!("{} ({})", found.name, found.module)),
            usage: usage(sum),
            over_time,
            step_ns,
            ..Lock::default()
        }
    }

    /// Adds up the waits by waiter and waker.
    fn wakers(&mut self) {
        let mut pairs: BTreeMap<(SiteId, SiteId), (u64, u64)> = BTreeMap::new();
        let mut all: Vec<_> = self.process.pairing.wakers.iter().collect();
        all.sort_by_key(|(key, _)| **key);
        for ((address, waiter, waker), (waits, wait_ns)) in all {
            let ids = [*waiter, *waker].map(|stack| self.site_of(*address, stack));
            let [Some(waiter), Some(waker)] = ids else { continue };
            let pair = pairs.entry((waiter, waker)).or_default();
            *pair = (pair.0 + waits, pair.1.saturating_add(*wait_ns));
        }
        let blocked = pairs.into_iter().map(|((waiter, holder), (waits, wait_ns))| Blocked {
            waiter,
            holder,
            waits,
            wait_ns,
            looked: 0,
            holder_off_cpu: None,
        });
        self.profile.blocked = blocked.collect();
        self.profile.blocked.sort_by_key(|pair| Reverse(pair.wait_ns));
    }

    fn site_of(&mut self, address: u64, stack: StackId) -> Option<SiteId> {
        let frames = self.places.of(stack).site.clone();
        self.site((address, frames), Usage::default(), Vec::new())
    }

    /// Adds the individual waits.
    fn episodes(&mut self) {
        let process = self.process;
        for wait in &process.pairing.kept {
            let Some(&thread) = self.threads.get(&wait.tid) else { continue };
            let Some(site) = self.site_of(wait.address, wait.stack) else { continue };
            let waker = wait.waker.and_then(|(tid, stack)| {
                let thread = *self.threads.get(&tid)?;
                Some((thread, self.site_of(wait.address, stack)?))
            });
            self.profile.episodes.push(Episode {
                thread,
                site,
                stack: Some(self.places.of(wait.stack).stack),
                began_ns: wait.began_ns,
                acquired_ns: wait.ended_ns,
                released_ns: None,
                holder: waker,
                acquired: wait.outcome == Outcome::Woken,
            });
        }
        self.profile.episodes.sort_by_key(|wait| wait.began_ns);
        self.profile.recording.episodes_kept = self.profile.episodes.len() as u64;
    }

    fn finish(self) -> Profile {
        let mut profile = self.profile;
        let (stacks, frames, troubles) = self.places.finish();
        (profile.stacks, profile.frames, profile.recording.remarks) = (stacks, frames, troubles);
        profile
    }
}

/// Converts a sum to usage figures, of which only waits are known.
fn usage(sum: &Sum) -> Usage {
    Usage { contended: sum.waits, failed: sum.timed_out, wait: sum.distribution(), ..Usage::default() }
}
