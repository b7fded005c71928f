//! Traces a process, or the programs that a thread starts.

use crate::events::Rings;
use crate::living;
use crate::memory::Memory;
use crate::outside::access;
use crate::records::{Event, What};
use crate::stacks;
use crate::trace::Trace;
use crate::tracefs;
use anyhow::{Result, bail};
use rustix::time::{ClockId, clock_gettime};
use std::io::ErrorKind;
use std::time::Duration;

/// A trace in progress.
pub struct Tracer {
    rings: Rings,
    trace: Trace,
    /// Events that were read, while earlier ones may still be unread.
    pending: Vec<Event>,
    /// The time at which the last round of reading began: all earlier events have been read.
    read_until_ns: u64,
}

impl Tracer {
    /// Traces a running process: all its threads, and those that they create. An error states what to do.
    pub fn attach(pid: u32) -> Result<Tracer> {
        access::directory(pid)?;
        let tracepoints = tracefs::find()?;
        let threads = living::threads(pid);
        if threads.is_empty() {
            bail!("process {pid} ended meanwhile");
        }
        let rings = Rings::open(&tracepoints, Some(&threads))?;
        // Opening many events takes time, which is not part of the trace.
        let began_ns = now_ns();
        // Calls that begin from now on are recorded: the sleepers' calls began before.
        let (pending, unseen) = asleep(pid, &threads);
        let mut trace = Trace::attached(pid, began_ns);
        trace.unseen = unseen;
        Ok(Tracer { rings, trace, pending, read_until_ns: 0 })
    }

    /// Traces the programs that the calling thread starts from now on, from their first instruction. An error states
    /// what to do.
    pub fn of_children() -> Result<Tracer> {
        let rings = Rings::open(&tracefs::find()?, None)?;
        Ok(Tracer { rings, trace: Trace::beginning(now_ns()), pending: Vec::new(), read_until_ns: 0 })
    }

    /// Waits up to `timeout`, and reads the available records.
    pub fn step(&mut self, timeout: Duration) {
        self.rings.wait(timeout);
        // All events from before the last round began have arrived: they can be processed in order.
        let (complete, until) = (self.read_until_ns, now_ns());
        self.rings.read(until, |event| self.pending.push(event));
        self.read_until_ns = until;
        self.tell(complete);
    }

    /// Reads the remaining records, and ends the trace.
    #[must_use]
    pub fn finish(mut self) -> Trace {
        let ended_ns = now_ns();
        self.rings.read(u64::MAX, |event| self.pending.push(event));
        self.tell(u64::MAX);
        self.trace.end(ended_ns);
        self.trace
    }

    fn tell(&mut self, until_ns: u64) {
        self.pending.sort_by_key(|event| event.at_ns);
        let complete = self.pending.partition_point(|event| event.at_ns <= until_ns);
        for event in self.pending.drain(..complete) {
            self.trace.take(event);
        }
    }
}

/// Returns the waits that traced threads are in, and the number of threads that may not be inspected.
fn asleep(pid: u32, threads: &[u32]) -> (Vec<Event>, u64) {
    let memory = Memory::of(pid);
    let (mut found, mut unseen) = (Vec::new(), 0);
    for &tid in threads {
        // Taken before the check: if the thread begins a call meanwhile, its record comes after this.
        let at_ns = now_ns();
        match stacks::wait_of(pid, tid, memory.as_ref()) {
            Ok(Some((call, dump))) => found.push(Event { at_ns, pid, tid, what: What::Sleeps(call, dump) }),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => unseen += 1,
            _ => {}
        }
    }
    (found, unseen)
}

/// Returns the time by `CLOCK_MONOTONIC`.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
