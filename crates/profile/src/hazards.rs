//! Hazards: what a run shows of deadlocks that are possible, or happened, and of misuse.

use crate::model::{CycleStep, FrameId, LockCycle, LockId, Misuse, MisuseKind, Profile, SiteId, StuckWait, ThreadId};
use crate::output::{deadlocks, names};
use crate::template::{Serde, Words, context};
use serde::Serialize;
use std::collections::BTreeMap;

/// A hazard, with all names.
#[derive(Debug, Serialize)]
pub struct Hazard {
    /// `cycle`: orders of locks that lead back to their beginning; `deadlock`: threads that waited for one another;
    /// `misuse`: what POSIX forbids to do with a mutex.
    pub kind: &'static str,
    /// The locks.
    pub locks: Vec<String>,
    /// The call sites at which they were taken or awaited.
    pub sites: Vec<String>,
    /// The files and lines of these sites, where they are known, each once.
    #[serde(skip)]
    pub places: Vec<(String, u32)>,
    /// Of a cycle: its steps.
    pub steps: Vec<HazardStep>,
    /// What happened, of others.
    pub sentence: Option<String>,
}

/// A step of a cycle: a thread takes a lock while it holds another.
#[derive(Debug, Serialize)]
pub struct HazardStep {
    /// The lock that is held.
    pub held: String,
    /// Where it was taken.
    pub held_at: String,
    /// The lock that is taken under it.
    pub taken: String,
    /// Where.
    pub taken_at: String,
    /// How many threads of each name did so.
    pub threads: BTreeMap<String, u64>,
    /// How often threads took the lock there, under whichever locks.
    pub times: u64,
    /// Of a cycle across runs: a run that shows the step.
    pub run: Option<String>,
}

/// Returns all hazards of a profile: deadlocks, cycles, misuse.
pub fn of(profile: &Profile) -> Vec<Hazard> {
    let text = |wait: &StuckWait| [&wait.place, &wait.taken].into_iter().flatten().cloned().collect::<Vec<_>>();
    let deadlocks = profile.deadlocks.iter().map(|deadlock| Hazard {
        kind: "deadlock",
        locks: deadlock.waits.iter().map(|wait| wait.lock.clone()).collect(),
        sites: deadlock.waits.iter().flat_map(text).collect(),
        places: Vec::new(),
        steps: Vec::new(),
        sentence: Some(deadlocks::sentence(deadlock)),
    });
    let steps =
        |cycle: &LockCycle| cycle.orders().map(|(step, taken)| of_step(profile, step, taken)).collect::<Vec<_>>();
    let cycles = profile.cycles.iter().map(|cycle| {
        let sites = cycle.steps.iter().flat_map(|step| [step.taken_at, step.held_at]);
        let frames = sites.filter_map(|site| profile.sites[site as usize].frames.first().copied());
        Hazard { places: places(profile, frames), ..of_cycle(steps(cycle)) }
    });
    deadlocks.chain(cycles).chain(profile.misuses.iter().map(|misuse| of_misuse(profile, misuse))).collect()
}

fn of_misuse(profile: &Profile, misuse: &Misuse) -> Hazard {
    let (thread, lock) = (name(profile, misuse.thread), &misuse.lock);
    let innermost = misuse.stack.and_then(|stack| profile.stacks[stack as usize].first());
    let of_site = |site: SiteId| profile.sites[site as usize].frames.first().copied();
    let place = innermost.map(|frame| names::frame(&profile.frames[*frame as usize]));
    let taken = misuse.taken_at.map(|site| names::site(profile, &profile.sites[site as usize]));
    let did = match misuse.kind {
        MisuseKind::ReleasedOfAnother | MisuseKind::ReleasedFree => format!("releases {lock}"),
        MisuseKind::DestroyedHeld => format!("destroys {lock}"),
        MisuseKind::WaitedWithout => format!("waits on a condition variable with {lock}"),
        MisuseKind::EndedWith => format!("ends with {lock}"),
    };
    let place_text = place.as_ref().map_or_else(String::new, |place| format!(" in {place}"));
    let taken_text = taken.as_ref().map_or_else(String::new, |taken| format!(", taken in {taken}"));
    let state = match (misuse.kind, misuse.holder) {
        (MisuseKind::EndedWith, _) => taken_text,
        (_, Some(holder)) => format!(", which {} has{taken_text}", name(profile, holder)),
        (_, None) => ", which no thread has".to_owned(),
    };
    Hazard {
        kind: "misuse",
        locks: vec![lock.clone()],
        sites: place.into_iter().chain(taken).collect(),
        places: places(profile, innermost.copied().into_iter().chain(misuse.taken_at.and_then(of_site))),
        steps: Vec::new(),
        sentence: Some(format!("MISUSE: {thread} {did}{place_text}{state}.")),
    }
}

/// Returns the places of frames.
fn places(profile: &Profile, frames: impl Iterator<Item = FrameId>) -> Vec<(String, u32)> {
    let mut places = Vec::new();
    for frame in frames.map(|frame| &profile.frames[frame as usize]) {
        if let (Some(file), Some(line @ 1..)) = (&frame.file, frame.line) {
            let place = (file.clone(), line);
            if !places.contains(&place) {
                places.push(place);
            }
        }
    }
    places
}

/// Returns the hazard of a cycle.
pub(crate) fn of_cycle(steps: Vec<HazardStep>) -> Hazard {
    Hazard {
        kind: "cycle",
        locks: steps.iter().map(|step| step.held.clone()).collect(),
        sites: steps.iter().flat_map(|step| [step.held_at.clone(), step.taken_at.clone()]).collect(),
        places: Vec::new(),
        steps,
        sentence: None,
    }
}

fn of_step(profile: &Profile, step: &CycleStep, taken: LockId) -> HazardStep {
    let lock = |lock: LockId| profile.locks[lock as usize].name.clone();
    let site = |site: u32| names::site(profile, &profile.sites[site as usize]);
    let mut threads = BTreeMap::new();
    for thread in &step.threads {
        *threads.entry(name(profile, *thread)).or_default() += 1;
    }
    let times = profile.sites[step.taken_at as usize].usage.acquisitions;
    let (held_at, taken_at) = (site(step.held_at), site(step.taken_at));
    HazardStep { held: lock(step.held), held_at, taken: lock(taken), taken_at, threads, times, run: None }
}

pub(crate) fn name(profile: &Profile, thread: ThreadId) -> String {
    let thread = &profile.threads[thread as usize];
    if thread.name.is_empty() { format!("thread {}", thread.tid) } else { thread.name.clone() }
}

impl Hazard {
    /// Returns whether another run, or process, shows the same.
    pub fn is_same(&self, other: &Hazard) -> bool {
        (self.kind, &self.locks, &self.sites) == (other.kind, &other.locks, &other.sites)
    }

    /// Formats it for a terminal; each line ends with a line break.
    pub fn text(&self) -> String {
        Words::of(include_str!("../assets/hazard.jinja")).render(context! { ..Serde(self) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Frame, Lock, Site, Thread, Usage};

    #[test]
    fn a_cycle_is_shown_with_places_threads_and_numbers() {
        let mut profile = Profile::default();
        for (number, lock) in ["a", "b"].into_iter().enumerate() {
            let usage = Usage { acquisitions: 1000 * (number as u64 + 1), ..Usage::default() };
            profile.locks.push(Lock { name: lock.to_owned(), ..Lock::default() });
            let (function, file) = (format!("take_{lock}"), Some("/src/x.c".to_owned()));
            profile.frames.push(Frame { function, file, line: Some(7), ..Frame::default() });
            let lock = number as u32;
            profile.sites.push(Site { lock, frames: vec![lock], usage, ..Site::default() });
        }
        let thread = |name: &str, tid| Thread { name: name.to_owned(), tid, ..Thread::default() };
        profile.threads = vec![thread("worker", 1), thread("worker", 2), thread("", 3)];
        let step =
            |held: u32, threads| CycleStep { held, held_at: held, taken_at: 1 - held, threads, guards: Vec::new() };
        profile.cycles = vec![LockCycle { steps: vec![step(0, vec![0, 1]), step(1, vec![2])] }];
        let found = of(&profile);
        assert_eq!((found.len(), found[0].locks.join(" ")), (1, "a b".to_owned()));
        let expected = "\
CYCLE of 2 locks: a, b. Threads that do this at the same time wait for each other forever:
  b is taken in take_b (x.c:7)
    while the thread holds a, taken in take_a (x.c:7)
    by worker (2 threads); taken there 2,000 times
  a is taken in take_a (x.c:7)
    while the thread holds b, taken in take_b (x.c:7)
    by thread 3; taken there 1,000 times
";
        assert_eq!(found[0].text(), expected);
        assert_eq!(found[0].places, [("/src/x.c".to_owned(), 7)]);
        assert!(found[0].is_same(&of(&profile)[0]));
    }
}
