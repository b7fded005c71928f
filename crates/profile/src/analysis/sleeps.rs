//! What threads slept on, by the calls that are no pthread lock's: which kind it is, and which code of the program
//! slept, by the names on the stack.

use super::Work;
use super::clock::Clock;
use super::slept::{Slept, slept};
use super::sums::Sum;
use crate::model::{Awaited, AwaitedSite, LockKind};
use crate::symbols::Symbols;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use turnwise_recording::reader::Recording;
use turnwise_recording::{Class, DetailCopy, LockCopy, Op, Ref};

/// A sleep's kind, and the return address in the code that slept.
#[derive(Clone, Copy)]
struct Place {
    kind: LockKind,
    site: u64,
}

/// Sleeps on the same thing.
pub(super) struct Group {
    pub(super) kind: LockKind,
    /// A lock of the recording whose address it has.
    lock: u32,
    /// Calls that were to wake sleepers, and those that woke none.
    pub(super) wake_ups: (u64, u64),
    /// Sleeps by return address.
    sites: BTreeMap<u64, Sum>,
}

/// All sleeps of a recording. A group has a number, beyond those of the recording's locks.
pub(super) struct Sleeps {
    first: u32,
    groups: Vec<Group>,
    /// For each entry of a sleep, its group's number and the return address.
    by_entry: HashMap<usize, (u32, u64)>,
    /// For each stack of a call that woke others, the return address in the code that called.
    wakers: HashMap<Ref, u64>,
}

impl Sleeps {
    pub(super) fn collect(recording: &Recording, symbols: &mut Symbols) -> Sleeps {
        let first = recording.locks.len() as u32;
        let mut sleeps = Sleeps { first, groups: Vec::new(), by_entry: HashMap::new(), wakers: HashMap::new() };
        let mut numbers: HashMap<(LockKind, u64), u32> = HashMap::new();
        let mut places: HashMap<(Ref, u32), Place> = HashMap::new();
        // For each lock, its group with most sleeps.
        let mut main: HashMap<u32, (u64, u32)> = HashMap::new();
        for (index, lock, _) in slept_on(recording, Op::Sleep) {
            let entry = &recording.entries[index];
            let stack = entry.mutex_or_under as Ref;
            let place = *places
                .entry((stack, lock.class))
                .or_insert_with(|| place(symbols, &recording.stack(stack).unwrap_or_default(), lock));
            let group = sleeps.group(&mut numbers, place, entry.lock);
            sleeps.by_entry.insert(index, (first + group, place.site));
            let sum = sleeps.groups[group as usize].sites.entry(place.site).or_default();
            let waits = entry.acquisitions + u64::from(entry.failed);
            sum.add(entry, recording.detail(entry.detail).as_ref());
            let known = main.entry(entry.lock).or_default();
            *known = (*known).max((waits, group));
        }
        for (index, lock, site) in slept_on(recording, Op::Wake) {
            let entry = &recording.entries[index];
            let group = match main.get(&entry.lock) {
                Some((_, group)) => *group,
                None if entry.for_nothing == 0 => continue,
                None => {
                    let place = place(symbols, &[site], lock);
                    sleeps.group(&mut numbers, place, entry.lock)
                }
            };
            let wake_ups = &mut sleeps.groups[group as usize].wake_ups;
            *wake_ups = (wake_ups.0 + entry.acquisitions, wake_ups.1 + entry.for_nothing);
        }
        sleeps.find_wakers(recording, symbols);
        sleeps
    }

    /// Returns the group of a place, made if necessary.
    fn group(&mut self, numbers: &mut HashMap<(LockKind, u64), u32>, place: Place, lock: u32) -> u32 {
        let what = if place.kind.is_parked() { place.site } else { lock.into() };
        *numbers.entry((place.kind, what)).or_insert_with(|| {
            self.groups.push(Group { kind: place.kind, lock, wake_ups: (0, 0), sites: BTreeMap::new() });
            self.groups.len() as u32 - 1
        })
    }

    fn find_wakers(&mut self, recording: &Recording, symbols: &mut Symbols) {
        let tallies = self.by_entry.keys().filter_map(|entry| {
            let detail = recording.detail(recording.entries[*entry].detail)?;
            Some(recording.tallies(detail.tallies))
        });
        let by_tally = tallies.flatten().map(|tally| tally.key);
        let by_wait = recording.episodes.iter().map(|episode| episode.holder_site);
        let stacks: Vec<Ref> = by_tally.chain(by_wait).filter_map(waker_stack).collect();
        for stack in stacks {
            let site = || slept(symbols, &recording.stack(stack).unwrap_or_default()).call;
            self.wakers.entry(stack).or_insert_with(site);
        }
    }

    /// Returns the lock of an entry by its number, and the site there: those of a sleep in a lock; `None`: the entry is
    /// of no lock.
    pub(super) fn lock_and_site(&self, recording: &Recording, entry: usize) -> Option<(u32, u64)> {
        let of = recording.entries.get(entry)?;
        if !recording.locks.get(of.lock as usize).is_some_and(|lock| Class::is_slept_on(lock.class)) {
            return Some((of.lock, of.site));
        }
        let (group, site) = self.by_entry.get(&entry)?;
        self.of_number(*group)?.kind.is_lock().then_some((*group, Op::Sleep.at(*site)))
    }

    /// Returns the site of a holder of a lock; of those that sleep, of the thread that woke others.
    pub(super) fn holder_site(&self, site: u64) -> u64 {
        waker_stack(site).and_then(|stack| self.wakers.get(&stack)).map_or(site, |site| Op::Wake.at(*site))
    }

    /// Returns the sites that woke sleepers of a lock, by [`Entry::site`](turnwise_recording::EntryCopy::site).
    pub(super) fn waker_sites(&self, recording: &Recording, entry: usize) -> Vec<u64> {
        let detail = recording.detail(recording.entries[entry].detail);
        let tallies = detail.map(|detail| recording.tallies(detail.tallies)).unwrap_or_default();
        let woken = tallies.into_iter().filter(|tally| waker_stack(tally.key).is_some());
        woken.map(|tally| self.holder_site(tally.key)).collect()
    }

    /// Returns the times that a thread slept in locks.
    pub(super) fn of_thread<'a>(
        &'a self,
        recording: &'a Recording,
        thread: usize,
    ) -> impl Iterator<Item = DetailCopy> + 'a {
        let is_lock = |group: &u32| self.of_number(*group).is_some_and(|group| group.kind.is_lock());
        let locks = self.by_entry.iter().filter(move |(_, (group, _))| is_lock(group));
        let entries = locks.map(|(entry, _)| &recording.entries[*entry]);
        let own = entries.filter(move |entry| entry.mutex_or_under >> 32 == thread as u64);
        own.filter_map(|entry| recording.detail(entry.detail))
    }

    pub(super) fn of_number(&self, number: u32) -> Option<&Group> {
        self.groups.get(number.checked_sub(self.first)? as usize)
    }

    /// Returns what is awaited and no lock.
    pub(super) fn awaited(&self, work: &mut Work) -> Vec<Awaited> {
        let others = self.groups.iter().filter(|group| !group.kind.is_lock() || group.sites.is_empty());
        let mut all: Vec<Awaited> = others.map(|group| awaited(work, group)).collect();
        all.retain(|one| one.wait.count > 0 || one.wake_ups.1 > 0);
        all.sort_by_key(|one| (Reverse(one.wait.sum_ns), Reverse(one.wake_ups.1), one.address));
        all
    }
}

impl Group {
    /// Returns the lock whose address it has.
    pub(super) fn copy<'a>(&self, recording: &'a Recording) -> Option<&'a LockCopy> {
        recording.locks.get(self.lock as usize)
    }
}

/// Returns the stack in a site of a call that woke others.
fn waker_stack(site: u64) -> Option<Ref> {
    Op::split(site).filter(|(op, stack)| *op == Op::Wake && *stack != 0).map(|(_, stack)| stack as Ref)
}

/// Returns the entries of an operation on what threads sleep on: index, lock, and address at the site.
fn slept_on(recording: &Recording, wanted: Op) -> impl Iterator<Item = (usize, &LockCopy, u64)> {
    recording.entries.iter().enumerate().filter_map(move |(index, entry)| {
        let (_, site) = Op::split(entry.site).filter(|(op, _)| *op == wanted)?;
        let lock = recording.locks.get(entry.lock as usize).filter(|lock| Class::is_slept_on(lock.class))?;
        Some((index, lock, site))
    })
}

/// Returns what the functions of a stack tell, innermost first.
fn place(symbols: &mut Symbols, stack: &[u64], lock: &LockCopy) -> Place {
    let Slept { kind, call: site, .. } = slept(symbols, stack);
    Place { kind: super::slept_on(lock.class, kind), site }
}

fn awaited(work: &mut Work, group: &Group) -> Awaited {
    let clock: Clock = work.clock;
    let mut all = Sum::default();
    let mut sites = Vec::new();
    for (address, sum) in &group.sites {
        all.merge(sum);
        let wait = sum.waits(clock);
        let frames = slept(&mut work.symbols, &[*address]).frames;
        if wait.count > 0 {
            sites.push(AwaitedSite { frames, waits: wait.count, wait_ns: wait.sum_ns });
        }
    }
    sites.sort_by_key(|site| (Reverse(site.wait_ns), site.frames.clone()));
    let lock = group.copy(work.recording);
    let variable = lock.filter(|_| !group.kind.is_parked());
    let variable = variable.and_then(|lock| work.symbols.variable(super::place_of(lock))).map(|found| found.name);
    let address = lock.map_or(0, |lock| lock.address);
    let used = || {
        let frame = sites.first()?.frames.first()?;
        Some(format!("in {}", super::shown(work.symbols.frame(*frame))))
    };
    let name = variable.or_else(used).unwrap_or_else(|| format!("{address:#x}"));
    let (kind, wake_ups) = (group.kind, group.wake_ups);
    Awaited { address, kind, name, wait: all.waits(clock), timed_out: all.failed, wake_ups, sites }
}
