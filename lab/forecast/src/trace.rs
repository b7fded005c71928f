//! What a recording keeps in order: of each thread, stretches of its acquisitions and releases, with the times between.

use anyhow::{Result, ensure};
use std::collections::HashMap;
use turnwise_recording::reader::Recording;
use turnwise_recording::{
    Class, Op, STEP_ACQUIRE, STEP_AWAITED, STEP_BEGIN, STEP_COUNT, STEP_END, STEP_PREEMPTED, STEP_RAN, STEP_RELEASE,
    STEP_SLEPT, STEP_WAITED, StepCopy,
};

/// The kind of a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A mutex.
    Mutex,
    /// A readers-writer lock.
    RwLock,
    /// A spin lock.
    Spin,
}

/// A lock of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TracedLock {
    /// Where it lay.
    pub address: u64,
    /// Its kind.
    pub kind: Kind,
}

/// The next action of a thread. Locks are places in [`Trace::locks`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Act {
    /// It ran, ns.
    Run(f32),
    /// It was voluntarily off its CPU, ns.
    Sleep(f32),
    /// It acquired a lock.
    Acquire {
        /// Which.
        lock: u32,
        /// For reading.
        reader: bool,
    },
    /// It acquired a lock that it had.
    Again,
    /// It gave a lock back.
    Release {
        /// Which.
        lock: u32,
    },
}

/// Part of what a thread did, from and to a moment at which it held no lock.
#[derive(Clone, Default, Debug)]
pub struct Stretch {
    /// Its beginning, ns from the recording's.
    pub begin_ns: f64,
    /// Its end.
    pub end_ns: f64,
    /// Acquisitions that the thread had made before.
    pub made_before: u64,
    /// What it did.
    pub acts: Vec<Act>,
}

/// A thread.
#[derive(Clone, Default, Debug)]
pub struct TracedThread {
    /// When it first took a lock, ns from the recording's beginning.
    pub began_ns: f64,
    /// When it ended.
    pub ended_ns: f64,
    /// Its acquisitions, those outside of stretches included.
    pub acquisitions: u64,
    /// In their order.
    pub stretches: Vec<Stretch>,
}

/// The recorder's work where a thread has to wait, on average.
#[derive(Clone, Copy, Default, Debug)]
pub struct Look {
    /// From the lock call to the wait, ns.
    pub before_ns: f64,
    /// From the wait to the program, with the lock held.
    pub after_ns: f64,
}

/// A recorded program, as far as its threads' steps are known.
#[derive(Clone, Default, Debug)]
pub struct Trace {
    /// Its locks, as far as they are in stretches.
    pub locks: Vec<TracedLock>,
    /// Its threads.
    pub threads: Vec<TracedThread>,
    /// Share of its acquisitions that lie in stretches.
    pub kept: f64,
    /// Share of the time in stretches that threads waited on condition variables.
    pub awaited: f64,
    /// The time that recording waits took.
    pub look: Look,
}

impl Trace {
    /// Takes it from a recording.
    ///
    /// # Errors
    /// The recording keeps no order, or no thread took a lock.
    pub fn of(recording: &Recording) -> Result<Trace> {
        ensure!(
            recording.header.steps != 0,
            "the recording does not keep the order of acquisitions: `turnwise profile --recording FILE` keeps it"
        );
        let clock = Clock::of(recording);
        let mut trace = Trace {
            threads: recording.threads.iter().map(|thread| clock.thread(thread)).collect(),
            ..Trace::default()
        };
        let (open, places) = (HashMap::new(), HashMap::new());
        let mut reading = Reading { recording, clock, open, places, awaited_ns: 0.0, looks: Vec::new() };
        for (owner, steps) in &recording.steps {
            let mut thread = owner.saturating_sub(1);
            for step in steps {
                reading.step(&mut trace, &mut thread, step);
            }
        }
        reading.close_all(&mut trace);
        trace.threads.iter_mut().for_each(|thread| {
            thread.stretches.sort_by(|a, b| a.begin_ns.total_cmp(&b.begin_ns));
        });
        let stretches = || trace.threads.iter().flat_map(|thread| &thread.stretches);
        let acquired = |act: &&Act| matches!(act, Act::Acquire { .. } | Act::Again);
        let kept: usize = stretches().map(|stretch| stretch.acts.iter().filter(acquired).count()).sum();
        ensure!(kept > 0, "the recorded program took no locks, or too few: there is nothing to replay");
        let all: u64 = trace.threads.iter().map(|thread| thread.acquisitions).sum();
        let time: f64 = stretches().map(|stretch| stretch.end_ns - stretch.begin_ns).sum();
        trace.look = clock.look(&mut reading.looks);
        (trace.kept, trace.awaited) = ((kept as f64 / all.max(1) as f64).min(1.0), reading.awaited_ns / time.max(1.0));
        Ok(trace)
    }
}

/// The recording's times.
#[derive(Clone, Copy)]
struct Clock {
    start: u64,
    end: u64,
    ns_per_tick: f64,
    /// The time that reading it takes, ticks.
    takes: u64,
}

impl Clock {
    fn of(recording: &Recording) -> Clock {
        let header = &recording.header;
        let ticks = header.ticks_end.saturating_sub(header.ticks_start);
        let ns = header.monotonic_end.saturating_sub(header.monotonic_start);
        let ns_per_tick = if ticks == 0 { 1.0 } else { ns as f64 / ticks as f64 };
        Clock { start: header.ticks_start, end: header.ticks_end, ns_per_tick, takes: header.clock_ticks }
    }

    /// Returns a moment.
    fn at(self, ticks: u64) -> f64 {
        ticks.saturating_sub(self.start) as f64 * self.ns_per_tick
    }

    /// Returns how long the program ran, less the time of reading the clock. Below zero if the clock is coarse.
    fn ran(self, ticks: u64) -> f32 {
        ((ticks as f64 - self.takes as f64) * self.ns_per_tick) as f32
    }

    /// Returns the medians: a thread may lose its CPU meanwhile.
    fn look(self, looks: &mut [(u64, u64)]) -> Look {
        let mut median = |ticks: fn(&(u64, u64)) -> u64| {
            looks.sort_unstable_by_key(ticks);
            looks.get(looks.len() / 2).map_or(0.0, |look| f64::from(self.ran(ticks(look)).max(0.0)))
        };
        Look { before_ns: median(|look| look.0), after_ns: median(|look| look.1) }
    }

    fn thread(self, thread: &turnwise_recording::ThreadCopy) -> TracedThread {
        let ended = if thread.ended == 0 { self.end } else { thread.ended };
        TracedThread {
            began_ns: self.at(thread.began),
            ended_ns: self.at(ended),
            acquisitions: thread.ahead.saturating_sub(thread.left.into()),
            stretches: Vec::new(),
        }
    }
}

/// An unfinished stretch.
#[derive(Default)]
struct Open {
    stretch: Stretch,
    /// Places of the locks that are held; `None`: one that is not replayed, since the thread has it already.
    held: Vec<(u32, Option<u32>)>,
    ns: f64,
    /// By how much the last times were too short, ns: the next ones are shortened by that.
    missing: f32,
}

/// A recording being read.
struct Reading<'a> {
    recording: &'a Recording,
    clock: Clock,
    /// By thread.
    open: HashMap<u32, Open>,
    /// Of the locks, by their numbers.
    places: HashMap<u32, u32>,
    awaited_ns: f64,
    /// Of waits, ticks before and after.
    looks: Vec<(u64, u64)>,
}

impl Reading<'_> {
    fn step(&mut self, trace: &mut Trace, thread: &mut u32, step: &StepCopy) {
        if step.what == STEP_BEGIN {
            *thread = step.of;
            self.close(trace, *thread);
            let begin_ns = self.clock.at(step.ticks);
            let stretch = Stretch { begin_ns, end_ns: begin_ns, ..Stretch::default() };
            self.open.insert(*thread, Open { stretch, ..Open::default() });
            return;
        }
        let clock = self.clock;
        let sort = self.sort(trace, step);
        let Some(open) = self.open.get_mut(thread) else { return };
        let ns = (step.ticks as f64 * clock.ns_per_tick) as f32;
        match step.what {
            STEP_COUNT => open.stretch.made_before = step.ticks,
            STEP_RAN => open.run(clock.ran(step.ticks)),
            STEP_SLEPT => open.sleep(ns),
            STEP_AWAITED => {
                open.sleep(ns);
                self.awaited_ns += f64::from(ns);
            }
            STEP_WAITED => self.looks.push((step.of.into(), step.ticks)),
            STEP_PREEMPTED => open.ns += f64::from(ns),
            STEP_ACQUIRE => {
                open.run(clock.ran(step.ticks));
                if let Some((number, place, reader)) = sort {
                    open.acquire(number, place, reader);
                }
            }
            STEP_RELEASE => {
                open.run(clock.ran(step.ticks));
                if let Some((number, ..)) = sort {
                    open.release(number);
                }
            }
            STEP_END => {
                open.stretch.end_ns = clock.at(step.ticks);
                self.close(trace, *thread);
            }
            _ => (),
        }
    }

    /// Returns, of a step at a lock, the lock's number, its place, and whether it is read.
    fn sort(&mut self, trace: &mut Trace, step: &StepCopy) -> Option<(u32, u32, bool)> {
        if step.what != STEP_ACQUIRE && step.what != STEP_RELEASE {
            return None;
        }
        let entry = &self.recording.entries[self.recording.entry_at(step.of)?];
        let (op, _) = Op::split(entry.site)?;
        let lock = self.recording.locks.get(entry.lock as usize)?;
        let kind = match lock.class {
            class if class == Class::RwLock as u32 => Kind::RwLock,
            class if class == Class::Spin as u32 => Kind::Spin,
            _ => Kind::Mutex,
        };
        let place = *self.places.entry(entry.lock).or_insert_with(|| {
            trace.locks.push(TracedLock { address: lock.address, kind });
            trace.locks.len() as u32 - 1
        });
        Some((entry.lock, place, op == Op::Read))
    }

    fn close(&mut self, trace: &mut Trace, thread: u32) {
        let Some(open) = self.open.remove(&thread) else { return };
        let stretch = open.finished();
        if let Some(thread) = trace.threads.get_mut(thread as usize).filter(|_| !stretch.acts.is_empty()) {
            thread.stretches.push(stretch);
        }
    }

    /// Closes the stretches that the program's end cut off.
    fn close_all(&mut self, trace: &mut Trace) {
        let threads: Vec<u32> = self.open.keys().copied().collect();
        threads.into_iter().for_each(|thread| self.close(trace, thread));
    }
}

impl Open {
    fn run(&mut self, ns: f32) {
        let all = ns - self.missing;
        self.missing = (-all).max(0.0);
        let ns = all.max(0.0);
        self.ns += f64::from(ns);
        match self.stretch.acts.last_mut() {
            Some(Act::Run(before)) => *before += ns,
            _ if ns > 0.0 => self.stretch.acts.push(Act::Run(ns)),
            _ => (),
        }
    }

    fn sleep(&mut self, ns: f32) {
        self.ns += f64::from(ns);
        self.stretch.acts.push(Act::Sleep(ns));
    }

    fn acquire(&mut self, number: u32, lock: u32, reader: bool) {
        let again = self.held.iter().any(|(held, _)| *held == number);
        self.held.push((number, (!again).then_some(lock)));
        self.stretch.acts.push(if again { Act::Again } else { Act::Acquire { lock, reader } });
    }

    fn release(&mut self, number: u32) {
        let Some(at) = self.held.iter().rposition(|(held, _)| *held == number) else { return };
        if let (_, Some(lock)) = self.held.remove(at) {
            self.stretch.acts.push(Act::Release { lock });
        }
    }

    /// Returns the stretch, with nothing held at its end.
    fn finished(mut self) -> Stretch {
        while let Some((_, place)) = self.held.pop() {
            self.stretch.acts.extend(place.map(|lock| Act::Release { lock }));
        }
        if self.stretch.end_ns <= self.stretch.begin_ns {
            self.stretch.end_ns = self.stretch.begin_ns + self.ns;
        }
        self.stretch
    }
}
