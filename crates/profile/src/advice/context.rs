//! Queries on a profile that several rules share.

use super::{Experiment, Finding, Scope};
use crate::analysis::runtimes;
use crate::figures::{percent, share, time};
use crate::model::{Blocked, Lock, LockId, Profile, Site, SiteId, Thread};
use crate::output::{headlines, names};
use crate::template::{Words, context};
use minijinja::value::Value;
use std::sync::LazyLock;
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
    sites: Vec<Vec<SiteId>>,
    /// The total lifetime of threads.
    pub(super) thread_ns: u64,
    /// The number of threads that existed at the same time.
    pub(super) threads_at_once: usize,
}

impl<'a> Context<'a> {
    pub(super) fn new(profile: &'a Profile) -> Context<'a> {
        let mut sites = vec![Vec::new(); profile.locks.len()];
        for (number, site) in profile.sites.iter().enumerate() {
            sites[site.lock as usize].push(number as SiteId);
        }
        let threads_at_once = at_once(profile.threads.iter().filter(|thread| !thread.only_slept));
        Context { profile, sites, thread_ns: headlines::thread_ns(profile), threads_at_once }
    }

    /// Numbers all locks of pthread.
    pub(super) fn locks(&self) -> impl Iterator<Item = (LockId, &'a Lock)> + use<'a> {
        (0..).zip(&self.profile.locks).filter(|(_, lock)| lock.kind.is_pthread())
    }

    /// Numbers the locks that sleep by futex calls of their own, of which only the waits are known.
    pub(super) fn other_locks(&self) -> impl Iterator<Item = (LockId, &'a Lock)> + use<'a> {
        (0..).zip(&self.profile.locks).filter(|(_, lock)| !lock.kind.is_pthread())
    }

    /// Returns the locks at which threads wait long enough to matter. A few long waits for a runtime's own lock do not:
    /// it starts or stops something.
    pub(super) fn busy_locks(&self) -> impl Iterator<Item = (LockId, &'a Lock)> {
        let is_service = move |id, lock: &Lock| lock.usage.wait.count < FEW_WAITS && self.is_of_runtime(id);
        let worthwhile = move |lock: &Lock| self.worthwhile(lock.usage.wait.sum_ns) && !waited_rarely(lock);
        self.locks().filter(move |(id, lock)| worthwhile(lock) && !is_service(*id, lock))
    }

    /// Returns whether only the runtime of a language takes a lock: the program's author cannot change that.
    fn is_of_runtime(&self, lock: LockId) -> bool {
        let module = |frame: &u32| self.profile.frames.get(*frame as usize).map(|frame| frame.module.as_str());
        let of_runtime =
            |(_, site): (SiteId, &Site)| site.frames.last().and_then(module).and_then(runtimes::of_file).is_some();
        self.sites_of(lock).next().is_some() && self.sites_of(lock).all(of_runtime)
    }

    /// Returns whether a finding can be acted on: it proposes other locks, or is about code of the program.
    pub(super) fn is_actionable(&self, finding: &Finding) -> bool {
        let locks = &finding.locks;
        let is_of_runtime = !locks.is_empty() && locks.iter().all(|lock| self.is_of_runtime(*lock));
        finding.experiment.is_some() || !is_of_runtime
    }

    /// Returns the waits for the global lock of Python's interpreter, and their time.
    pub(super) fn gil(&self) -> (u64, u64) {
        let parts = self.profile.conditions.iter().filter(|condition| runtimes::is_gil(&condition.name));
        parts.fold((0, 0), |(waits, ns), part| (waits + part.waits, ns.saturating_add(part.wait.sum_ns)))
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
        if usage.acquisitions == 0 {
            let (time, share) = (time(usage.wait.sum_ns), percent(usage.wait.sum_ns, self.thread_ns));
            let worst = worst.unwrap_or_default();
            return format!("threads waited {time} for it, {share} of their time{worst}");
        }
        format!(
            "threads waited {} for it, {} of their time; {} of {} acquisitions were contended{}",
            time(usage.wait.sum_ns),
            percent(usage.wait.sum_ns, self.thread_ns),
            percent(usage.contended, usage.acquisitions),
            crate::figures::count(usage.acquisitions),
            worst.unwrap_or_default(),
        )
    }

    /// Returns a finding in the words of `assets/advice.jinja`, which knows these values.
    pub(super) fn finding(&self, rule: &'static str, hoped_ns: u64, values: Value) -> Finding {
        static WORDS: LazyLock<Words> = LazyLock::new(|| Words::of(include_str!("../../assets/advice.jinja")));
        let (threads, cpus) = (self.threads_at_once, self.profile.program.cpus);
        let values = context! { rule, threads, cpus, others => self.others(), ..values };
        let mut finding = Finding { rule, hoped_ns, ..Finding::default() };
        for line in WORDS.render(values).lines() {
            if let Some(evidence) = line.strip_prefix("- ") {
                finding.evidence.push(evidence.to_owned());
            } else if let Some(change) = line.strip_prefix("change: ") {
                finding.change = Some(change.to_owned());
            } else {
                line.clone_into(&mut finding.title);
            }
        }
        finding
    }

    /// Returns a finding about one lock, `name` there, with its cost as the first evidence.
    pub(super) fn about(&self, rule: &'static str, lock: LockId, hoped_ns: u64, values: Value) -> Finding {
        let mut finding = self.finding(rule, hoped_ns, context! { name => self.lock_name(lock), ..values });
        finding.evidence.insert(0, self.cost(lock));
        Finding { locks: vec![lock], ..finding }
    }

    /// Returns the experiment of the adaptive lock for this one lock, unless it had it.
    pub(super) fn adaptive(&self, lock: LockId) -> Option<Experiment> {
        let scope = Scope::Locks(vec![lock]);
        (self.profile.program.policy != Policy::ADAPTIVE.name())
            .then_some(Experiment { policy: Policy::ADAPTIVE, scope })
    }

    /// Returns how much contention there is, in one sentence, and whether it can be judged.
    pub(super) fn verdict(&self, nothing_found: bool) -> String {
        let (profile, waited) = (self.profile, headlines::waited_ns(self.profile));
        let waits: u64 = profile.locks.iter().map(|lock| lock.usage.wait.count).sum();
        let values = context! {
            others => self.others(),
            worthwhile => self.worthwhile(waited),
            gil => Some(self.gil().1).filter(|ns| self.worthwhile(*ns)),
            few => waits < FEW_WAITS && (waited < SHORT_NS || !self.worthwhile(waited)),
            nothing_found,
            ..headlines::totals(profile)
        };
        Words::of(include_str!("../../assets/verdict.jinja")).render(values).trim_end().to_owned()
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
