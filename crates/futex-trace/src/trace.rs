//! The traced data, by process.

use crate::memory::Memory;
use crate::process::{Life, Process};
use crate::records::{Event, What};
use std::collections::BTreeMap;

/// The futex calls of one or more processes.
#[derive(Default)]
pub struct Trace {
    pub(crate) began_ns: u64,
    pub(crate) ended_ns: u64,
    /// The process that was attached to; others are left out.
    pub(crate) attached: Option<u32>,
    running: BTreeMap<u32, Process>,
    /// Processes whose programs have ended.
    ended: Vec<Process>,
    /// The number of records that did not fit.
    pub(crate) lost: u64,
    /// The number of threads for which it is unknown whether they slept when the trace began.
    pub(crate) unseen: u64,
}

impl Trace {
    /// Returns a trace of programs that are yet to start.
    pub(crate) fn beginning(now_ns: u64) -> Trace {
        Trace { began_ns: now_ns, ..Trace::default() }
    }

    /// Returns a trace of a running process.
    pub(crate) fn attached(pid: u32, now_ns: u64) -> Trace {
        let running = BTreeMap::from([(pid, Process::running(pid))]);
        Trace { began_ns: now_ns, attached: Some(pid), running, ..Trace::default() }
    }

    pub(crate) fn processes(&self) -> Vec<&Process> {
        let mut all: Vec<&Process> = self.ended.iter().chain(self.running.values()).collect();
        all.sort_by_key(|process| std::cmp::Reverse(process.waited_ns()));
        all
    }

    /// Processes the next event; they come in order of time.
    pub(crate) fn take(&mut self, event: Event) {
        let Event { at_ns, pid, tid, what } = event;
        let is_early = at_ns < self.began_ns;
        let at_ns = at_ns.saturating_sub(self.began_ns);
        match what {
            What::Lost(number) => return self.lost += number,
            What::Begins { parent } if parent != pid && self.attached.is_none() => self.fork(parent, pid),
            What::Named(_, true) => self.exec(pid),
            _ => {}
        }
        if self.attached.is_some_and(|attached| attached != pid) {
            return;
        }
        let process = self.running.entry(pid).or_insert_with(|| Process::new(pid));
        match what {
            What::Enter(call, dump) => process.enter(tid, at_ns, call, &dump),
            What::Sleeps(call, dump) => process.sleeps(tid, call, &dump),
            // Opening the events takes time; calls that ended meanwhile are not part of the trace.
            What::Exit(_) if is_early => process.pairing.forget(tid),
            What::Exit(result) => process.pairing.exit(tid, at_ns, result),
            What::Named(name, _) => {
                process.threads.entry(tid).or_insert_with(|| Life { began_ns: at_ns, ..Life::default() }).name = name;
            }
            What::Begins { .. } => process.begins(tid, at_ns),
            What::Ends => {
                process.pairing.thread_ends(tid, at_ns);
                if let Some(life) = process.threads.get_mut(&tid) {
                    life.ended_ns = Some(at_ns);
                }
            }
            What::Maps(mapping) => process.maps(&mapping),
            What::Lost(_) => {}
        }
    }

    fn fork(&mut self, parent: u32, pid: u32) {
        let child = self.running.get(&parent).map_or_else(|| Process::new(pid), |parent| parent.forked(pid));
        self.put_away(pid);
        self.running.insert(pid, child);
    }

    /// Notes that a process executes another program: the mappings at its addresses are gone.
    fn exec(&mut self, pid: u32) {
        self.put_away(pid);
        self.running.insert(pid, Process::new(pid));
    }

    fn put_away(&mut self, pid: u32) {
        if let Some(old) = self.running.remove(&pid)
            && old.waited_ns() > 0
        {
            self.ended.push(old);
        }
    }

    pub(crate) fn end(&mut self, now_ns: u64) {
        self.ended_ns = now_ns;
        let memory = self.attached.and_then(Memory::of);
        let at_ns = now_ns.saturating_sub(self.began_ns);
        for process in self.running.values_mut().chain(&mut self.ended) {
            process.end(at_ns, memory.as_ref());
        }
    }
}
