//! The operating system's scheduler: a queue of ready threads for each CPU, ordered by the CPU time that they had, in
//! the manner of Linux's fair scheduler.
//!
//! - A thread has its CPU for a slice: the latency divided by the number of threads there, but not less than the
//!   granularity; it may end late by the machine's jitter. Slices end only where a thread waits, and so cost nothing
//!   elsewhere.
//! - A woken thread goes to the CPU that it was on, or to a nearby one (`place.rs`); it preempts a thread that is ahead
//!   of it by more than the wake-up granularity.
//! - A CPU without threads takes one that waits elsewhere, if it is often idle for long (`runqueue.rs`), and at the end
//!   of a slice a crowded CPU gives one away; both where migration is on and the thread is not bound.
//! - A CPU without threads switches to its idle thread, which takes as long as any switch, and then decides how deep it
//!   sleeps: by the length of its idle times, as Linux's `menu` governor does.

use super::charge::Doing;
use super::cpu::Activity;
use super::queue::What;
use super::thread::{At, SpinEnded};
use super::trace::Happened;
use super::{Engine, Flow};
use crate::spec::{IdleState, Ps};

impl Engine {
    /// Makes a thread ready on a CPU; by the running thread or an alarm. The caller charges the waker.
    pub(super) fn make_ready(&mut self, thread: u32, cpu: u32) {
        self.raise_floor(cpu);
        let latency = self.machine.system.latency;
        let floor = self.cpus[cpu as usize].min_vruntime.saturating_sub(latency / 2);
        let t = &mut self.threads[thread as usize];
        t.at = At::Ready;
        t.vruntime = if t.cpu == cpu { t.vruntime.max(floor) } else { floor };
        self.enqueue(cpu, thread);
        self.notice(cpu, Some(thread));
    }

    /// Returns the CPU time that the thread of this CPU has had up to now, weighed.
    fn had(&self, cpu: u32) -> Option<Ps> {
        let c = &self.cpus[cpu as usize];
        let ran = if c.activity == Activity::Switches { 0 } else { self.now - c.slice_start.min(self.now) };
        Some(self.threads[c.thread? as usize].vruntime + ran)
    }

    /// Raises the least CPU time of this CPU's threads, so that sleepers save up only a part of the latency.
    fn raise_floor(&mut self, cpu: u32) {
        let c = &self.cpus[cpu as usize];
        let ready = c.ready.iter().map(|&thread| self.threads[thread as usize].vruntime);
        let least = ready.chain(self.had(cpu)).min().unwrap_or(0);
        let c = &mut self.cpus[cpu as usize];
        c.min_vruntime = c.min_vruntime.max(least);
    }

    pub(super) fn enqueue(&mut self, cpu: u32, thread: u32) {
        self.threads[thread as usize].cpu = cpu;
        self.cpus[cpu as usize].ready.push(thread);
        self.idle.set(cpu, false);
        self.waiting += 1;
    }

    /// Makes a CPU whose queue has grown wake up, release its thread, or end its slice in time.
    fn notice(&mut self, cpu: u32, woken: Option<u32>) {
        match self.cpus[cpu as usize].activity {
            Activity::Idle => {
                let exit = self.idle_state(cpu).map_or(0, |state| state.exit);
                let c = &mut self.cpus[cpu as usize];
                c.activity = Activity::Wakes;
                c.was_idle(self.now - c.idle_since);
                let exit = self.on_its_core(cpu, exit);
                self.queue.push(self.now + exit, What::Dispatch { cpu });
            }
            Activity::Wakes | Activity::Switches => {}
            _ if woken.is_some_and(|thread| self.is_behind(cpu, thread)) => self.preempt(cpu),
            _ => self.arm_slice(cpu),
        }
    }

    /// Returns how an idle CPU sleeps. One that polls, or whose sleep deepens, does so by how long it was idle; others
    /// decided when they became idle.
    pub(super) fn idle_state(&self, cpu: u32) -> Option<&IdleState> {
        let (system, c) = (&self.machine.system, &self.cpus[cpu as usize]);
        let by_time = system.idle_poll > 0 || system.idle_deepens;
        let time = if by_time { Some(self.now - c.idle_since) } else { c.expected_idle };
        system.idle_exit.iter().rev().find(|state| time.is_none_or(|time| time >= state.after))
    }

    /// Returns whether a woken thread may take the CPU from the one that has it.
    fn is_behind(&self, cpu: u32, thread: u32) -> bool {
        let granularity = self.machine.system.wakeup_granularity;
        self.had(cpu).is_some_and(|had| had > self.threads[thread as usize].vruntime + granularity)
    }

    fn arm_slice(&mut self, cpu: u32) {
        let system = &self.machine.system;
        let c = &mut self.cpus[cpu as usize];
        if c.ready.is_empty() || c.thread.is_none() {
            return;
        }
        let slice = (system.latency / (c.ready.len() as Ps + 1)).max(system.min_granularity);
        c.slice_generation += 1;
        let generation = c.slice_generation;
        let late = if system.slice_jitter == 0 { 0 } else { self.chance.u64(0..=system.slice_jitter) };
        self.queue.push((c.slice_start + slice + late).max(self.now), What::Slice { cpu, generation });
    }

    pub(super) fn slice_over(&mut self, cpu: u32, generation: u32) {
        let c = &self.cpus[cpu as usize];
        let Some(thread) = c.thread.filter(|_| c.slice_generation == generation && !c.ready.is_empty()) else { return };
        let Some(had) = self.had(cpu) else { return };
        let c = &mut self.cpus[cpu as usize];
        if c.ready.iter().all(|&waits| self.threads[waits as usize].vruntime > had) {
            // It would be its own successor.
            self.threads[thread as usize].vruntime = had;
            c.slice_start = self.now;
            self.arm_slice(cpu);
        } else {
            self.preempt(cpu);
        }
        self.give_away(cpu);
    }

    /// Puts the thread of this CPU back in the queue: at once, or when its operation is done, or its section.
    fn preempt(&mut self, cpu: u32) {
        let Some(thread) = self.cpus[cpu as usize].thread else { return };
        if self.keeps_cpu(cpu) {
            return self.preempt_pends(cpu);
        }
        match self.cpus[cpu as usize].activity {
            Activity::Busy { end } => {
                self.settle(cpu);
                let doing = self.cpus[cpu as usize].doing;
                self.threads[thread as usize].rest = Some((end - self.now, doing));
            }
            Activity::Spin => self.end_spin(cpu, SpinEnded::Rescheduled),
            _ => return self.preempt_later(cpu),
        }
        self.counts.involuntary += 1;
        self.leave(cpu, At::Ready, Happened::Preempted);
    }

    /// Makes the thread leave when its operation is done. If it is the running one, which has woken another, an event,
    /// though void, keeps it from continuing without a switch.
    fn preempt_later(&mut self, cpu: u32) {
        let c = &mut self.cpus[cpu as usize];
        if !std::mem::replace(&mut c.resched, true) {
            let generation = c.generation.wrapping_sub(1);
            self.queue.push(self.now, What::Resume { cpu, generation });
        }
    }

    /// Ends the operation of the CPU's thread. Returns the thread that continues, if any does.
    #[inline]
    pub(super) fn resumed(&mut self, cpu: u32, generation: u32) -> Option<u32> {
        let c = &mut self.cpus[cpu as usize];
        if c.generation != generation {
            return None;
        }
        let thread = c.thread?;
        let resched = c.resched && !self.threads[thread as usize].sections.any();
        if resched {
            c.resched = false;
        }
        let preempted = resched && !c.ready.is_empty();
        if c.activity == Activity::Spin {
            self.end_spin(cpu, SpinEnded::Deadline);
        }
        if preempted {
            self.counts.involuntary += 1;
            self.leave(cpu, At::Ready, Happened::Preempted);
            return None;
        }
        self.run_on(cpu, thread);
        Some(thread)
    }

    fn run_on(&mut self, cpu: u32, thread: u32) {
        (self.current, self.current_cpu) = (thread, cpu);
        self.cpus[cpu as usize].activity = Activity::Operation;
    }

    /// Makes the CPU's thread leave it.
    pub(super) fn leave(&mut self, cpu: u32, to: At, why: Happened) {
        self.settle(cpu);
        self.flush_stores(cpu);
        self.raise_floor(cpu);
        let c = &mut self.cpus[cpu as usize];
        let thread = c.thread.take().expect("a thread leaves its CPU");
        c.generation += 1;
        c.slice_generation += 1;
        c.resched = false;
        let ran = self.now - c.slice_start.min(self.now);
        let t = &mut self.threads[thread as usize];
        t.vruntime += ran;
        t.at = to;
        self.trace_of(cpu, thread, why);
        if to == At::Ready {
            self.enqueue(cpu, thread);
        }
        self.set_on_cpu(cpu, thread, 0);
        self.dispatch(cpu);
        self.threads[thread as usize].off_at = self.cpus[cpu as usize].locked_until;
    }

    fn set_on_cpu(&mut self, cpu: u32, thread: u32, on: u32) {
        let word = self.on_cpu_word(thread);
        word.poke(on);
        let line = self.line(word.address().addr());
        self.lines.hand_over(line, cpu);
        self.wrote(line);
    }

    /// Yields the running thread's CPU to another thread, if one waits for it.
    pub(crate) fn yields(&mut self) -> bool {
        let cpu = self.current_cpu;
        if self.has_preemption_off() {
            return false;
        }
        let ready = &self.cpus[cpu as usize].ready;
        let Some(last) = ready.iter().map(|&t| self.threads[t as usize].vruntime).max() else { return false };
        let ran = self.now - self.cpus[cpu as usize].slice_start.min(self.now);
        let t = self.thread();
        t.vruntime = t.vruntime.max((last + 1).saturating_sub(ran));
        self.counts.involuntary += 1; // as Linux counts it
        self.leave(cpu, At::Ready, Happened::Yields);
        true
    }

    /// Switches the CPU to its next thread, or to none.
    pub(super) fn dispatch(&mut self, cpu: u32) {
        let (next, at) = match self.take_ready(cpu) {
            Some(thread) => (Some(thread), self.now),
            None => self.steal(cpu),
        };
        if next.is_none() {
            self.idle.set(cpu, true);
            if self.cpus[cpu as usize].activity == Activity::Wakes {
                return self.becomes_idle(cpu);
            }
        }
        self.does(cpu, Doing::SWITCH);
        let c = &mut self.cpus[cpu as usize];
        (c.thread, c.activity) = (next, Activity::Switches);
        if let Some(thread) = next {
            let t = &mut self.threads[thread as usize];
            (t.at, t.cpu) = (At::Running, cpu);
            self.set_on_cpu(cpu, thread, 1);
        }
        let end = self.switch_from(cpu, at);
        self.queue.push(end, What::Started { cpu });
    }

    fn becomes_idle(&mut self, cpu: u32) {
        self.does(cpu, Doing::IDLE);
        let c = &mut self.cpus[cpu as usize];
        (c.activity, c.idle_since) = (Activity::Idle, self.now);
    }

    /// Takes the thread that had the least CPU time.
    fn take_ready(&mut self, cpu: u32) -> Option<u32> {
        let threads = &self.threads;
        let c = &mut self.cpus[cpu as usize];
        let least = (0..c.ready.len()).min_by_key(|&n| (threads[c.ready[n] as usize].vruntime, n))?;
        let thread = c.ready.remove(least);
        c.min_vruntime = c.min_vruntime.max(threads[thread as usize].vruntime);
        self.waiting -= 1;
        Some(thread)
    }

    pub(super) fn take_movable(&mut self, from: u32, to: u32) -> Option<u32> {
        let threads = &self.threads;
        let ready = &mut self.cpus[from as usize].ready;
        let place = ready.iter().position(|&t| !threads[t as usize].bound)?;
        let thread = ready.remove(place);
        self.waiting -= 1;
        let (old, new) = (self.cpus[from as usize].min_vruntime, self.cpus[to as usize].min_vruntime);
        let t = &mut self.threads[thread as usize];
        t.vruntime = t.vruntime.saturating_sub(old) + new;
        Some(thread)
    }

    /// Moves a thread from a crowded CPU to one that has at least two fewer.
    fn give_away(&mut self, cpu: u32) {
        if !self.machine.system.migration {
            return;
        }
        let Some(&to) = self.allowed.iter().min_by_key(|&&c| (self.load(c), c)) else { return };
        if self.load(to) + 2 <= self.load(cpu)
            && let Some(thread) = self.take_movable(cpu, to)
        {
            self.enqueue(to, thread);
            self.notice(to, None);
        }
    }

    /// Completes a CPU's switch to its thread, which is returned unless it continues computing; or to none.
    pub(super) fn started(&mut self, cpu: u32) -> Option<u32> {
        let c = &mut self.cpus[cpu as usize];
        c.slice_start = self.now;
        let Some(thread) = c.thread else {
            self.is_without_thread(cpu);
            return None;
        };
        self.trace_of(cpu, thread, Happened::Runs);
        self.arm_slice(cpu);
        self.run_on(cpu, thread);
        match self.threads[thread as usize].rest.take() {
            Some((rest, doing)) if self.busy_again(doing, rest) == Flow::Suspend => None,
            _ => Some(thread),
        }
    }

    /// Handles a CPU's completed switch to its idle thread: it sleeps, unless a thread has come meanwhile.
    fn is_without_thread(&mut self, cpu: u32) {
        if self.cpus[cpu as usize].has_ready() {
            self.cpus[cpu as usize].was_idle(0);
            self.dispatch(cpu);
        } else {
            self.becomes_idle(cpu);
        }
    }
}
