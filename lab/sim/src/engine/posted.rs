//! The store buffer: a CPU continues while plain stores of its thread wait for their lines.
//!
//! - Each store sends its request at once; they happen in order, each when its line and those before it have come
//!   (total store order, as on x86). A locked operation, a full fence, a system call and a load of a line that a
//!   waiting store concerns wait until the buffer is empty; so a thread sees its own stores, and only a later load of
//!   another line can happen before them.
//! - A store or locked operation that has to wait for the buffer also sends its own request at once: the lines come
//!   concurrently, as with a CPU's prefetches.
//! - A store whose line came before its turn happens even if the line has left again since: a CPU would fetch it anew.
//! - Only stores to placed values ([`super::Simulation::place`]), the heap and thread slots, whose addresses stay
//!   valid, are buffered: a stack's words may be gone when the line comes.
//! - A thread that leaves its CPU leaves no stores behind: they happen at once; so do stores to memory that is freed.

use super::cpu::{Activity, Posted, StoreBuffer};
use super::lines::Op;
use super::queue::What;
use super::{Engine, Flow};

/// Stores that a buffer holds: few compared with the hardware's, and more than any lock leaves there.
const DEPTH: usize = 16;

impl Engine {
    #[inline]
    fn buffer(&self) -> &StoreBuffer {
        &self.cpus[self.current_cpu as usize].stores
    }

    /// Returns whether a store of the running thread to this word, whose line is `line`, goes to the buffer.
    #[inline]
    pub(crate) fn posts(&self, line: u32, address: usize) -> bool {
        self.machine.cpu.store_buffer
            && (!self.buffer().waiting.is_empty() || self.store_misses(line))
            && self.table.is_placed(address)
    }

    fn store_misses(&self, line: u32) -> bool {
        self.lines.hit(line, self.current_cpu, Op::Store, self.now).is_none()
    }

    /// Puts the running thread's store into the buffer, which has room.
    pub(crate) fn post(&mut self, mut store: Posted) {
        self.counts.accesses += u64::from(!store.is_request());
        let cpu = self.current_cpu;
        let buffer = &mut self.cpu().stores;
        buffer.made = buffer.made.wrapping_add(1);
        store.number = buffer.made;
        // To an empty buffer only stores go that miss: see `posts`.
        if buffer.waiting.is_empty() || self.store_misses(store.line) {
            let (latency, _) = self.lines.latency(store.line, cpu, Op::Store);
            let more = self.perturbation(latency);
            store.travel = latency / 2;
            self.queue.push(self.now + store.travel + more, What::StoreArrives { cpu, number: store.number });
        } else {
            store.ready = true;
        }
        self.cpu().stores.waiting.push_back(store);
    }

    /// Sends at once the request of the running thread's store or locked operation, which waits for the buffer.
    pub(crate) fn request_ahead(&mut self, line: u32) {
        if !self.buffer_full()
            && self.store_misses(line)
            && self.buffer().waiting.iter().all(|store| store.line != line)
        {
            self.post(Posted::request(line));
        }
    }

    /// Returns whether the running thread must wait for its buffer before it does this to a line.
    #[inline]
    pub(crate) fn must_drain(&self, line: u32, op: Op) -> bool {
        let waiting = &self.buffer().waiting;
        !waiting.is_empty()
            && match op {
                Op::Load => waiting.iter().any(|store| store.line == line),
                Op::Store | Op::Rmw => true,
            }
    }

    /// Returns whether the buffer has no room for another store.
    pub(crate) fn buffer_full(&self) -> bool {
        self.buffer().waiting.len() >= DEPTH
    }

    /// Waits until the buffer is empty.
    pub(crate) fn drain(&mut self) -> Flow {
        if self.buffer().waiting.is_empty() {
            return Flow::On;
        }
        self.cpu().stores.drains = true;
        self.cpu().activity = Activity::Operation;
        Flow::Suspend
    }

    /// Handles the arrival of a store's request at its line. Returns the thread that continues, if nothing precedes.
    pub(super) fn store_arrives(&mut self, cpu: u32, number: u32) -> Option<u32> {
        let store = self.cpus[cpu as usize].stores.waiting.iter().find(|store| store.number == number)?;
        let done = self.serve_store(cpu, store.line, store.travel);
        if self.queue.pass(done) {
            self.now = done;
            return self.store_done(cpu, number);
        }
        self.queue.push(done, What::StoreDone { cpu, number });
        None
    }

    /// Handles the arrival of a store's line: the store happens, and those behind it that are ready, unless one before
    /// it is not. Returns the thread that continues, if one waited for that and nothing else happens before.
    pub(super) fn store_done(&mut self, cpu: u32, number: u32) -> Option<u32> {
        let waiting = &mut self.cpus[cpu as usize].stores.waiting;
        if let Some(store) = waiting.iter_mut().find(|store| store.number == number) {
            store.ready = true;
        }
        self.complete_ready(cpu);
        if self.drained(cpu) { self.resume_at(cpu, self.now) } else { None }
    }

    /// Lets the stores at the front happen whose lines have come.
    fn complete_ready(&mut self, cpu: u32) {
        while self.cpus[cpu as usize].stores.waiting.front().is_some_and(|store| store.ready) {
            self.complete_first(cpu);
        }
    }

    /// Returns whether a thread waited for an empty buffer, and it is empty now.
    fn drained(&mut self, cpu: u32) -> bool {
        let buffer = &mut self.cpus[cpu as usize].stores;
        buffer.waiting.is_empty() && std::mem::take(&mut buffer.drains)
    }

    /// Memory is freed: lets stores to it, and those before them in the same buffer, happen now.
    pub(super) fn finish_stores_to(&mut self, bytes: std::ops::Range<usize>) {
        for index in 0..self.allowed.len() {
            let cpu = self.allowed[index];
            if self.cpus[cpu as usize].stores.waiting.is_empty() {
                continue;
            }
            let waits = |e: &Engine| {
                let mut waiting = e.cpus[cpu as usize].stores.waiting.iter();
                waiting.any(|store| bytes.contains(&store.word.addr()))
            };
            if !waits(self) {
                continue;
            }
            while waits(self) {
                self.complete_first_early(cpu);
            }
            // Those whose lines came meanwhile have no event left.
            self.complete_ready(cpu);
            if self.drained(cpu) {
                let generation = self.cpus[cpu as usize].generation;
                self.queue.push(self.now, What::Resume { cpu, generation });
            }
        }
    }

    /// Lets the first store happen before its line has come.
    fn complete_first_early(&mut self, cpu: u32) {
        if let Some(store) = self.cpus[cpu as usize].stores.waiting.front() {
            let line = store.line;
            if !store.is_request() {
                self.lines.hand_over(line, cpu);
            }
            self.complete_first(cpu);
        }
    }

    /// Lets the first store in the buffer happen.
    fn complete_first(&mut self, cpu: u32) {
        let Some(store) = self.cpus[cpu as usize].stores.waiting.pop_front() else { return };
        if store.is_request() {
            return;
        }
        // SAFETY: words are only accessed by threads of this simulation, of which none runs at this moment.
        unsafe { store.write() };
        self.wrote(store.line);
    }

    /// Flushes the stores of this CPU's thread, which leaves it.
    pub(super) fn flush_stores(&mut self, cpu: u32) {
        while !self.cpus[cpu as usize].stores.waiting.is_empty() {
            self.complete_first_early(cpu);
        }
        self.cpus[cpu as usize].stores.drains = false;
    }
}
