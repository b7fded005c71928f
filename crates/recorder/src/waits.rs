//! Counts a wait: its length, its components, its stack and the holder.

use crate::clock;
use crate::detail::{self, Acquisition, Limit};
use crate::events::Events;
use crate::holder::Holder;
use crate::writer::Writer;
use core::sync::atomic::Ordering::Relaxed;
use turnwise_recording::{Detail, Entry, Ref, TALLY_HOLDER, TALLY_LOOKED, TALLY_OFF_CPU, TALLY_STACK};

/// The number of a thread's first waits at a site that are all kept whole.
pub(crate) const FIRST: u64 = 64;
/// Length from which a wait is kept, and mean length from which all are kept whole: they are then rare enough.
const LONG_NS: u64 = 100_000;
/// Length from which work done with the lock held is a small part of a wait.
const VERY_LONG_NS: u64 = 10 * LONG_NS;

/// Returns whether a wait, or the mean of several, is long.
pub(crate) fn is_long(ticks: u64) -> bool {
    ticks >= clock::ticks_in(LONG_NS)
}

/// Returns whether a wait, or the mean of several, is very long.
pub(crate) fn is_very_long(ticks: u64) -> bool {
    ticks >= clock::ticks_in(VERY_LONG_NS)
}

/// A wait that has ended.
#[derive(Clone, Copy)]
pub(crate) struct Waited {
    pub(crate) ticks: u64,
    pub(crate) events: Events,
    /// The stack, and the number of waits that it stands for.
    pub(crate) stack: Option<(Ref, u32)>,
    pub(crate) holder: Option<Holder>,
}

impl Waited {
    /// Counts the wait for an acquisition at `at`.
    pub(crate) fn count(&self, writer: &Writer, entry: &Entry, at: u64) {
        let what = Acquisition { at, weight: 1, waited: Some(self.ticks) };
        self.count_by(writer, entry, |detail| {
            detail::acquired(writer, detail, what);
            self.events.count(detail);
        });
    }

    /// Counts a wait that was abandoned at `at`: its time, but no acquisition.
    pub(crate) fn count_failed(&self, writer: &Writer, entry: &Entry, at: u64) {
        self.count_by(writer, entry, |detail| detail::gave_up(writer, detail, at, self.ticks));
    }

    /// Counts in the thread's distributions and the site's.
    fn count_by(&self, writer: &Writer, entry: &Entry, count: impl Fn(&Detail)) {
        let [_, of_site] = [&writer.record().detail, &entry.detail]
            .map(|word| detail::of(writer, word, Limit::Waits).inspect(|detail| count(detail)));
        if let Some(detail) = of_site {
            self.tally(writer, detail);
        }
    }

    fn tally(&self, writer: &Writer, detail: &Detail) {
        if let Some((stack, weight)) = self.stack {
            detail::tally(writer, detail, TALLY_STACK, u64::from(stack), weight, self.ticks);
        }
        if let Some(holder) = self.holder {
            let tally = |kind| detail::tally(writer, detail, kind, holder.site, holder.weight, self.ticks);
            tally(TALLY_HOLDER);
            if let Some(off_cpu) = holder.off_cpu {
                tally(TALLY_LOOKED);
                if off_cpu {
                    tally(TALLY_OFF_CPU);
                }
            }
        }
    }

    /// Sets the weights. Sampled waits that are long stand for themselves: all of them are kept. Holders found by a
    /// search are known only for the sampled ones.
    pub(crate) fn weigh(&mut self, one_in: u32, searched: bool) {
        let weight = if is_long(self.ticks) { 1 } else { one_in };
        if let Some((_, stands_for)) = &mut self.stack {
            *stands_for = weight;
        }
        if let Some(holder) = &mut self.holder {
            holder.weight = if searched { one_in } else { weight };
        }
    }
}

/// A thread's waits at a site so far.
#[derive(Clone, Copy)]
pub(crate) struct PastWaits {
    pub(crate) number: u64,
    ticks: u64,
}

impl PastWaits {
    pub(crate) fn of(writer: &Writer, entry: &Entry) -> PastWaits {
        let place = entry.detail.load(Relaxed);
        if place == 0 {
            return PastWaits { number: 0, ticks: 0 };
        }
        // SAFETY: the word refers to distributions.
        let detail: &Detail = unsafe { writer.mapping().at(place) };
        PastWaits { number: detail.contended.load(Relaxed), ticks: detail.wait_sum.load(Relaxed) }
    }

    /// Returns whether they are long on average, or there were none.
    pub(crate) fn are_long(self) -> bool {
        self.mean().is_none_or(is_long)
    }

    /// Returns their mean length; `None`: there were none.
    pub(crate) fn mean(self) -> Option<u64> {
        self.ticks.checked_div(self.number)
    }
}
