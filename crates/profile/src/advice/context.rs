//! Queries on a profile that several rules share.

use super::{Experiment, Finding, Scope};
use crate::figures::{percent, plural, share, time};
use crate::model::{Blocked, Lock, LockId, Method, Profile, Site, SiteId, Thread};
use crate::output::{headlines, names};
use turnwise_preload_abi::Policy;
use turnwise_present::others::Others;

/// A lock at which threads spend less than this share of their time is not worth attention: even without it the program
/// would hardly be faster.
pub(super) const WORTHWHILE: f64 = 0.01;
/// The number of waits below which waits with a short total may be chance.
const FEW_WAITS: u64 = 100;
const SHORT_NS: u64 = 200_000_000;

pub(super) struct Context<'a> {
    pub(super) profile: &'a Profile,
    /// The sites of each lock.
    sites: Vec<Vec<SiteId>>,
    /// The total lifetime of threads.
    pub(super) thread_ns: u64,
    /// The number of threads that existed at the same time.
    pub(super) threads_at_once: usize,
}

/// The verdict if recording was incomplete, and the recorded part has no wait.
const UNKNOWN: &str = "No verdict: what could not be recorded may have waited.";

impl<'a> Context<'a> {
    pub(super) fn new(profile: &'a Profile) -> Context<'a> {
        let mut sites = vec![Vec::new(); profile.locks.len()];
        for (number, site) in profile.sites.iter().enumerate() {
            sites[site.lock as usize].push(number as SiteId);
        }
        let lives = profile.threads.iter().map(|thread| thread.ended_ns.saturating_sub(thread.began_ns));
        Context { profile, sites, thread_ns: lives.sum(), threads_at_once: at_once(&profile.threads) }
    }

    /// Numbers all locks.
    pub(super) fn locks(&self) -> impl Iterator<Item = (LockId, &'a Lock)> + use<'a> {
        (0..).zip(&self.profile.locks)
    }

    /// Returns the locks at which threads wait long enough to matter.
    pub(super) fn busy_locks(&self) -> impl Iterator<Item = (LockId, &'a Lock)> {
        self.locks().filter(|(_, lock)| self.worthwhile(lock.usage.wait.sum_ns) && !waited_rarely(lock))
    }

    /// Returns the CPU use of others, if it was high: then they may have caused long waits.
    pub(super) fn others(&self) -> Option<String> {
        self.profile.recording.others.filter(Others::took_much).map(|others| others.taken())
    }

    /// Returns whether this much time is worth a finding.
    pub(super) fn worthwhile(&self, ns: u64) -> bool {
        share(ns, self.thread_ns) >= WORTHWHILE
    }

    /// Returns a lock's call sites, by wait time.
    pub(super) fn sites_of(&self, lock: LockId) -> impl Iterator<Item = (SiteId, &'a Site)> {
        let profile = self.profile;
        self.sites[lock as usize].iter().map(|&number| (number, &profile.sites[number as usize]))
    }

    /// Returns which sites blocked which at a lock.
    pub(super) fn blocked_at(&self, lock: LockId) -> impl Iterator<Item = &'a Blocked> {
        let profile = self.profile;
        profile.blocked.iter().filter(move |pair| profile.sites[pair.waiter as usize].lock == lock)
    }

    pub(super) fn lock_name(&self, lock: LockId) -> String {
        names::lock_in_sentence(&self.profile.locks[lock as usize].name)
    }

    pub(super) fn site_name(&self, site: SiteId) -> String {
        names::brief_site(self.profile, &self.profile.sites[site as usize])
    }

    /// Returns the first line of evidence for a lock: its cost.
    pub(super) fn cost(&self, lock: LockId) -> String {
        let usage = &self.profile.locks[lock as usize].usage;
        let worst = self.sites_of(lock).next().map(|(site, _)| format!("; most of it at {}", self.site_name(site)));
        format!(
            "threads waited {} for it, {} of their time; {} of {} acquisitions were contended{}",
            time(usage.wait.sum_ns),
            percent(usage.wait.sum_ns, self.thread_ns),
            percent(usage.contended, usage.acquisitions),
            crate::figures::count(usage.acquisitions),
            worst.unwrap_or_default(),
        )
    }

    /// Returns a finding about one lock, with its cost as the first evidence.
    pub(super) fn about(&self, rule: &'static str, lock: LockId, title: String, hoped_ns: u64) -> Finding {
        let evidence = vec![self.cost(lock)];
        Finding { rule, title, evidence, hoped_ns, locks: vec![lock], ..Finding::default() }
    }

    /// Returns the experiment of the adaptive lock for this one lock, unless it had it.
    pub(super) fn adaptive(&self, lock: LockId) -> Option<Experiment> {
        let scope = Scope::Locks(vec![lock]);
        (self.profile.program.policy != Policy::ADAPTIVE.name())
            .then_some(Experiment { policy: Policy::ADAPTIVE, scope })
    }

    /// Returns the verdict on a profile that has only waits, as of a trace of futex calls: without acquisitions and
    /// holds no rule can judge.
    pub(super) fn waits_verdict(&self) -> String {
        let waited: u64 = self.profile.locks.iter().map(|lock| lock.usage.wait.sum_ns).sum();
        if self.profile.recording.method == Method::Live {
            return self.live_verdict(waited);
        }
        if waited == 0 {
            return "Apart from joins, no thread slept in a futex call: other locks would change nothing.".to_owned();
        }
        format!(
            "Threads slept {} in futex calls, {} of their time. The call sites show whether that is contention or \
             waiting for work; acquisitions and hold times are not known, so no rule judges them.",
            time(waited),
            percent(waited, self.thread_ns)
        )
    }

    fn live_verdict(&self, waited: u64) -> String {
        if waited == 0 && !self.profile.recording.missing.is_empty() {
            return UNKNOWN.to_owned();
        }
        if waited == 0 {
            return "No thread waited for a lock meanwhile: other locks would change nothing.".to_owned();
        }
        format!(
            "Threads waited {} for locks, {} of their time. How often locks are taken without a wait, and how long \
             they are held, is not known of a program that ran already, so no rule judges it: `turnwise profile -- \
             CMD` records that, and `turnwise compare -- CMD` tries other locks.",
            time(waited),
            percent(waited, self.thread_ns)
        )
    }

    pub(super) fn verdict(&self, nothing_found: bool) -> String {
        let waited: u64 = self.profile.locks.iter().map(|lock| lock.usage.wait.sum_ns).sum();
        let waits: u64 = self.profile.locks.iter().map(|lock| lock.usage.wait.count).sum();
        let spent =
            format!("threads waited {} for locks, {} of their time", time(waited), percent(waited, self.thread_ns));
        if waited == 0 && !self.profile.recording.missing.is_empty() {
            UNKNOWN.to_owned()
        } else if headlines::took_none(self.profile) {
            "The recording has no lock to judge: if the program has locks of its own, trace its sleeps: \
             `turnwise profile --futex -- CMD`."
                .to_owned()
        } else if waited == 0 {
            "No thread waited for a lock: other locks would change nothing.".to_owned()
        } else if let (Some(others), true) = (self.others(), nothing_found || !self.worthwhile(waited)) {
            format!(
                "T{}. Meanwhile {others}: whether locks slow the program cannot be seen from this run. Record it again \
                 when the machine is quiet.",
                &spent[1..]
            )
        } else if waits < FEW_WAITS && (waited < SHORT_NS || !self.worthwhile(waited)) {
            let waits = plural(waits, "wait", "waits");
            format!("T{}, in {waits}: too few to judge locks by. Let the program do more.", &spent[1..])
        } else if !self.worthwhile(waited) {
            format!("Locks do not slow this program: {spent}.")
        } else if let Some(others) = self.others() {
            format!("T{}. Meanwhile {others}: whose CPU threads waited for is not judged.", &spent[1..])
        } else if nothing_found {
            format!("T{}, but no rule knows a remedy: inspect the locks themselves.", &spent[1..])
        } else {
            format!("T{}.", &spent[1..])
        }
    }
}

/// Returns whether threads waited for a lock too rarely to judge it by that.
pub(super) fn waited_rarely(lock: &Lock) -> bool {
    lock.usage.wait.count < FEW_WAITS && lock.usage.wait.sum_ns < SHORT_NS
}

/// Returns the greatest number of threads that existed at one time.
pub fn at_once<'a>(threads: impl IntoIterator<Item = &'a Thread>) -> usize {
    let mut changes: Vec<(u64, i64)> =
        threads.into_iter().flat_map(|thread| [(thread.began_ns, 1), (thread.ended_ns, -1)]).collect();
    changes.sort_unstable();
    let mut now = 0;
    let sums = changes.into_iter().map(|(_, change)| {
        now += change;
        now
    });
    sums.max().unwrap_or(0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_count_while_they_are_there() {
        let thread = |began_ns, ended_ns| Thread { began_ns, ended_ns, ..Thread::default() };
        assert_eq!(at_once(&[thread(0, 10), thread(5, 20), thread(10, 30), thread(40, 50)]), 2);
        assert_eq!(at_once(&[]), 0);
    }
}
