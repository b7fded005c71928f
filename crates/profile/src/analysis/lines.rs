//! Busy locks on one cache line.

use super::sites::Sites;
use crate::model::{LockId, Profile, SharedLine};
use std::collections::{BTreeMap, BTreeSet};
use turnwise_recording::reader::Recording;

/// The size of a cache line, in bytes.
const LINE: u64 = 64;
/// The number of acquisitions from which a lock is busy.
const BUSY: u64 = 1000;

/// Returns cache lines with two or more busy locks that two or more threads used.
pub(super) fn shared(recording: &Recording, sites: &Sites, profile: &Profile) -> Vec<SharedLine> {
    let mut lines: BTreeMap<u64, Vec<LockId>> = BTreeMap::new();
    for (lock, id) in profile.locks.iter().zip(0..).filter(|(lock, _)| lock.usage.acquisitions >= BUSY) {
        lines.entry(lock.address / LINE * LINE).or_default().push(id);
    }
    let mut found = Vec::new();
    for (line, mut locks) in lines {
        let addresses: BTreeSet<u64> = locks.iter().map(|id| profile.locks[*id as usize].address).collect();
        let threads: BTreeSet<u32> = locks.iter().flat_map(|id| threads_of(recording, sites, *id)).collect();
        if addresses.len() > 1 && threads.len() > 1 {
            locks.sort_by_key(|id| std::cmp::Reverse(profile.locks[*id as usize].usage.acquisitions));
            found.push(SharedLine { line, locks });
        }
    }
    let busiest = |line: &SharedLine| profile.locks[line.locks[0] as usize].usage.acquisitions;
    found.sort_by_key(|line| std::cmp::Reverse(busiest(line)));
    found
}

fn threads_of(recording: &Recording, sites: &Sites, lock: LockId) -> Vec<u32> {
    let number = sites.lock_numbers()[lock as usize];
    sites.of_lock(number).flat_map(|site| &site.entries).map(|entry| recording.owners[*entry]).collect()
}
