//! Run queues as memory: each CPU's queue has a line and a lock, which other CPUs fetch.
//!
//! - A waker needs the woken thread's own line (its state), then the line of the queue that it goes to. Both come from
//!   where they were used last.
//! - Among CPUs that share a last-level cache the waker locks the queue (`ttwu_queue` of Linux 3.10). The CPU itself
//!   has it locked while it switches, so that a waker can wait for a switch. To other CPUs the waker sends an interrupt
//!   and leaves the thread on a list next to the queue, without the lock.
//! - A waker waits until the thread's CPU has switched away from it (`while (p->on_cpu)` in `try_to_wake_up`).
//! - A CPU that continues with a thread takes its queue's line back.
//! - A CPU that is about to be idle polls the queues of others, nearest first, and takes a thread where two are: but
//!   only if its idle times are long (`idle_balance`). Each poll is a load of that queue's line.
//!
//! Lines in the CPU's own cache cost nothing here: they are part of what the machine file states for a wake-up and a
//! switch.

use super::charge::Doing;
use super::cpu::MIGRATION_COST;
use super::lines::Op;
use super::{Engine, Flow};
use crate::spec::{Class, Ps};

impl Engine {
    /// Makes the lines of the CPUs' queues, each in the memory of its CPU's node.
    pub(super) fn create_queues(&mut self) {
        for cpu in 0..self.cpus.len() as u32 {
            let line = self.table.fresh();
            let home = self.lines.node(cpu);
            self.lines.create(line, home);
            self.lines.hand_over(line, cpu);
            self.cpus[cpu as usize].queue_line = line;
        }
    }

    /// Returns when a line is there that a CPU asks for at `at`, outside of its thread's operations.
    fn fetched(&mut self, cpu: u32, line: u32, op: Op, at: Ps) -> Ps {
        if self.lines.hit(line, cpu, op, at).is_some() {
            return at;
        }
        let travel = self.lines.latency(line, cpu, op).0 / 2;
        let served = self.lines.serve(line, cpu, op, at + travel, travel);
        if let Some(class) = served.from {
            self.count_transfer(cpu, line, class);
        }
        served.done
    }

    /// Gets the running thread a line, if its CPU does not have it.
    fn get(&mut self, line: u32, doing: Doing) -> Flow {
        if self.lines.hit(line, self.current_cpu, Op::Rmw, self.now).is_some() {
            return Flow::On;
        }
        self.access(line, Op::Rmw, doing)
    }

    /// Gets the running thread the line of a sleeper that it wakes.
    pub(crate) fn get_sleeper(&mut self, thread: u32, doing: Doing) -> Flow {
        let line = self.line(self.on_cpu_word(thread).address().addr());
        self.get(line, doing)
    }

    /// Makes the running thread wait until the sleeper's CPU has switched away from it.
    pub(crate) fn await_switch(&mut self, thread: u32, doing: Doing) -> Flow {
        let off = self.threads[thread as usize].off_at;
        if off <= self.now { Flow::On } else { self.spend(doing, off - self.now) }
    }

    /// Gets the running thread the line of a CPU's queue.
    pub(crate) fn get_queue(&mut self, cpu: u32, doing: Doing) -> Flow {
        self.get(self.cpus[cpu as usize].queue_line, doing)
    }

    /// Puts another thread into a CPU's queue, whose line the running thread has: returns the time that this takes.
    pub(crate) fn queue_thread(&mut self, cpu: u32, doing: Doing) -> Flow {
        let near = self.share_cache(self.current_cpu, cpu);
        let mut end = self.now + self.on_its_core(self.current_cpu, self.machine.system.wake);
        let there = &mut self.cpus[cpu as usize];
        if near {
            end += there.locked_until.saturating_sub(self.now);
            there.locked_until = end;
        }
        let asleep = there.idle_for(self.now).is_some_and(|time| time >= self.machine.system.idle_poll);
        if asleep || !near {
            let table = self.machine.system.ipi.at(self.machine.topology.between(self.current_cpu, cpu));
            let state = self.idle_state(cpu).filter(|_| asleep);
            end += state.and_then(|state| state.ipi).unwrap_or(table);
        }
        self.spend(doing, end - self.now)
    }

    /// Switches a CPU, from `from` on, with its queue locked; returns when it is done.
    pub(super) fn switch_from(&mut self, cpu: u32, from: Ps) -> Ps {
        let line = self.cpus[cpu as usize].queue_line;
        let start = self.fetched(cpu, line, Op::Rmw, from).max(self.cpus[cpu as usize].locked_until);
        let end = start + self.on_its_core(cpu, self.machine.system.context_switch);
        self.cpus[cpu as usize].locked_until = end;
        end
    }

    /// Returns a thread that waits for another CPU, from the fullest queue of the nearest; and when the search is over.
    pub(super) fn steal(&mut self, cpu: u32) -> (Option<u32>, Ps) {
        let mut at = self.now;
        let idles_long = self.cpus[cpu as usize].mean_idle >= MIGRATION_COST;
        let crowded = |&other: &u32| self.load(other) > 1;
        if self.waiting == 0 || !self.machine.system.migration || !idles_long || !self.allowed.iter().any(crowded) {
            return (None, at);
        }
        let near = |e: &Engine, other: u32| e.machine.topology.between(cpu, other).max(Class::SAME_CLUSTER);
        let mut level = None;
        loop {
            let others = self.allowed.iter().copied().filter(|&other| other != cpu);
            let farther = others.map(|other| near(self, other)).filter(|&class| level.is_none_or(|last| class > last));
            let Some(class) = farther.min() else { return (None, at) };
            level = Some(class);
            let others = self.allowed.iter().copied().filter(|&other| other != cpu && near(self, other) == class);
            let others: Vec<u32> = others.collect();
            for &other in &others {
                at = self.fetched(cpu, self.cpus[other as usize].queue_line, Op::Load, at);
            }
            let movable = |&&from: &&u32| {
                let waits = &self.cpus[from as usize].ready;
                self.load(from) > 1 && waits.iter().any(|&t| !self.threads[t as usize].bound)
            };
            let fullest = others.iter().filter(movable).min_by_key(|&&from| (usize::MAX - self.load(from), from));
            if let Some(&from) = fullest {
                at = self.fetched(cpu, self.cpus[from as usize].queue_line, Op::Rmw, at);
                at = at.max(self.cpus[from as usize].locked_until);
                return (self.take_movable(from, cpu), at);
            }
        }
    }
}
