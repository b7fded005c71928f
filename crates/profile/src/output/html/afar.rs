//! An overview of a lock's time course: sums over all waits that were kept, in equal bins.

use crate::model::{Episode, ThreadId};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The number of bins of a course: about as many as fit into a window.
const BINS: usize = 600;
/// The number of threads with rows: those that waited longest.
const MOST_THREADS: usize = 40;
/// The levels of a share of a bin: the first is 0, the last is all.
const LEVELS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

#[derive(Serialize)]
pub(super) struct Afar {
    began_ns: u64,
    bin_ns: u64,
    /// The total number of threads.
    threads: usize,
    /// The time that all threads waited in each bin.
    wait_ns: Vec<u64>,
    rows: Vec<Row>,
}

/// The parts of each bin in which a thread waited for the lock and held it, a character each.
#[derive(Serialize)]
struct Row {
    thread: ThreadId,
    wait: String,
    hold: String,
}

#[derive(Clone)]
struct Sums {
    wait: Vec<u64>,
    hold: Vec<u64>,
}

impl Afar {
    /// Makes the overview of one lock's waits, at least one.
    pub(super) fn of(waits: &[&Episode]) -> Afar {
        let end = |wait: &&Episode| wait.acquired_ns.max(wait.released_ns.unwrap_or(0));
        let began_ns = waits.iter().map(|wait| wait.began_ns).min().unwrap_or(0);
        let ended_ns = waits.iter().map(end).max().unwrap_or(0);
        let bin_ns = (ended_ns.saturating_sub(began_ns) / BINS as u64) + 1;
        let mut threads: BTreeMap<ThreadId, Sums> = BTreeMap::new();
        let none = Sums { wait: vec![0; BINS], hold: vec![0; BINS] };
        for wait in waits {
            let sums = threads.entry(wait.thread).or_insert_with(|| none.clone());
            let part = |ns: u64| ns.saturating_sub(began_ns);
            share_out(&mut sums.wait, bin_ns, part(wait.began_ns), part(wait.acquired_ns));
            share_out(&mut sums.hold, bin_ns, part(wait.acquired_ns), part(wait.released_ns.unwrap_or(0)));
        }
        let wait_ns = (0..BINS).map(|bin| threads.values().map(|sums| sums.wait[bin]).sum()).collect();
        let number = threads.len();
        let mut order: Vec<(ThreadId, Sums)> = threads.into_iter().collect();
        order.sort_by_key(|(_, sums)| Reverse(sums.wait.iter().sum::<u64>()));
        order.truncate(MOST_THREADS);
        let rows = order.into_iter().map(|(thread, sums)| Row {
            thread,
            wait: levels(&sums.wait, bin_ns),
            hold: levels(&sums.hold, bin_ns),
        });
        Afar { began_ns, bin_ns, threads: number, wait_ns, rows: rows.collect() }
    }
}

/// Adds the time between two points to the bins that it spans.
pub(super) fn share_out(bins: &mut [u64], bin_ns: u64, from: u64, to: u64) {
    let first = (from / bin_ns) as usize;
    for (bin, sum) in bins.iter_mut().enumerate().skip(first) {
        let start = bin as u64 * bin_ns;
        if start >= to {
            break;
        }
        *sum += to.min(start + bin_ns).saturating_sub(from.max(start));
    }
}

/// Returns each bin's level; any time above 0 has at least level one.
fn levels(bins: &[u64], bin_ns: u64) -> String {
    let most = LEVELS.len() - 1;
    let level = |ns: &u64| (*ns as f64 / bin_ns as f64 * most as f64).ceil().min(most as f64) as usize;
    bins.iter().map(|ns| char::from(LEVELS[level(ns)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_add_up_to_all_waits() {
        let wait = |thread, began_ns: u64, acquired_ns, released_ns| Episode {
            thread,
            began_ns,
            acquired_ns,
            released_ns,
            ..Episode::default()
        };
        let waits = [wait(1, 1000, 3000, Some(3500)), wait(2, 1500, 7000, None), wait(1, 6000, 7000, Some(6500))];
        let afar = Afar::of(&waits.iter().collect::<Vec<_>>());
        assert_eq!((afar.began_ns, afar.bin_ns, afar.threads), (1000, 11, 2));
        assert_eq!(afar.wait_ns.iter().sum::<u64>(), 2000 + 5500 + 1000);
        assert_eq!(afar.rows.iter().map(|row| row.thread).collect::<Vec<_>>(), [2, 1], "the longest first");
        let row = &afar.rows[1];
        assert!(row.wait.starts_with("zzz") && row.wait.len() == BINS, "{}", row.wait);
        assert_eq!(row.hold.find('z'), Some(182), "from 2000 on");
        assert_eq!(levels(&[0, 1, 1_000_000, 2_000_000], 1_000_000), "01zz");
    }
}
