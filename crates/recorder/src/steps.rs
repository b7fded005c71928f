//! Stretches of a thread's operations in order, for a replay on a simulated machine: which locks it acquires and
//! releases, and how long it runs in between. Kept only if the recording requests them ([`Header::steps`]).
//!
//! None of this is on the fast path. In a stretch every acquisition is one that the sample of hold times would pick, so
//! it takes the slow path, and its release is one to be counted. A stretch begins with no lock held, and is followed by
//! a pause long enough that stretches cost one part in [`SHARE`] of the thread's time; a thread that takes locks rarely
//! needs no pause. The clock is read where the program's own work ends and begins, so that ours lies between the times;
//! in order, since otherwise a section's misses count towards the release, which has to wait for them.
//!
//! [`Header::steps`]: turnwise_recording::Header::steps

use crate::writer::{Cursor, Writer, one_in};
use crate::{clock, events, filter, memory};
use core::cell::Cell;
use core::sync::atomic::Ordering::Relaxed;
use turnwise_recording::{
    ChunkKind, Entry, STEP_ACQUIRE, STEP_AWAITED, STEP_BEGIN, STEP_COUNT, STEP_END, STEP_PREEMPTED, STEP_RAN,
    STEP_RELEASE, STEP_SLEPT, STEP_WAITED, Step,
};

/// The minimum number of acquisitions in a stretch.
const ACQUISITIONS: u32 = 256;
/// A stretch ends after this many even if the thread holds a lock.
const MOST_ACQUISITIONS: u32 = 8 * ACQUISITIONS;
/// Stretches cost one part in this many of the thread's time.
const SHARE: u64 = 50;
/// Length from which the recorder checks whether the thread ran for all of a period.
const LONG_NS: u64 = 50_000;
/// Less than this off the CPU is indistinguishable from the cost of the check.
const OFF_CPU_NS: u64 = 10_000;

/// The recording has no stretches.
const NONE: u32 = 0;
/// A stretch is to begin when the sample picks one and the pause is over.
const PAUSE: u32 = 1;
/// A stretch is to begin after the next acquisition that the thread makes with no lock held.
const DUE: u32 = 2;
/// A stretch is to begin when the thread next holds no lock.
const NEAR: u32 = 3;
/// A stretch is under way.
const KEPT: u32 = 4;

/// A thread's stretches.
pub(crate) struct Steps {
    phase: Cell<u32>,
    /// The number of acquisitions in the stretch.
    acquisitions: Cell<u32>,
    /// Ticks since which the program has run.
    since: Cell<u64>,
    /// Ticks at its request for a lock.
    asked: Cell<u64>,
    /// Ticks at the beginning of its wait for that lock, and at its acquisition.
    wait: Cell<(u64, u64)>,
    /// The time at which the stretch began.
    began: Cell<u64>,
    /// Ticks in the stretch that belong to the program: it ran, waited or slept.
    own: Cell<u64>,
    /// The time at which the pause ends.
    next: Cell<u64>,
    last_look: Cell<Look>,
    /// Ticks that the thread waited for locks since then.
    waited: Cell<u64>,
    cursor: Cursor,
}

/// The system's figures about the thread.
#[derive(Clone, Copy)]
struct Look {
    /// Ticks when they were read.
    at: u64,
    /// CPU time, ns.
    cpu_ns: u64,
    /// Context switches: voluntary and involuntary ones.
    switches: (u32, u32),
}

impl Look {
    /// Reads them; under a filter of system calls those before stay.
    fn now(before: Look) -> Look {
        if !filter::allows_calls() {
            return Look { at: clock::ticks(), ..before };
        }
        memory::keeping_errno(|| {
            let switches = events::all_switches();
            let cpu_ns = clock::nanoseconds(libc::CLOCK_THREAD_CPUTIME_ID);
            Look { at: clock::ticks(), cpu_ns, switches }
        })
    }
}

impl Steps {
    /// Begins with a thread; returns whether its first acquisitions are to be seen.
    pub(crate) fn begin(&self, writer: &Writer) -> bool {
        let asked_for = writer.mapping().header().steps.load(Relaxed) != 0;
        self.phase.set(if asked_for { DUE } else { NONE });
        asked_for
    }

    /// Returns whether every acquisition and every release is to be seen.
    pub(crate) fn see_all(&self) -> bool {
        self.phase.get() >= DUE
    }

    /// Notes that the sample picked an acquisition; returns whether all are to be seen from now on.
    pub(crate) fn are_due(&self) -> bool {
        let due = self.phase.get() == PAUSE && clock::ticks() >= self.next.get();
        if due {
            self.phase.set(DUE);
        }
        due
    }

    /// Notes that the program requests a lock.
    pub(crate) fn ask(&self) {
        if self.phase.get() == KEPT {
            self.asked.set(clock::ticks_in_order());
        }
    }

    /// Notes that the thread waited for a lock from one moment to another.
    pub(crate) fn waited_for(&self, began: u64, ended: u64) {
        self.wait.set((began, ended));
    }

    /// Returns the clock's time, if a stretch is under way.
    pub(crate) fn now(&self) -> Option<u64> {
        (self.phase.get() == KEPT).then(clock::ticks_in_order)
    }

    /// Notes that the thread acquired a lock, in addition to `depth` others.
    pub(crate) fn acquired(&self, writer: &Writer, entry: &Entry, depth: usize) {
        match self.phase.get() {
            DUE if depth == 0 => {
                self.phase.set(NEAR);
                self.acquisitions.set(0);
            }
            NEAR => self.acquisitions.set(self.acquisitions.get() + 1),
            KEPT => {
                let noted = clock::ticks();
                let asked = self.asked.get().max(self.since.get());
                let (began, ended) = self.wait.replace((0, 0));
                if began > asked {
                    let before = u32::try_from(began - asked).unwrap_or(u32::MAX);
                    self.add(writer, STEP_WAITED, before, noted.saturating_sub(ended));
                }
                self.keep(writer, STEP_ACQUIRE, writer.mapping().place_of(entry), asked);
                self.acquisitions.set(self.acquisitions.get() + 1);
                self.waited(clock::ticks().saturating_sub(asked));
                self.since.set(clock::ticks_in_order());
            }
            _ => (),
        }
    }

    /// Notes that the thread releases a lock, at `now`.
    pub(crate) fn released(&self, writer: &Writer, entry: &Entry, now: u64) {
        self.keep(writer, STEP_RELEASE, writer.mapping().place_of(entry), now);
    }

    /// Notes that the program continues after a release, with `depth` locks. `false`: a stretch ended; a pause begins.
    pub(crate) fn go_on(&self, writer: &Writer, depth: usize) -> bool {
        let most = self.acquisitions.get() >= MOST_ACQUISITIONS;
        match self.phase.get() {
            NEAR if depth == 0 => self.open(writer),
            NEAR if most => {
                // It holds a lock permanently.
                self.next.set(clock::ticks() + clock::ticks_in(LONG_NS) * SHARE);
                self.phase.set(PAUSE);
                return false;
            }
            KEPT if most || depth == 0 && self.acquisitions.get() >= ACQUISITIONS => {
                self.close(writer);
                return self.phase.get() == DUE;
            }
            KEPT => self.since.set(clock::ticks_in_order()),
            _ => (),
        }
        true
    }

    /// Notes that the thread has waited on a condition variable until now.
    pub(crate) fn awaited(&self, writer: &Writer, now: u64) {
        if self.phase.get() == KEPT {
            let ticks = now.saturating_sub(self.since.get());
            self.add(writer, STEP_AWAITED, 0, ticks);
            self.own.set(self.own.get() + ticks);
            self.look();
            self.since.set(now);
            self.asked.set(now);
        }
    }

    /// Notes that the thread ends.
    pub(crate) fn end(&self, writer: &Writer) {
        if self.phase.get() == KEPT {
            self.add(writer, STEP_END, 0, clock::ticks());
        }
        self.phase.set(NONE);
    }

    fn open(&self, writer: &Writer) {
        let record = writer.record();
        let so_far = record.ahead.load(Relaxed).wrapping_sub(u64::from(record.left.load(Relaxed)));
        self.phase.set(KEPT);
        self.acquisitions.set(0);
        self.own.set(0);
        self.began.set(clock::ticks());
        self.add(writer, STEP_BEGIN, writer.index(), self.began.get());
        self.add(writer, STEP_COUNT, 0, so_far);
        self.look();
        self.since.set(clock::ticks_in_order());
    }

    fn close(&self, writer: &Writer) {
        let now = clock::ticks();
        self.add(writer, STEP_END, 0, now);
        let all = now.saturating_sub(self.began.get());
        let cost = all.saturating_sub(self.own.get());
        let Some(one_in) = one_in(&writer.mapping().header().step_pages) else { return self.phase.set(NONE) };
        let pause = (cost * SHARE).saturating_sub(all).max(all * (one_in - 1));
        self.next.set(now + pause);
        self.phase.set(if pause == 0 { DUE } else { PAUSE });
    }

    /// Records that the thread ran until `until`, and what it did then.
    fn keep(&self, writer: &Writer, what: u32, of: u32, until: u64) {
        let ticks = until.saturating_sub(self.since.get());
        self.own.set(self.own.get() + ticks);
        let long = ticks >= clock::ticks_in(LONG_NS);
        let ran = if long { self.ran_of(writer, ticks) } else { ticks };
        self.add(writer, what, of, ran);
    }

    /// Returns how much of a long period, ending now, the thread ran; records what else it did.
    #[cold]
    fn ran_of(&self, writer: &Writer, ticks: u64) -> u64 {
        if !filter::allows_calls() {
            return ticks; // as far as it is known
        }
        let (before, waited) = (self.last_look.get(), self.waited.get());
        self.look();
        let now = self.last_look.get();
        let on_cpu = clock::ticks_in(now.cpu_ns.saturating_sub(before.cpu_ns));
        let off = now.at.saturating_sub(before.at).saturating_sub(on_cpu + waited).min(ticks);
        if off < clock::ticks_in(OFF_CPU_NS) {
            return ticks;
        }
        let voluntary = now.switches.0 != before.switches.0;
        // Waits for locks also sleep.
        let slept = voluntary && (waited == 0 || now.switches.1 == before.switches.1);
        self.add(writer, STEP_RAN, 0, ticks - off);
        self.add(writer, if slept { STEP_SLEPT } else { STEP_PREEMPTED }, 0, off);
        0
    }

    /// Counts a wait that has just ended.
    fn waited(&self, ticks: u64) {
        self.own.set(self.own.get() + ticks);
        if ticks >= clock::ticks_in(LONG_NS) {
            self.look();
        } else {
            self.waited.set(self.waited.get() + ticks);
        }
    }

    fn look(&self) {
        self.last_look.set(Look::now(self.last_look.get()));
        self.waited.set(0);
    }

    /// Writes a step; without room, no more steps follow.
    fn add(&self, writer: &Writer, what: u32, of: u32, ticks: u64) {
        if self.phase.get() != KEPT {
            return;
        }
        let taken = self.cursor.take::<Step>(writer, ChunkKind::Steps);
        let Some(step) = taken else { return self.phase.set(NONE) };
        step.what.store(what, Relaxed);
        step.of.store(of, Relaxed);
        step.ticks.store(ticks, Relaxed);
        self.cursor.publish();
    }
}
