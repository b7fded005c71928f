//! Accesses to memory, and spinning on lines.
//!
//! An access whose line is in its CPU's cache takes the time of a hit. Any other sends a request, which is served when
//! it arrives; the value is read or changed when the line has come. In between, the thread waits; plain stores are left
//! to its buffer (`posted.rs`).
//!
//! A spinning thread polls once, and then is parked on its lines, which costs no events. When one of them is written,
//! all its watchers read it again; those whose predicate now holds are resumed when their copy has come, for the others
//! only the line is busy. The order of their requests is random.

use super::charge::{Doing, Kind};
use super::cpu::{Activity, Request};
use super::lines::{Op, Winner};
use super::queue::What;
use super::thread::{SpinEnded, Watch};
use super::trace::Happened;
use super::{Engine, Flow, for_free};
use crate::spec::{Class, Ps};
use std::panic::Location;

impl Engine {
    /// Returns the line of an address; a new one has its memory on the node of the running thread, or of the one whose
    /// stack it is.
    #[inline]
    pub(crate) fn line(&mut self, address: usize) -> u32 {
        self.table.known(address).unwrap_or_else(|| self.new_line(address))
    }

    #[cold]
    fn new_line(&mut self, address: usize) -> u32 {
        let (line, new) = self.table.find(address);
        if new {
            let cpu = self.table.stack_of(address).map_or(self.current_cpu, |owner| self.last_cpu(owner as u32));
            self.create_line(line, cpu);
        }
        line
    }

    /// Returns a number for an address in use, the same in every run.
    pub(crate) fn name(&self, address: usize) -> usize {
        self.table.name(address)
    }

    /// Returns a line for the system's own data.
    pub(super) fn fresh_line(&mut self) -> u32 {
        let line = self.table.fresh();
        self.create_line(line, self.current_cpu);
        line
    }

    #[cold]
    fn create_line(&mut self, line: u32, cpu: u32) {
        let home = self.lines.node(cpu);
        self.lines.create(line, home);
    }

    /// Makes the running thread access a line. When it continues, it has the line, and the access happens.
    #[inline(always)]
    pub(crate) fn access(&mut self, line: u32, op: Op, doing: Doing) -> Flow {
        self.counts.accesses += 1;
        self.does(self.current_cpu, doing);
        match self.lines.hit(line, self.current_cpu, op, self.now) {
            Some(cost) => {
                if op != Op::Load {
                    self.lines.modify(line);
                }
                let more = self.perturbation(cost);
                self.go_on_at(self.now + cost + more)
            }
            None => self.miss(line, op),
        }
    }

    #[inline(never)]
    fn miss(&mut self, line: u32, op: Op) -> Flow {
        let cpu = self.current_cpu;
        let (latency, _) = self.lines.latency(line, cpu, op);
        let more = self.perturbation(latency);
        let travel = latency / 2;
        if self.now + latency + more < self.queue.next_time() {
            // Nothing else happens before it is served.
            self.now += travel;
            let done = self.serve(cpu, Request { line, op, travel }) + more;
            return self.go_on_at(done);
        }
        self.cpu().request = Some(Request { line, op, travel });
        self.cpu().activity = Activity::Operation;
        self.queue.push(self.now + travel + more, What::Arrive { cpu });
        Flow::Suspend
    }

    /// Handles a request's arrival. Returns the thread that continues, if nothing happens before its line has come.
    pub(super) fn arrive(&mut self, cpu: u32) -> Option<u32> {
        let request = self.cpus[cpu as usize].request.take()?;
        let done = self.serve(cpu, request);
        self.resume_at(cpu, done)
    }

    /// Resumes the thread of `cpu` at a time: returns it if nothing else happens before.
    #[inline]
    pub(super) fn resume_at(&mut self, cpu: u32, time: Ps) -> Option<u32> {
        let generation = self.cpus[cpu as usize].generation;
        if self.queue.pass(time) {
            self.now = time;
            return self.resumed(cpu, generation);
        }
        self.queue.push(time, What::Resume { cpu, generation });
        None
    }

    /// Serves a store that its CPU does not wait for, and returns when it is done.
    pub(super) fn serve_store(&mut self, cpu: u32, line: u32, travel: Ps) -> Ps {
        self.serve(cpu, Request { line, op: Op::Store, travel })
    }

    fn serve(&mut self, cpu: u32, request: Request) -> Ps {
        let Request { line, op, travel } = request;
        let served = self.lines.serve(line, cpu, op, self.now, travel);
        if let Some(class) = served.from {
            self.count_transfer(cpu, line, class);
        }
        served.done
    }

    pub(super) fn count_transfer(&mut self, cpu: u32, line: u32, class: Class) {
        let remote = class > Class::SAME_NODE;
        self.counts.transfers += 1;
        self.counts.remote_transfers += u64::from(remote);
        if self.trace.is_some() {
            let thread = self.cpus[cpu as usize].thread.unwrap_or(0);
            self.trace_of(cpu, thread, Happened::Transfer { line, remote });
        }
    }

    /// Notes that a line was written at this moment: its watchers will poll again.
    #[inline]
    pub(crate) fn wrote(&mut self, line: u32) {
        let entry = self.lines.entry(line);
        if !entry.watchers.is_empty() && !entry.refill {
            self.send_watchers(line);
        }
    }

    /// Sends the watchers' requests: each notices at its next poll, and the nearest arrives first.
    #[inline(never)]
    fn send_watchers(&mut self, line: u32) {
        let watchers = self.lines.entry(line).watchers.len() as Ps;
        let pause = self.machine.cpu.pause;
        let look = if watchers == 1 { pause } else { pause / watchers };
        let notice = self.chance.u64(0..=look);
        let arrival = self.now + notice + self.lines.nearest(line);
        self.lines.entry(line).refill = true;
        self.queue.push(arrival, What::Refill { line });
    }

    /// Handles the arrival of the requests of all watchers of a line. Returns the thread that continues, if it alone
    /// does and nothing else happens before.
    pub(super) fn refill(&mut self, line: u32) -> Option<u32> {
        self.lines.entry(line).refill = false;
        let watchers = std::mem::take(&mut self.lines.entry(line).watchers);
        if watchers.is_empty() {
            return None;
        }
        self.counts.accesses += watchers.len() as u64;
        let mut all_hit = true;
        for &cpu in &watchers {
            if self.lines.hit(line, cpu, Op::Load, self.now).is_none() {
                all_hit = false;
                let class = self.lines.source(line, cpu);
                self.count_transfer(cpu, line, class);
            }
        }
        let mut winners = std::mem::take(&mut self.winners);
        for_free(|| self.draw_winners(&watchers, &mut winners));
        self.lines.refill(line, &watchers, all_hit, &mut winners, self.now);
        self.lines.entry(line).watchers = watchers;
        let goes_on = self.end_spins(&winners);
        self.winners = winners;
        goes_on
    }

    /// Ends the spins of these threads, which have read that their wait is over, when their copies have come.
    fn end_spins(&mut self, winners: &[Winner]) -> Option<u32> {
        for winner in winners {
            self.end_spin(winner.cpu, SpinEnded::Reloaded);
            self.cpus[winner.cpu as usize].activity = Activity::Operation;
            if let [alone] = winners {
                return self.resume_at(alone.cpu, alone.at);
            }
            let (cpu, generation) = (winner.cpu, self.cpus[winner.cpu as usize].generation);
            self.queue.push(winner.at, What::Resume { cpu, generation });
        }
        None
    }

    /// Finds the CPUs whose threads' wait is over, each with its place among all readers.
    fn draw_winners(&mut self, watchers: &[u32], winners: &mut Vec<Winner>) {
        winners.clear();
        for &cpu in watchers {
            let thread = self.cpus[cpu as usize].thread.expect("a thread spins there");
            let watch = self.threads[thread as usize].watch.as_mut().expect("it watches a line");
            // SAFETY: the thread is suspended in the function that owns the predicate (contract of `Watch::new`), which
            // reads only words.
            if unsafe { (*watch.ready)() } {
                winners.push(Winner { cpu, place: 0, at: 0 });
            }
        }
        if winners.is_empty() {
            return;
        }
        let mut places = std::mem::take(&mut self.places);
        places.clear();
        places.extend(0..watchers.len() as u32);
        for (index, winner) in winners.iter_mut().enumerate() {
            places.swap(index, self.chance.usize(index..watchers.len()));
            winner.place = places[index];
        }
        self.places = places;
    }

    /// Makes the running thread spin until one of its lines is written so that it is ready, or until `until`. The
    /// caller suspends; afterwards [`Engine::spin_ended`] returns why it continues.
    #[inline(never)]
    pub(crate) fn watch(&mut self, watch: Watch, until: Option<Ps>, at: &'static Location<'static>) {
        let cpu = self.current_cpu;
        self.does(cpu, Doing::new(Kind::Spin, at));
        for &line in watch.lines() {
            self.lines.entry(line).watchers.push(cpu);
        }
        self.thread().watch = Some(watch);
        self.cpu().activity = Activity::Spin;
        if let Some(until) = until {
            let generation = self.cpu().generation;
            self.queue.push(until.max(self.now), What::Resume { cpu, generation });
        }
    }

    /// Makes the thread of `cpu` stop watching; other events for it are void.
    pub(super) fn end_spin(&mut self, cpu: u32, why: SpinEnded) {
        let thread = self.cpus[cpu as usize].thread.expect("a thread spins there");
        let thread = &mut self.threads[thread as usize];
        thread.spin_ended = why;
        let Some(watch) = thread.watch.take() else { return };
        for &line in watch.lines() {
            let watchers = &mut self.lines.entry(line).watchers;
            if let Some(place) = watchers.iter().position(|&watcher| watcher == cpu) {
                watchers.remove(place);
            }
        }
        self.cpus[cpu as usize].generation += 1;
    }

    /// Returns why the running thread, which was parked on lines, continues.
    pub(crate) fn spin_ended(&mut self) -> SpinEnded {
        self.thread().spin_ended
    }

    /// Keeps the running thread busy for `time`; it may be preempted meanwhile.
    pub(crate) fn busy(&mut self, doing: Doing, time: Ps) -> Flow {
        let time = time + self.perturbation(time);
        self.busy_again(doing, time)
    }

    /// Makes the next operation begin now: the CPU could not anticipate it, or had to wait for all before it.
    #[inline]
    pub(crate) fn no_look_ahead(&mut self) {
        let now = self.now;
        self.thread().ahead_from = now;
    }

    /// Returns how much of a computation of `time`, which needs nothing of what came before it, has been done so far.
    pub(crate) fn done_ahead(&mut self, time: Ps) -> Ps {
        let since = self.now - self.thread().ahead_from;
        since.min(self.machine.cpu.lookahead).min(time)
    }

    /// Spends the rest of a time after a preemption: no more than that, since it was perturbed before.
    #[inline(never)]
    pub(super) fn busy_again(&mut self, doing: Doing, time: Ps) -> Flow {
        self.does(self.current_cpu, doing);
        let end = self.now + time;
        if end < self.queue.next_time() {
            self.now = end;
            return Flow::On;
        }
        let (cpu, generation) = (self.current_cpu, self.cpu().generation);
        self.cpu().activity = Activity::Busy { end };
        self.queue.push(end, What::Resume { cpu, generation });
        Flow::Suspend
    }
}
