//! The counts of a lock: differences of two looks, and sums over several locks.

use std::ops::Deref;
use turnwise_live::Totals;
pub(crate) use turnwise_live::layout::BUCKETS;

/// The waits for one lock, or for several, between two looks or since the program began.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Figures {
    /// The waits that ended; the longest is that of all since the program began. They can be read like its own fields.
    pub(crate) ended: Totals,
    /// The time that current waiters have waited so far.
    pub(crate) unfinished_ns: u64,
}

impl Deref for Figures {
    type Target = Totals;

    fn deref(&self) -> &Totals {
        &self.ended
    }
}

impl Figures {
    /// Returns how long threads waited, including current waiters.
    pub(crate) fn waited_ns(&self) -> u64 {
        self.ended.wait_ns.saturating_add(self.unfinished_ns)
    }

    /// Returns the change since an earlier look.
    pub(crate) fn since(&self, earlier: &Figures) -> Figures {
        let waited = self.waited_ns().saturating_sub(earlier.waited_ns());
        let ended = self.ended.since(&earlier.ended);
        // A wait that ended now was partly counted before it ended.
        let wait_ns = ended.wait_ns.min(waited);
        Figures { ended: Totals { wait_ns, ..ended }, unfinished_ns: waited - wait_ns }
    }

    /// Adds another lock's figures.
    pub(crate) fn add(&mut self, other: &Figures) {
        self.ended.add(&other.ended);
        self.unfinished_ns = self.unfinished_ns.saturating_add(other.unfinished_ns);
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
        Figures { ended: Totals { waits, wait_ns: finished_ns, ..Totals::default() }, unfinished_ns }
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
        let mut figures = Figures::default();
        figures.ended.longest_ns = 5_000;
        assert_eq!(figures.quantile(0.5), None);
        figures.ended.histogram[10] = 98; // 1024 to 2047 ns
        figures.ended.histogram[12] = 2; // 4096 ns and more
        let (median, high) = (figures.quantile(0.5).unwrap(), figures.quantile(0.99).unwrap());
        assert!((1_024..2_048).contains(&median), "{median}");
        assert!((4_096..=5_000).contains(&high), "{high}");
        figures.ended.histogram = [0; BUCKETS];
        figures.ended.histogram[BUCKETS - 1] = 1;
        figures.ended.longest_ns = 90_000_000_000;
        assert!(figures.quantile(1.0).unwrap() <= 90_000_000_000);
    }

    #[test]
    fn counters_near_their_end_do_not_overflow() {
        let mut most = figures(u64::MAX, u64::MAX, u64::MAX);
        most.add(&figures(1, 1, 1));
        assert_eq!((most.waits, most.waited_ns()), (u64::MAX, u64::MAX));
    }
}
