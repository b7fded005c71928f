//! Sleep and wake-up, in the shape of Linux's futex: on a word, if it still holds the expected value.
//!
//! A call enters the kernel, then locks a hash bucket, whose line it takes from its last user, and leaves the kernel
//! again. Sleepers are woken in order of arrival, within their lane.

use super::charge::{Doing, Kind};
use super::lines::Op;
use super::queue::What;
use super::thread::At;
use super::trace::Happened;
use super::{Engine, Flow};
use crate::spec::Ps;
use std::collections::VecDeque;
use std::panic::Location;
use turnwise::platform::{Lane, Parked};

/// The threads that sleep on a word.
pub(crate) struct Bucket {
    line: u32,
    queue: VecDeque<(u32, Lane)>,
}

type CallSite = &'static Location<'static>;

impl Engine {
    /// Charges half of a call: the entry, or the exit. Nothing if already in the kernel.
    pub(crate) fn half_call(&mut self, at: CallSite) -> Flow {
        self.in_call(self.machine.system.syscall / 2, at)
    }

    /// Enters a call that is to sleep, up to its check of the word.
    pub(crate) fn wait_call(&mut self, at: CallSite) -> Flow {
        let system = &self.machine.system;
        self.in_call(system.wait_call - system.syscall.div_ceil(2), at)
    }

    fn in_call(&mut self, cost: Ps, at: CallSite) -> Flow {
        if self.in_kernel() { Flow::On } else { self.spend(Doing::new(Kind::System, at), cost) }
    }

    /// Takes the bucket's lock. A kernel's own sleepers are in their lock's list.
    pub(crate) fn lock_bucket(&mut self, word: usize, op: Op, at: CallSite) -> Flow {
        if self.in_kernel() {
            return Flow::On;
        }
        let line = self.bucket(word).line;
        self.access(line, op, Doing::new(Kind::System, at))
    }

    fn bucket(&mut self, word: usize) -> &mut Bucket {
        let name = self.name(word);
        if !self.sleepers.contains_key(&name) {
            let line = self.fresh_line();
            self.sleepers.insert(name, Bucket { line, queue: VecDeque::new() });
        }
        self.sleepers.get_mut(&name).expect("made above")
    }

    /// Returns whether any thread sleeps there.
    pub(crate) fn has_sleepers(&mut self, word: usize) -> bool {
        !self.bucket(word).queue.is_empty()
    }

    /// Makes the running thread sleep on `word`, or only until `until`. The caller suspends; afterwards
    /// [`Engine::parked`] returns how it ended.
    pub(crate) fn sleep(&mut self, word: Option<usize>, lane: Lane, until: Option<Ps>, at: CallSite) {
        let thread = self.current;
        self.assert_may_leave("sleeps", Some(at));
        if let Some(word) = word {
            self.bucket(word).queue.push_back((thread, lane));
        }
        let t = self.thread();
        t.parked_at = Some(at);
        t.alarm += 1;
        let generation = t.alarm;
        if let Some(until) = until {
            self.queue.push(until.max(self.now), What::Alarm { thread, generation });
        }
        self.counts.voluntary += 1;
        self.leave(self.current_cpu, At::Asleep { word, lane }, Happened::Sleeps);
    }

    pub(crate) fn parked(&mut self) -> Parked {
        self.thread().parked
    }

    /// Takes a sleeper out of its bucket.
    pub(crate) fn take_sleeper(&mut self, word: usize, lane: Lane) -> Option<u32> {
        let queue = &mut self.bucket(word).queue;
        let place = queue.iter().position(|sleeper| sleeper.1 == lane)?;
        let thread = queue.remove(place)?.0;
        self.threads[thread as usize].alarm += 1; // the alarm is off
        Some(thread)
    }

    /// Makes a thread that was taken out of its bucket ready on a CPU.
    pub(crate) fn rouse(&mut self, thread: u32, cpu: u32, how: Parked, by: Option<u32>) {
        self.threads[thread as usize].parked = how;
        let last = self.last_cpu(thread);
        self.trace_of(last, thread, Happened::Woken { by });
        self.make_ready(thread, cpu);
    }

    /// Moves sleepers of ordinary lane; how many.
    pub(crate) fn move_sleepers(&mut self, from: usize, to: usize) -> u32 {
        let (mut moved, mut kept) = (Vec::new(), VecDeque::new());
        for sleeper in std::mem::take(&mut self.bucket(from).queue) {
            if sleeper.1 == Lane::Waiters { moved.push(sleeper) } else { kept.push_back(sleeper) }
        }
        self.bucket(from).queue = kept;
        for &(thread, lane) in &moved {
            self.threads[thread as usize].at = At::Asleep { word: Some(to), lane };
        }
        let count = moved.len() as u32;
        self.bucket(to).queue.extend(moved);
        count
    }

    /// Handles the end of the thread's time to sleep.
    pub(super) fn alarm(&mut self, thread: u32, generation: u32) {
        let t = &self.threads[thread as usize];
        let At::Asleep { word, .. } = t.at else { return };
        if t.alarm != generation {
            return;
        }
        if let Some(word) = word {
            self.bucket(word).queue.retain(|sleeper| sleeper.0 != thread);
        }
        let cpu = self.choose_cpu(thread, None);
        self.rouse(thread, cpu, Parked::TimedOut, None);
    }
}
