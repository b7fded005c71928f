//! The counts of a lock at one look, and the figures computed from two of them or from several locks.

use super::model::LockView;
use std::ops::Deref;
use std::sync::Arc;
pub(crate) use turnwise_live::layout::BUCKETS;
use turnwise_live::{Lock, Site, Totals};

/// A lock's waits that have ended, as the reader returns them.
pub(super) type Ended = Arc<Lock>;

/// The counts of a lock since its program began.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counted {
    /// `None`: no wait for it has ended.
    pub(super) ended: Option<Ended>,
    /// The time that current waiters have waited so far.
    pub(super) unfinished_ns: u64,
}

/// A call site of a lock at a look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SiteView {
    pub(crate) address: u64,
    /// Waits that ended since the previous look, and their time.
    pub(crate) waits: u64,
    pub(crate) wait_ns: u64,
    /// The totals since the program began.
    pub(crate) total: Site,
}

impl Counted {
    /// Returns the number of waits that ended.
    pub(super) fn waits(&self) -> u64 {
        self.ended.as_ref().map_or(0, |ended| ended.waits)
    }

    /// Returns how long threads waited, including current waiters.
    pub(super) fn waited_ns(&self) -> u64 {
        self.ended.as_ref().map_or(0, |ended| ended.wait_ns).saturating_add(self.unfinished_ns)
    }

    fn sites(&self) -> &[Site] {
        self.ended.as_ref().map(|ended| ended.sites.as_slice()).unwrap_or_default()
    }

    fn figures(&self) -> Figures {
        let ended = self.ended.as_ref().map(|ended| ended.totals).unwrap_or_default();
        Figures { ended, unfinished_ns: self.unfinished_ns }
    }
}

impl LockView {
    /// Returns the figures since the previous look.
    pub(crate) fn now(&self) -> Figures {
        let total = self.total();
        match &self.before {
            Some(before) => total.since(&before.figures()),
            None => total,
        }
    }

    /// Returns the figures since the program began.
    pub(crate) fn total(&self) -> Figures {
        self.counted.figures()
    }

    pub(crate) fn sites(&self) -> Vec<SiteView> {
        let before = self.before.as_ref().map(Counted::sites).unwrap_or_default();
        let view = |site: &Site| {
            let earlier = before.iter().find(|before| before.address == site.address);
            SiteView {
                address: site.address,
                waits: site.waits.saturating_sub(earlier.map_or(0, |earlier| earlier.waits)),
                wait_ns: site.wait_ns.saturating_sub(earlier.map_or(0, |earlier| earlier.wait_ns)),
                total: *site,
            }
        };
        self.counted.sites().iter().map(view).collect()
    }
}

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

    pub(crate) fn since(&self, earlier: &Figures) -> Figures {
        let waited = self.waited_ns().saturating_sub(earlier.waited_ns());
        let ended = self.ended.since(&earlier.ended);
        // A wait that ended now was partly counted before it ended.
        let wait_ns = ended.wait_ns.min(waited);
        Figures { ended: Totals { wait_ns, ..ended }, unfinished_ns: waited - wait_ns }
    }

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
