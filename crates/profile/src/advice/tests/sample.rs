//! Small profiles that a rule fires on, or nearly does.

use crate::model::{CycleStep, Distribution, Lock, LockCycle, LockId, Profile, SCHEMA, Site, SiteId, Thread, Usage};

pub(super) const SECOND: u64 = 1_000_000_000;

/// Returns a profile of four threads on four CPUs for a second, without locks.
pub(super) fn quiet() -> Profile {
    let mut profile = Profile { schema: SCHEMA, ..Profile::default() };
    (profile.program.policy, profile.program.cpus) = ("libc".to_owned(), 4);
    profile.program.duration_ns = SECOND;
    profile.threads = vec![Thread { ended_ns: SECOND, ..Thread::default() }; 4];
    profile
}

/// Returns a distribution of times of the same length, in one bucket.
pub(super) fn times(count: u64, each_ns: u64) -> Distribution {
    Distribution { count, sum_ns: count * each_ns, max_ns: each_ns, buckets: vec![(each_ns, count)] }
}

/// Returns the usage by acquisitions of which some are contended; each waits and holds for this long.
pub(super) fn usage(acquisitions: u64, contended: u64, wait_ns: u64, hold_ns: u64) -> Usage {
    let (wait, hold) = (times(contended, wait_ns), times(contended, hold_ns));
    Usage { acquisitions, contended, wait, hold, hold_total_ns: acquisitions * hold_ns, ..Usage::default() }
}

/// Adds a lock with this usage.
pub(super) fn lock(profile: &mut Profile, usage: Usage) -> LockId {
    let name = format!("lock{}", profile.locks.len());
    profile.locks.push(Lock { name, usage, ..Lock::default() });
    (profile.locks.len() - 1) as LockId
}

/// Adds a call site with this usage, in its own function and file.
pub(super) fn site(profile: &mut Profile, lock: LockId, usage: Usage) -> SiteId {
    let number = profile.sites.len();
    let (function, file) = (format!("function{number}"), Some(format!("/src/file{number}.c")));
    profile.frames.push(crate::model::Frame { function, file, line: Some(7), ..crate::model::Frame::default() });
    profile.sites.push(Site { lock, frames: vec![number as u32], usage, ..Site::default() });
    number as SiteId
}

/// Adds a lock with one site.
pub(super) fn lock_with_site(profile: &mut Profile, all: Usage) -> LockId {
    let lock = lock(profile, all.clone());
    site(profile, lock, all);
    lock
}

/// Returns the cycle of these locks, each taken under the one before at the site of its number.
pub(super) fn cycle(locks: &[LockId]) -> LockCycle {
    let orders = locks.iter().zip(locks.iter().cycle().skip(1));
    let step = |(&held, &taken): (&LockId, &LockId)| CycleStep {
        held,
        held_at: held,
        taken_at: taken,
        ..CycleStep::default()
    };
    LockCycle { steps: orders.map(step).collect() }
}

/// Returns the names of the rules that fire.
pub(super) fn fired(profile: &Profile) -> Vec<&'static str> {
    super::advise(profile).findings.iter().map(|finding| finding.rule).collect()
}
