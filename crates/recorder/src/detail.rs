//! Distributions, time courses, and tallies of what waits had in common.

use crate::clock;
use crate::mapping::add;
use crate::writer::Writer;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Relaxed, Release};
use turnwise_recording::scale::{self, STEPS};
use turnwise_recording::{Detail, Tally};

/// The tallies of one entry.
const TALLIES: usize = 64;
/// The first step: about a millisecond of either clock.
const FIRST_STEP_SHIFT: u32 = 20;

/// The acquisitions that a measured hold stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum HoldClass {
    /// Contended acquisitions.
    Contended,
    /// Itself.
    Single,
    /// Many acquisitions.
    Sampled,
}

/// A hold or wait that ended.
#[derive(Clone, Copy)]
pub(crate) struct Acquisition {
    /// Ticks at the acquisition.
    pub(crate) at: u64,
    /// The number of acquisitions that it stands for.
    pub(crate) weight: u32,
    /// The ticks waited, if it was contended.
    pub(crate) waited: Option<u64>,
}

/// Returns the distributions that `word` refers to, created if necessary and if `limit` allows.
pub(crate) fn of(writer: &Writer, word: &AtomicU32, limit: Limit) -> Option<&'static Detail> {
    let known = word.load(Relaxed);
    if known != 0 {
        // SAFETY: the word was set below.
        return Some(unsafe { writer.mapping().at(known) });
    }
    let header = writer.mapping().header();
    if header.details.load(Relaxed) >= limit as u64 {
        return None;
    }
    let (detail, place) = writer.make::<Detail>()?;
    header.details.fetch_add(1, Relaxed);
    // Steps matching the run's length so far: merging pairs of them repeatedly takes microseconds.
    detail.step_shift.store(scale::step_shift(since_start(writer, clock::ticks())).max(FIRST_STEP_SHIFT), Relaxed);
    // ORDERING recorder.records: Release; a reader that reads meanwhile finds it filled.
    word.store(place, Release);
    Some(detail)
}

/// One more distribution is made only while there are fewer than this.
#[derive(Clone, Copy)]
pub(crate) enum Limit {
    /// For locks of which only the first acquisitions were measured: 10 MB of them.
    Rare = 4_000,
    /// For locks of which only samples are relevant: 50 MB.
    Samples = 20_000,
    /// For all locks.
    Waits = 200_000,
}

/// Counts an acquisition.
pub(crate) fn acquired(writer: &Writer, detail: &Detail, what: Acquisition) {
    let step = step_at(writer, detail, what.at);
    bump(&detail.step_acquisitions[step], what.weight);
    let Some(waited) = what.waited else { return };
    add(&detail.contended, 1);
    bump(&detail.step_contended[step], 1);
    add(&detail.step_wait[step], waited);
    waited_for(detail, waited);
}

/// Counts a wait that ended without an acquisition.
pub(crate) fn gave_up(writer: &Writer, detail: &Detail, at: u64, ticks: u64) {
    let step = step_at(writer, detail, at);
    add(&detail.step_wait[step], ticks);
    waited_for(detail, ticks);
}

/// Counts a wait by its length.
pub(crate) fn waited_for(detail: &Detail, ticks: u64) {
    add(&detail.wait_sum, ticks);
    detail.wait_max.store(detail.wait_max.load(Relaxed).max(ticks), Relaxed);
    bump(&detail.wait[scale::bucket(ticks)], 1);
}

/// Counts a hold by its length.
pub(crate) fn held(detail: &Detail, ticks: u64, what: HoldClass) {
    let (count, sum) = match what {
        HoldClass::Contended => (&detail.hold_contended, &detail.hold_contended_sum),
        HoldClass::Single => (&detail.hold_single, &detail.hold_single_sum),
        HoldClass::Sampled => (&detail.hold_sampled, &detail.hold_sampled_sum),
    };
    add(count, 1);
    add(sum, ticks);
    detail.hold_max.store(detail.hold_max.load(Relaxed).max(ticks), Relaxed);
    bump(&detail.hold[scale::bucket(ticks)], 1);
}

/// Counts a wait among those that have `key` in common.
pub(crate) fn tally(writer: &Writer, detail: &Detail, kind: u32, key: u64, weight: u32, ticks: u64) {
    let mut next = detail.tallies.load(Relaxed);
    let mut length = 0;
    while next != 0 {
        // SAFETY: the chain is made below.
        let tally: &Tally = unsafe { writer.mapping().at(next) };
        if tally.key.load(Relaxed) == key && tally.kind.load(Relaxed) == kind {
            add(&tally.waits, u64::from(weight));
            add(&tally.ticks, ticks * u64::from(weight));
            return;
        }
        next = tally.next.load(Relaxed);
        length += 1;
    }
    let room = if length < TALLIES { writer.make::<Tally>() } else { None };
    let Some((tally, place)) = room else {
        add(&detail.tallies_dropped, u64::from(weight));
        return;
    };
    tally.kind.store(kind, Relaxed);
    tally.key.store(key, Relaxed);
    tally.waits.store(u64::from(weight), Relaxed);
    tally.ticks.store(ticks * u64::from(weight), Relaxed);
    tally.next.store(detail.tallies.load(Relaxed), Relaxed);
    // ORDERING recorder.records: Release; as for `word` above.
    detail.tallies.store(place, Release);
}

fn bump(counter: &AtomicU32, value: u32) {
    counter.store(counter.load(Relaxed).saturating_add(value), Relaxed);
}

/// Returns the ticks from the start of the recording to a point in time.
fn since_start(writer: &Writer, at: u64) -> u64 {
    at.saturating_sub(writer.mapping().header().ticks_start.load(Relaxed))
}

/// Returns the step that a point in time falls into. When the course is full, pairs of steps are merged.
fn step_at(writer: &Writer, detail: &Detail, at: u64) -> usize {
    let since = since_start(writer, at);
    let mut shift = detail.step_shift.load(Relaxed);
    while since >> shift >= STEPS as u64 {
        for step in 0..STEPS {
            let (first, second) = (step * 2, step * 2 + 1);
            for steps in [&detail.step_acquisitions, &detail.step_contended] {
                let sum = |at: usize| steps.get(at).map_or(0, |step| step.load(Relaxed));
                steps[step].store(sum(first).saturating_add(sum(second)), Relaxed);
            }
            let sum = |at: usize| detail.step_wait.get(at).map_or(0, |step| step.load(Relaxed));
            detail.step_wait[step].store(sum(first) + sum(second), Relaxed);
        }
        shift += 1;
        detail.step_shift.store(shift, Relaxed);
    }
    (since >> shift) as usize
}
