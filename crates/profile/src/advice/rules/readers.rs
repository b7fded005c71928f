//! Readers-writer locks that starve their writers, or that have hardly any readers.

use super::LINE_TRANSFER_NS;
use crate::advice::Finding;
use crate::advice::context::Context;
use crate::figures::{percent, share, time};
use crate::model::{Lock, LockId, LockKind, Usage};

/// With so many readers among the acquisitions, writers can starve.
const MOSTLY_READ: f64 = 0.8;
/// An acquisition for writing waits so many times as long as one for reading.
const STARVED: f64 = 10.0;
/// With fewer readers than this a mutex, which costs less to take, keeps nobody out for long.
const FEW_READERS: f64 = 0.5;

pub(super) fn find(context: &Context) -> Vec<Finding> {
    let locks = context.profile.locks.iter().enumerate().filter(|(_, lock)| lock.kind == LockKind::RwLock);
    locks
        .filter_map(|(number, lock)| {
            starving(context, number as LockId, lock).or_else(|| few(context, number as LockId, lock))
        })
        .collect()
}

/// Acquisitions, wait time and longest wait of the lock's readers or writers.
fn side(context: &Context, lock: LockId, reader: bool) -> (u64, u64, u64) {
    let sites = context.sites_of(lock).filter(|(_, site)| site.reader == reader);
    sites.fold((0, 0, 0), |(number, wait, longest), (_, site)| {
        let Usage { acquisitions, wait: times, .. } = &site.usage;
        (number + acquisitions, wait + times.sum_ns, longest.max(times.max_ns))
    })
}

fn starving(context: &Context, number: LockId, lock: &Lock) -> Option<Finding> {
    let (reads, read_wait, _) = side(context, number, true);
    let (writes, write_wait, longest) = side(context, number, false);
    let starved = share(write_wait, writes) >= STARVED * share(read_wait, reads);
    if share(lock.usage.reads, lock.usage.acquisitions) < MOSTLY_READ || !starved || !context.worthwhile(write_wait) {
        return None;
    }
    let title = format!("Writers of {} starve behind its readers", context.lock_name(number));
    let mut finding = context.about("writers-starve", number, title, write_wait);
    finding.evidence.push(format!(
        "{} of its acquisitions read; one for writing waits {} on average, one for reading {}; the longest took {}",
        percent(reads, reads + writes),
        time(share(write_wait, writes) as u64),
        time(share(read_wait, reads) as u64),
        time(longest),
    ));
    finding.experiment = context.adaptive(number);
    let kind = "PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP";
    finding.change = Some(format!("or prefer writers: pthread_rwlockattr_setkind_np with {kind}"));
    Some(finding)
}

fn few(context: &Context, number: LockId, lock: &Lock) -> Option<Finding> {
    let Usage { reads, acquisitions, .. } = lock.usage;
    // A readers-writer lock writes its word twice for a reader as for a writer.
    let hoped = acquisitions * LINE_TRANSFER_NS;
    if share(reads, acquisitions) >= FEW_READERS || !context.worthwhile(hoped.min(lock.usage.wait.sum_ns)) {
        return None;
    }
    let title = format!("{} is a readers-writer lock with few readers", context.lock_name(number));
    let mut finding = context.about("few-readers", number, title, hoped);
    finding.evidence.push(format!("{} of its acquisitions read", percent(reads, acquisitions)));
    finding.change = Some("make it a mutex: it costs less to take and to release".to_owned());
    Some(finding)
}

#[cfg(test)]
mod tests {
    use crate::advice::sample::{fired, lock, quiet, site, usage};
    use crate::model::{LockKind, Profile};

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
    fn without_readers_a_mutex_will_do() {
        assert!(fired(&profile(490_000, 510_000, 100, 100)).contains(&"few-readers"));
        assert!(!fired(&profile(510_000, 490_000, 100, 100)).contains(&"few-readers"));
        assert!(!fired(&profile(49_000, 51_000, 100, 100)).contains(&"few-readers"), "hardly any time");
    }
}
