//! The sums of recorded waits. Each stands for others like it, by its weight.

use crate::live::Modules;
use indexmap::IndexSet;
use std::collections::{BTreeMap, HashMap, HashSet};
use turnwise_futex_trace::Dump;
use turnwise_live::layout::stack_of_site;
use turnwise_live::{Kind, Recorded, Released, Unloads, unnumbered};
use turnwise_present::printable;
use turnwise_profile::sums::{Course, Sum};
use turnwise_profile::symbols::Module;

/// The number of waits that are kept individually.
const MOST_WAITS: usize = 200_000;
/// The number of stacks kept before they are unwound, 4 KiB each: unwinding takes CPU time that the program could use.
const MOST_DUMPS: usize = 8_192;
/// The number of call sites in no known file for which the process is inspected again: one may have been loaded.
const MOST_TRIED: usize = 4_096;

/// The prefix of the C library's name.
const C_LIBRARY: &[u8] = b"libturnwise.so";

/// A lock in one way of waiting, and a call site.
pub(super) type Place = (u64, Kind, u64);
/// The index in [`Log::stacks`].
pub(super) type Stack = usize;

pub(super) struct Kept {
    pub(super) wait: Recorded,
    pub(super) stack: Stack,
    pub(super) released_ns: Option<u64>,
}

/// The lifetime of a thread.
#[derive(Default)]
pub(super) struct Life {
    pub(super) name: String,
    /// When its first recorded wait began, and its last one ended, by `CLOCK_MONOTONIC`.
    pub(super) first_ns: u64,
    pub(super) last_ns: u64,
    pub(super) waits: Sum,
}

#[derive(Default)]
pub(super) struct Log {
    began_ns: u64,
    pid: u32,
    /// Records whose stacks are not unwound yet.
    pending: Vec<Recorded>,
    /// Call sites for whose file the process was inspected again.
    tried: HashSet<u64>,
    pub(super) stacks: IndexSet<Vec<u64>>,
    /// The waits by call site and stack.
    pub(super) sites: BTreeMap<(Place, Stack), Sum>,
    /// The holds after recorded waits, by call site.
    pub(super) holds: BTreeMap<Place, Sum>,
    /// The waits by the lock's address, waiter's and holder's call site.
    pub(super) blocked: BTreeMap<(Place, u64), Sum>,
    pub(super) threads: BTreeMap<u32, Life>,
    pub(super) courses: HashMap<u64, Course>,
    pub(super) kept: Vec<Kept>,
    pub(super) records: u64,
    /// The number of records with a holder, and of those whose holder had not acquired the lock by a wait.
    pub(super) with_holder: u64,
    pub(super) holders_unknown: u64,
    /// Releases whose wait is not unwound yet, or unknown: by thread and wait.
    released: HashMap<(u32, u64), u64>,
}

impl Log {
    pub(super) fn new(began_ns: u64, pid: u32) -> Log {
        Log { began_ns, pid, ..Log::default() }
    }

    /// Adds the records since the last call.
    pub(super) fn add(
        &mut self,
        waits: Vec<Recorded>,
        releases: &[Released],
        modules: &mut Modules,
        reported: &dyn Fn() -> Unloads,
    ) {
        for wait in &waits {
            let life = self.threads.entry(wait.tid).or_default();
            if life.name.is_empty() {
                // Now the name usually exists.
                let name = std::fs::read(format!("/proc/{}/task/{}/comm", self.pid, wait.tid)).unwrap_or_default();
                life.name = printable(String::from_utf8_lossy(&name).trim_end()).into_owned();
                life.first_ns = wait.began_ns;
            }
            life.last_ns = life.last_ns.max(wait.ended_ns);
        }
        if modules.learn(reported()) {
            self.unwind(modules);
        }
        let is_known = |site: u64| modules.has(site) || stack_of_site(site).is_some();
        let is_missing = |wait: &Recorded| !is_known(wait.site) && !self.tried.contains(&wait.site);
        let missing = waits.iter().find(|wait| is_missing(wait)).map(|wait| wait.site);
        if (missing.is_some() && self.tried.len() < MOST_TRIED || !modules.is_new()) && modules.may_look_again() {
            modules.look_again(reported);
            self.tried.extend(missing);
        }
        self.released.extend(releases.iter().map(|release| ((release.tid, release.wait), release.at_ns)));
        self.pending.extend(waits);
        if self.pending.len() >= MOST_DUMPS {
            self.unwind(modules);
        }
    }

    /// Unwinds the pending stacks.
    pub(super) fn unwind(&mut self, modules: &mut Modules) {
        for mut wait in std::mem::take(&mut self.pending) {
            let stack = stack_of(&mut wait, modules);
            let stack = self.stacks.insert_full(stack).0;
            self.count(wait, stack);
        }
        // The waits of the remaining ones are lost.
        self.released.clear();
    }

    fn count(&mut self, wait: Recorded, stack: Stack) {
        let (place, ns) = ((wait.lock, wait.kind, wait.site), wait.ended_ns.saturating_sub(wait.began_ns));
        self.records += 1;
        self.sites.entry((place, stack)).or_default().add(ns, wait.weight);
        // Others may be idle.
        if wait.kind.is_ours() {
            self.threads.entry(wait.tid).or_default().waits.add(ns, wait.weight);
        }
        let ended_ns = wait.ended_ns.saturating_sub(self.began_ns);
        let (waits, waited_ns) = (wait.weight.round() as u64, (wait.weight * ns as f64) as u64);
        self.courses.entry(wait.lock).or_default().add(ended_ns, waits, waited_ns);
        self.with_holder += u64::from(wait.holder.is_some());
        if wait.holder_site != 0 {
            self.blocked.entry((place, wait.holder_site)).or_default().add(ns, wait.weight);
        } else if wait.holder.is_some() {
            self.holders_unknown += 1;
        }
        let released_ns = self.released.remove(&(wait.tid, wait.wait)).filter(|at| *at >= wait.ended_ns);
        if let Some(released_ns) = released_ns {
            self.holds.entry(place).or_default().add(released_ns - wait.ended_ns, 1.0);
        }
        if self.kept.len() < MOST_WAITS {
            self.kept.push(Kept { wait, stack, released_ns });
        }
    }
}

/// Returns the calls' return addresses, from the call site outwards. Frames of the recording library are left out. Only
/// the call site, if modules were unloaded since the process was inspected, or before: others lead through it.
fn stack_of(wait: &mut Recorded, modules: &mut Modules) -> Vec<u64> {
    let bytes = std::mem::take(&mut wait.stack);
    if !modules.is_of(wait.unloads) {
        return vec![wait.site];
    }
    let registers = wait.registers;
    let unwound = modules.living.unwound(&Dump {
        instruction: registers.instruction,
        stack_pointer: registers.stack_pointer,
        frame_pointer: registers.frame_pointer,
        link: registers.link,
        bytes,
    });
    let mut stack = match wait.site {
        0 => outside_of_locks(unwound, modules.living.modules()),
        site => from_site(unwound, unnumbered(site)),
    };
    for address in &mut stack {
        *address = modules.numbered(*address, wait.unloads);
    }
    if let (Some(first), true) = (stack.first_mut(), wait.site != 0) {
        *first = wait.site;
    }
    stack
}

/// Returns the part of a stack outside the C library of the locks, which does not identify its callers; all of it, if
/// the locks are in the program itself.
fn outside_of_locks(mut stack: Vec<u64>, modules: &[Module]) -> Vec<u64> {
    let is_library = |module: &Module| {
        let name = module.path.file_name().unwrap_or_default();
        name.as_encoded_bytes().starts_with(C_LIBRARY)
    };
    let is_ours = |address: &u64| modules.iter().any(|module| module.range.contains(address) && is_library(module));
    match stack.iter().position(|address| !is_ours(address)) {
        Some(inner) => stack.split_off(inner),
        None => vec![0],
    }
}

/// Returns the part of a stack from the call site outwards; only the call site, if it is not in the stack.
fn from_site(mut stack: Vec<u64>, site: u64) -> Vec<u64> {
    match stack.iter().position(|address| *address == site) {
        Some(inner) => stack.split_off(inner),
        None => vec![site],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnwise_live::Registers;
    use turnwise_profile::symbols::Identity;

    fn wait(tid: u32, ended_ns: u64, ns: u64, weight: f64) -> Recorded {
        Recorded {
            tid,
            lock: 0x10,
            kind: Kind::Mutex,
            site: 0x400,
            began_ns: ended_ns - ns,
            ended_ns,
            wait: ended_ns,
            weight,
            acquired: true,
            events: [0; 3],
            holder: Some(2),
            holder_site: 0x500,
            unloads: 0,
            registers: Registers::default(),
            stack: Vec::new(),
        }
    }

    #[test]
    fn a_stack_begins_at_the_call_site() {
        assert_eq!(from_site(vec![1, 2, 3, 4], 3), [3, 4]);
        assert_eq!(from_site(vec![1, 2], 9), [9]);
    }

    #[test]
    fn the_stack_of_a_program_that_links_the_locks_begins_outside_of_their_library() {
        let module = |range, path: &str| Module { range, base: 0, path: path.into(), identity: Identity::Unknown };
        let linked = [module(0..10, "/usr/bin/server"), module(10..20, "/usr/lib/libturnwise.so.0")];
        let outside = |stack: &[u64], modules: &[Module]| outside_of_locks(stack.to_vec(), modules);
        assert_eq!(outside(&[12, 11, 5, 15, 3], &linked), [5, 15, 3]);
        assert_eq!(outside(&[2, 5, 3], &linked[..1]), [2, 5, 3], "they are in the program");
        assert_eq!((outside(&[12], &linked), outside(&[], &linked)), (vec![0], vec![0]));
    }

    #[test]
    fn records_are_weighed_and_releases_find_their_waits() {
        let (mut log, mut modules) = (Log::new(0, 1), Modules::none());
        let reported = &Unloads::default;
        let released = |tid, wait, at_ns| Released { tid, wait, at_ns };
        let waits = vec![wait(1, 5_000, 1_000, 1.0), wait(2, 6_000, 100, 50.0)];
        log.add(waits, &[released(1, 5_000, 5_300)], &mut modules, reported);
        log.add(Vec::new(), &[released(2, 7_000, 8_000)], &mut modules, reported);
        log.unwind(&mut modules);
        let place = (0x10, Kind::Mutex, 0x400);
        assert_eq!(log.sites[&(place, 0)].totals(), (51, 6_000));
        assert_eq!(log.blocked[&(place, 0x500)].totals(), (51, 6_000));
        assert_eq!(log.holds[&place].distribution().sum_ns, 300, "another wait's release is nobody's");
        assert_eq!(log.threads[&2].waits.distribution().count, 50);
        assert_eq!((log.records, log.kept.len(), log.kept[0].released_ns), (2, 2, Some(5_300)));
    }
}
