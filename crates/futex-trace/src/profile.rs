//! The profile of a trace.

mod places;
mod remarks;

use crate::pairing::{Outcome, StackId};
use crate::process::Process;
use crate::trace::Trace;
use places::Places;
use turnwise_present::printable;
use turnwise_profile::analysis::{passes_on, shown};
use turnwise_profile::model::{Episode, LockKind, Method, Profile, Program, Recording, Thread};
use turnwise_profile::sums::Sum;
use turnwise_profile::waits::Waits;
use turnwise_recording::unmarked;

impl Trace {
    /// Makes the profile of the process that waited most; `program` is other information about it.
    pub fn profile(&self, program: Program) -> Profile {
        let nobody = Process::default();
        let processes = self.processes();
        let process = processes.first().copied().unwrap_or(&nobody);
        let duration_ns = self.ended_ns.saturating_sub(self.began_ns);
        let (mut profile, troubles) = waits_of(process, duration_ns).finish();
        profile.program = Program { pid: process.pid, duration_ns, policy: "its own".to_owned(), ..program };
        let still = process.pairing.unfinished.iter().filter(|wait| !wait.with_thread);
        profile.recording = Recording {
            stack_one_in: 1,
            episodes_dropped: process.pairing.dropped,
            method: Method::FutexTrace,
            still_waiting: still.count() as u64,
            records_lost: self.lost,
            ..profile.recording
        };
        profile.deadlocks = remarks::deadlocks(process, &profile);
        profile.recording.remarks = remarks::of(self, process, &profile, troubles);
        profile.locks.iter_mut().for_each(|lock| lock.address = unmarked(lock.address).0);
        profile
    }
}

fn waits_of(process: &Process, duration_ns: u64) -> Waits {
    let (pairing, mut places) = (&process.pairing, Places::new(process));
    let mut waits = Waits::new(process.images.clone());
    for (tid, life) in &process.threads {
        waits.thread(Thread {
            tid: *tid,
            name: printable(&life.name).into_owned(),
            began_ns: life.began_ns,
            ended_ns: life.ended_ns.unwrap_or(duration_ns),
            usage: pairing.threads.get(tid).map(Sum::usage).unwrap_or_default(),
            only_slept: false,
        });
    }
    let mut all: Vec<(&(u64, StackId), &Sum)> = pairing.sites.iter().collect();
    all.sort_by_key(|(place, _)| **place);
    let sites: Vec<_> =
        all.iter().map(|((address, stack), sum)| (places.key(&mut waits, *address, *stack), *sum)).collect();
    waits.sites(sites.iter().map(|(key, sum)| (key.clone(), sum.usage())));
    let course = |address| (LockKind::Futex, pairing.courses.get(&address));
    waits.locks(duration_ns, course, |waits, site| {
        let frame = waits.symbols.frame(*site.frames.first()?);
        // A place where all locks are taken identifies none.
        (!passes_on(frame)).then(|| format!("used in {}", shown(frame)))
    });
    let mut pairs: Vec<_> = pairing.wakers.iter().collect();
    pairs.sort_by_key(|(place, _)| **place);
    let pairs = pairs.into_iter().map(|((address, waiter, waker), sum)| {
        (places.key(&mut waits, *address, *waiter), places.key(&mut waits, *address, *waker), sum)
    });
    let pairs: Vec<_> = pairs.collect();
    waits.blocked(pairs);
    for wait in &pairing.kept {
        let site = places.key(&mut waits, wait.address, wait.stack);
        let waker = wait.waker.map(|(tid, stack)| (tid, places.key(&mut waits, wait.address, stack)));
        let episode = Episode {
            stack: Some(places.of(&mut waits, wait.stack).stack),
            began_ns: wait.began_ns,
            acquired_ns: wait.ended_ns,
            acquired: wait.outcome == Outcome::Woken,
            ..Episode::default()
        };
        waits.episode(wait.tid, site, waker, episode);
    }
    let stacks = all.iter().zip(sites);
    let stacks: Vec<_> =
        stacks.map(|(((_, stack), sum), (key, _))| (key, places.of(&mut waits, *stack).stack, *sum)).collect();
    waits.stacks(stacks);
    waits
}
