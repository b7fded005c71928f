//! Where a woken thread goes, as Linux's fair scheduler decides it (`select_task_rq_fair` of 3.10): first to the CPU
//! that it was on or to its waker's, by the number of threads on these; from there to an idle CPU with the same
//! last-level cache. CPUs of other caches are not considered: a woken thread can wait in a queue while one of them is
//! idle.

use super::Engine;
use crate::spec::Topology;

/// By how many per cent the CPU that a thread was on may have fewer threads than its waker's and still be left: half of
/// the excess of a scheduling domain's `imbalance_pct`, 125, over 100.
const IMBALANCE_PERCENT: usize = 112;

/// Which CPUs are idle.
pub(crate) struct IdleCpus {
    per_cache: u32,
    per_core: u32,
    idle: Vec<bool>,
}

impl IdleCpus {
    pub(crate) fn new(topology: &Topology) -> IdleCpus {
        let (per_core, per_cache) = (topology.threads_per_core, topology.cores_per_cluster * topology.threads_per_core);
        IdleCpus { per_cache, per_core, idle: vec![false; topology.cpus() as usize] }
    }

    pub(crate) fn contains(&self, cpu: u32) -> bool {
        self.idle[cpu as usize]
    }

    pub(crate) fn set(&mut self, cpu: u32, idle: bool) {
        self.idle[cpu as usize] = idle;
    }

    /// Returns an idle CPU near this one: of a core that is idle as a whole if there is one, and the next in the order
    /// of their numbers.
    fn beside(&self, cpu: u32) -> Option<u32> {
        let first = cpu / self.per_cache * self.per_cache;
        let from_here = (0..self.per_cache).map(|n| first + (cpu - first + n) % self.per_cache);
        let mut idle = from_here.filter(|&other| self.contains(other));
        let core_is_idle = |&other: &u32| {
            let core = other / self.per_core * self.per_core;
            (core..core + self.per_core).all(|thread| self.contains(thread))
        };
        idle.clone().find(core_is_idle).or_else(|| idle.next())
    }
}

impl Engine {
    /// Returns the CPU for a thread that the one on `waker` wakes, or that its alarm wakes.
    pub(crate) fn choose_cpu(&self, thread: u32, waker: Option<u32>) -> u32 {
        let t = &self.threads[thread as usize];
        if t.bound || !self.machine.system.migration {
            return t.cpu;
        }
        let target = waker.filter(|&waker| self.is_pulled(t.cpu, waker)).unwrap_or(t.cpu);
        if self.idle.contains(target) {
            return target;
        }
        if self.share_cache(target, t.cpu) && self.idle.contains(t.cpu) {
            return t.cpu;
        }
        self.idle.beside(target).unwrap_or(target)
    }

    /// Returns whether a thread leaves the CPU that it was on for its waker's (`wake_affine`).
    fn is_pulled(&self, last: u32, waker: u32) -> bool {
        last != waker && 100 * (self.load(waker) + 1) <= IMBALANCE_PERCENT * self.load(last)
    }

    /// Returns the number of threads of a CPU: the one that it runs, and those that wait.
    pub(super) fn load(&self, cpu: u32) -> usize {
        let cpu = &self.cpus[cpu as usize];
        cpu.ready.len() + usize::from(cpu.thread.is_some())
    }

    /// Returns whether two CPUs share a last-level cache.
    pub(super) fn share_cache(&self, a: u32, b: u32) -> bool {
        let topology = &self.machine.topology;
        topology.cluster(a) == topology.cluster(b)
    }
}
