//! Checks whether the figures of a recording can be added up. All later code adds them without checks, and a file may
//! come from an untrusted source.

use super::{Error, Recording};
use crate::layout::{CLOCK_TSC, DetailCopy, HeaderCopy, TallyCopy, ThreadCopy};

/// Sums of times: 36 years of thread time, as in `turnwise_profile`.
const MOST_NS: f64 = (1_u64 << 60) as f64;
/// Sums of counts: more than a day of the fastest lock.
const MOST_COUNT: u64 = 1 << 48;

/// The sums of counts and of ticks.
#[derive(Default)]
struct Sums {
    counts: u128,
    ticks: u128,
    tallies: usize,
}

/// Adds up everything that is added up elsewhere.
pub(super) fn check(recording: &Recording) -> Result<(), Error> {
    let mut sums = Sums::default();
    for entry in &recording.entries {
        sums.count(&[entry.acquisitions, entry.failed.into(), entry.timed_out_or_stolen, entry.for_nothing]);
        if let Some(detail) = recording.detail(entry.detail) {
            sums.detail(&detail);
            sums.tallies(recording.tallies(detail.tallies));
        }
        // Details that are shared, and tallies that many start with, could keep a reader busy for hours.
        if sums.tallies > recording.room() / size_of::<TallyCopy>() {
            return Err(Error::Damaged("more tallies than it has room for"));
        }
    }
    for thread in &recording.threads {
        sums.thread(thread);
        if let Some(detail) = recording.detail(thread.detail) {
            sums.detail(&detail);
        }
    }
    sums.count(&[recording.header.unattributed]);
    if sums.counts > MOST_COUNT.into() {
        return Err(Error::Damaged("its counts add up to more than a run can have"));
    }
    times(recording, &sums)
}

impl Sums {
    fn count(&mut self, counts: &[u64]) {
        self.counts += counts.iter().map(|count| u128::from(*count)).sum::<u128>();
    }

    fn time(&mut self, ticks: &[u64]) {
        self.ticks += ticks.iter().map(|ticks| u128::from(*ticks)).sum::<u128>();
    }

    fn detail(&mut self, detail: &DetailCopy) {
        self.count(&[
            detail.contended,
            detail.hold_contended,
            detail.hold_single,
            detail.hold_sampled,
            detail.tallies_dropped,
            detail.reported,
            detail.watched,
        ]);
        self.count(&detail.events);
        let numbers = [&detail.wait[..], &detail.hold, &detail.step_acquisitions, &detail.step_contended];
        self.counts += numbers.into_iter().flatten().map(|number| u128::from(*number)).sum::<u128>();
        let held = [detail.hold_contended_sum, detail.hold_single_sum, detail.hold_sampled_sum, detail.hold_max];
        self.time(&held);
        self.time(&[detail.wait_sum, detail.wait_max]);
        self.time(&detail.step_wait);
    }

    fn tallies(&mut self, tallies: Vec<TallyCopy>) {
        self.tallies += tallies.len();
        for tally in tallies {
            self.count(&[tally.waits]);
            self.time(&[tally.ticks]);
        }
    }

    fn thread(&mut self, thread: &ThreadCopy) {
        self.count(&[thread.ahead, thread.reads, thread.failed, thread.dropped, thread.nested, thread.stolen]);
    }
}

/// Checks that wait times, hold times and all points in time are within some years.
fn times(recording: &Recording, sums: &Sums) -> Result<(), Error> {
    let ns_per_tick = ns_per_tick(&recording.header);
    let start = recording.header.ticks_start;
    let threads = recording.threads.iter().flat_map(|thread| [thread.began, thread.ended]);
    let waits = recording.episodes.iter().flat_map(|wait| [wait.began, wait.acquired, wait.released]);
    let last = threads.chain(waits).fold(recording.header.ticks_end, u64::max).saturating_sub(start);
    // Each thread's life, and each wait that had not ended, may last that long.
    let open = recording.episodes.iter().filter(|wait| wait.acquired == 0).count();
    let lasting = (recording.threads.len() + open) as f64 * last as f64 * ns_per_tick;
    if sums.ticks as f64 * ns_per_tick > MOST_NS || last as f64 * ns_per_tick > MOST_NS || lasting > 16.0 * MOST_NS {
        return Err(Error::Damaged("its times are longer than a run can be"));
    }
    Ok(())
}

/// Returns the nanoseconds of a tick; at least 1, so that ticks can be added up as well.
fn ns_per_tick(header: &HeaderCopy) -> f64 {
    let ticks = header.ticks_end.saturating_sub(header.ticks_start);
    let ns = header.monotonic_end.saturating_sub(header.monotonic_start);
    let measured = if ticks == 0 || header.clock != CLOCK_TSC { 1.0 } else { ns as f64 / ticks as f64 };
    measured.max(1.0)
}
