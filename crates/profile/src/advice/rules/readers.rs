//! Readers-writer locks that starve their writers or their readers, or that have hardly any readers.

use super::LINE_TRANSFER_NS;
use crate::advice::Finding;
use crate::advice::context::{Context, waited_rarely};
use crate::figures::share;
use crate::model::{Lock, LockId, LockKind, Usage};
use crate::template::context;
use minijinja::value::Value;

/// The share of readers among the acquisitions from which writers can starve.
const MOSTLY_READ: f64 = 0.8;
/// The factor by which an acquisition of the starved side waits longer than one of the other.
const STARVED: f64 = 10.0;
/// The share of readers below which a mutex, which costs less to take, keeps no thread out for long.
const FEW_READERS: f64 = 0.5;

pub(super) fn find(context: &Context, number: LockId, lock: &Lock) -> Option<Finding> {
    if lock.kind != LockKind::RwLock {
        return None;
    }
    let sides = Sides::of(context, number);
    let starving = writers(context, number, &sides).or_else(|| readers(context, number, &sides));
    let starving = starving.filter(|_| !waited_rarely(lock));
    starving.or_else(|| few(context, number, lock))
}

/// The readers and the writers.
struct Sides {
    reads: Side,
    writes: Side,
}

#[derive(Default)]
struct Side {
    acquisitions: u64,
    wait_ns: u64,
    longest_ns: u64,
}

impl Sides {
    fn of(context: &Context, lock: LockId) -> Sides {
        let mut sides = Sides { reads: Side::default(), writes: Side::default() };
        for (_, site) in context.sites_of(lock) {
            let side = if site.reader { &mut sides.reads } else { &mut sides.writes };
            side.acquisitions += site.usage.acquisitions;
            side.wait_ns += site.usage.wait.sum_ns;
            side.longest_ns = side.longest_ns.max(site.usage.wait.max_ns);
        }
        sides
    }

    fn values(&self, longest_ns: u64, can_adapt: bool) -> Value {
        let Sides { reads, writes } = self;
        context! {
            reads => reads.acquisitions,
            all => reads.acquisitions + writes.acquisitions,
            write_ns => writes.mean_ns() as u64,
            read_ns => reads.mean_ns() as u64,
            longest => longest_ns,
            can_adapt,
        }
    }
}

impl Side {
    fn mean_ns(&self) -> f64 {
        share(self.wait_ns, self.acquisitions)
    }

    /// Returns whether it waits too long, and too much longer than `other`, for that to be chance.
    fn starves(&self, other: &Side, context: &Context) -> bool {
        self.mean_ns() >= STARVED * other.mean_ns() && context.worthwhile(self.wait_ns)
    }
}

/// Judges starved writers. Only the lock's kind helps: glibc's default kinds let readers pass writers for as long as
/// any read, and all policies respect the kind, since a thread of such a lock may read within a read.
fn writers(context: &Context, number: LockId, sides: &Sides) -> Option<Finding> {
    let Sides { reads, writes } = sides;
    let all = reads.acquisitions + writes.acquisitions;
    if share(reads.acquisitions, all) < MOSTLY_READ || !writes.starves(reads, context) {
        return None;
    }
    Some(context.about("writers-starve", number, writes.wait_ns, sides.values(writes.longest_ns, false)))
}

/// Judges starved readers. In the C library, successive writers can keep readers out forever if the kind prefers
/// writers. The adaptive lock admits a reader that has waited too long.
fn readers(context: &Context, number: LockId, sides: &Sides) -> Option<Finding> {
    let Sides { reads, writes } = sides;
    if !reads.starves(writes, context) {
        return None;
    }
    let experiment = context.adaptive(number);
    let values = sides.values(reads.longest_ns, experiment.is_some());
    Some(Finding { experiment, ..context.about("readers-starve", number, reads.wait_ns, values) })
}

fn few(context: &Context, number: LockId, lock: &Lock) -> Option<Finding> {
    let Usage { reads, acquisitions, .. } = lock.usage;
    // A readers-writer lock writes its word twice, for a reader as well as for a writer.
    let hoped = acquisitions * LINE_TRANSFER_NS;
    if share(reads, acquisitions) >= FEW_READERS || !context.worthwhile(hoped.min(lock.usage.wait.sum_ns)) {
        return None;
    }
    Some(context.about("few-readers", number, hoped, context! { reads, all => acquisitions }))
}

#[cfg(test)]
mod tests {
    use crate::advice::sample::{fired, lock, quiet, site, usage};
    use crate::advice::{Experiment, Scope, advise};
    use crate::model::{LockKind, Profile};
    use turnwise_preload_abi::Policy;

    fn profile(reads: u64, writes: u64, read_wait_ns: u64, write_wait_ns: u64) -> Profile {
        let mut profile = quiet();
        let mut all = usage(reads + writes, writes, write_wait_ns, 8_000);
        all.reads = reads;
        let lock = lock(&mut profile, all);
        profile.locks[0].kind = LockKind::RwLock;
        let reader = site(&mut profile, lock, usage(reads, reads, read_wait_ns, 8_000));
        profile.sites[reader as usize].reader = true;
        site(&mut profile, lock, usage(writes, writes, write_wait_ns, 8_000));
        profile
    }

    #[test]
    fn writers_that_wait_much_longer_starve() {
        assert!(fired(&profile(80_000, 20_000, 1_000, 10_000)).contains(&"writers-starve"));
        assert!(!fired(&profile(79_000, 21_000, 1_000, 10_000)).contains(&"writers-starve"), "fewer readers");
        assert!(!fired(&profile(80_000, 20_000, 1_000, 9_900)).contains(&"writers-starve"), "not that long");
        assert!(!fired(&profile(80_000, 200, 1_000, 10_000)).contains(&"writers-starve"), "hardly any time");
    }

    #[test]
    fn no_policy_is_proposed_where_all_let_readers_pass() {
        let advice = advise(&profile(80_000, 20_000, 1_000, 10_000));
        let found = advice.findings.iter().find(|finding| finding.rule == "writers-starve").unwrap();
        assert_eq!(found.experiment, None);
        assert!(found.change.as_ref().is_some_and(|change| change.contains("PREFER_WRITER_NONRECURSIVE_NP")));
        assert!(found.evidence[1].contains("writing waits 10.0 us on average, one for reading 1.00 us"), "{found:?}");
    }

    #[test]
    fn readers_that_wait_much_longer_starve_and_the_adaptive_lock_lets_them_in() {
        let profile_of = |policy: &str, read_wait_ns| {
            let mut profile = profile(2_000, 50_000, read_wait_ns, 2_000);
            profile.program.policy = policy.to_owned();
            profile
        };
        let advice = advise(&profile_of("libc", 20_000));
        let found = advice.findings.iter().find(|finding| finding.rule == "readers-starve").unwrap();
        assert_eq!(found.experiment, Some(Experiment { policy: Policy::ADAPTIVE, scope: Scope::Locks(vec![0]) }));
        assert!(!fired(&profile_of("libc", 19_900)).contains(&"readers-starve"), "not that long");
        let mut ours = advise(&profile_of("adaptive", 20_000)).findings.into_iter();
        assert_eq!(ours.find(|finding| finding.rule == "readers-starve").unwrap().experiment, None);
        assert!(!fired(&profile(200, 50_000, 20_000, 2_000)).contains(&"readers-starve"), "hardly any time");
    }

    #[test]
    fn without_readers_a_mutex_will_do() {
        assert!(fired(&profile(490_000, 510_000, 100, 100)).contains(&"few-readers"));
        assert!(!fired(&profile(510_000, 490_000, 100, 100)).contains(&"few-readers"));
        assert!(!fired(&profile(49_000, 51_000, 100, 100)).contains(&"few-readers"), "hardly any time");
    }
}
