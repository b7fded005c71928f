//! The counts of a lock: differences of two looks, and sums over several locks.

use turnwise_live::Lock;

/// The number of buckets of a histogram; each holds waits from a power of two of nanoseconds up to the next.
pub(crate) const BUCKETS: usize = 32;

/// The counters of one lock, or of several.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Figures {
    /// The number of waits that ended.
    pub(crate) waits: u64,
    /// The total time of those waits.
    pub(crate) finished_ns: u64,
    /// The time that current waiters have waited so far.
    pub(crate) unfinished_ns: u64,
    pub(crate) histogram: [u64; BUCKETS],
    /// The longest of all waits since the program began.
    pub(crate) longest_ns: u64,
    pub(crate) sleeps: u64,
    pub(crate) steals: u64,
    pub(crate) handoffs: u64,
    /// Waits that ended without the lock.
    pub(crate) gave_up: u64,
}

impl Figures {
    /// Returns the figures of a lock since its program began, without current waits.
    pub(crate) fn of(lock: &Lock) -> Figures {
        Figures {
            waits: lock.waits,
            finished_ns: lock.wait_ns,
            unfinished_ns: 0,
            histogram: lock.histogram,
            longest_ns: lock.longest_ns,
            sleeps: lock.sleeps,
            steals: lock.steals,
            handoffs: lock.handoffs,
            gave_up: lock.gave_up,
        }
    }

    /// Returns how long threads waited, including current waiters.
    pub(crate) fn waited_ns(&self) -> u64 {
        self.finished_ns.saturating_add(self.unfinished_ns)
    }

    /// Returns the change since an earlier look. A look may miss counts that moved meanwhile, so counters may decrease.
    pub(crate) fn since(&self, earlier: &Figures) -> Figures {
        let waited = self.waited_ns().saturating_sub(earlier.waited_ns());
        let finished = self.finished_ns.saturating_sub(earlier.finished_ns);
        Figures {
            // A wait that ended now was partly counted before it ended.
            finished_ns: finished.min(waited),
            unfinished_ns: waited.saturating_sub(finished),
            longest_ns: self.longest_ns,
            ..self.with(earlier, u64::saturating_sub)
        }
    }

    /// Adds another lock's figures.
    pub(crate) fn add(&mut self, other: &Figures) {
        *self = Figures { longest_ns: self.longest_ns.max(other.longest_ns), ..self.with(other, u64::saturating_add) };
    }

    /// Combines each count with another lock's, or with that of another time.
    fn with(&self, other: &Figures, combine: fn(u64, u64) -> u64) -> Figures {
        Figures {
            waits: combine(self.waits, other.waits),
            finished_ns: combine(self.finished_ns, other.finished_ns),
            unfinished_ns: combine(self.unfinished_ns, other.unfinished_ns),
            histogram: std::array::from_fn(|bucket| combine(self.histogram[bucket], other.histogram[bucket])),
            longest_ns: self.longest_ns,
            sleeps: combine(self.sleeps, other.sleeps),
            steals: combine(self.steals, other.steals),
            handoffs: combine(self.handoffs, other.handoffs),
            gave_up: combine(self.gave_up, other.gave_up),
        }
    }

    /// Returns a time that a share of the ended waits did not exceed, to the buckets' precision; `None`: none ended.
    pub(crate) fn quantile(&self, share: f64) -> Option<u64> {
        let count = self.histogram.iter().fold(0_u64, |sum, here| sum.saturating_add(*here));
        let mut rank = share * count as f64;
        for (bucket, &here) in self.histogram.iter().enumerate().filter(|(_, here)| **here > 0) {
            if rank <= here as f64 {
                let (low, high) = (lower_bound(bucket), upper_bound(bucket, self.longest_ns));
                let place = low as f64 + high.saturating_sub(low) as f64 * rank / here as f64;
                return Some(place as u64);
            }
            rank -= here as f64;
        }
        (count > 0).then_some(self.longest_ns)
    }
}

/// Returns the shortest wait of a bucket.
pub(crate) fn lower_bound(bucket: usize) -> u64 {
    if bucket == 0 { 0 } else { 1 << bucket }
}

/// Returns the longest wait of a bucket, if none was longer than `longest_ns`; the last takes all longer ones.
pub(crate) fn upper_bound(bucket: usize, longest_ns: u64) -> u64 {
    let bound = if bucket + 1 < BUCKETS { 1 << (bucket + 1) } else { u64::MAX };
    bound.min(longest_ns.max(lower_bound(bucket)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(waits: u64, finished_ns: u64, unfinished_ns: u64) -> Figures {
        Figures { waits, finished_ns, unfinished_ns, ..Figures::default() }
    }

    #[test]
    fn time_that_threads_wait_is_counted_while_they_do_and_only_once() {
        let looks = [figures(0, 0, 0), figures(0, 0, 700), figures(1, 900, 0), figures(2, 1_000, 50)];
        let steps: Vec<Figures> = looks.windows(2).map(|pair| pair[1].since(&pair[0])).collect();
        assert_eq!(steps.iter().map(Figures::waited_ns).collect::<Vec<_>>(), [700, 200, 150]);
        assert_eq!(steps.iter().map(|step| step.waits).collect::<Vec<_>>(), [0, 1, 1]);
    }

    #[test]
    fn counters_that_go_back_count_as_nothing() {
        let step = figures(9, 20, 5).since(&figures(10, 30, 0));
        assert_eq!((step.waits, step.waited_ns()), (0, 0));
    }

    #[test]
    fn quantiles_lie_in_their_bucket_and_under_the_longest_wait() {
        let mut figures = Figures { longest_ns: 5_000, ..Figures::default() };
        assert_eq!(figures.quantile(0.5), None);
        figures.histogram[10] = 98; // 1024 to 2047 ns
        figures.histogram[12] = 2; // 4096 ns and more
        let (median, high) = (figures.quantile(0.5).unwrap(), figures.quantile(0.99).unwrap());
        assert!((1_024..2_048).contains(&median), "{median}");
        assert!((4_096..=5_000).contains(&high), "{high}");
        figures.histogram = [0; BUCKETS];
        figures.histogram[BUCKETS - 1] = 1;
        figures.longest_ns = 90_000_000_000;
        assert!(figures.quantile(1.0).unwrap() <= 90_000_000_000);
    }

    #[test]
    fn counters_near_their_end_do_not_overflow() {
        let mut most = figures(u64::MAX, u64::MAX, u64::MAX);
        most.add(&figures(1, 1, 1));
        assert_eq!((most.waits, most.waited_ns()), (u64::MAX, u64::MAX));
    }
}
