//! Pages of memory: the zones that they come from, each CPU's list of free ones, and the tables that map them.

use super::tasks::Apart;
use super::{Owned, charge, costs};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use turnwise::Lock;
use turnwise::platform::{Hint, Platform};
use turnwise_sim::Sim;
use turnwise_vfs::LockSet;

/// Pages that a CPU takes from a zone at a time, and gives back.
const BATCH: u32 = 31;
/// Free pages of a CPU from which on it gives a batch back.
const HIGH: u32 = 6 * BATCH;
/// Zones: one for each node, which higher numbers share.
const ZONES: u32 = 64;
/// CPUs with a list of their own, which higher numbers share.
const LISTS: u32 = 4096;

/// The zones, and what CPUs have taken from them.
pub struct Zones<L: LockSet<Sim>> {
    zones: Vec<Counted<L>>,
    /// Free pages of each CPU. Only the CPU itself accesses them, in a kernel that does not preempt itself.
    lists: Vec<AtomicU32>,
}

/// A count under a spin lock, on a line of its own: a zone counts its pages in use.
type Counted<L> = Owned<Apart<Lock<<L as LockSet<Sim>>::Spin, u64>>>;

impl<L: LockSet<Sim>> Zones<L> {
    pub(super) fn new() -> Self {
        let zones = (0..ZONES).map(|_| Owned::new(Apart(Lock::new_in(0)))).collect();
        Zones { zones, lists: (0..LISTS).map(|_| AtomicU32::new(0)).collect() }
    }

    /// Pages that are out, those in the lists of CPUs apart.
    pub fn used(&self) -> u64 {
        let out: u64 = self.zones.iter().map(|zone| *zone.0.lock()).sum();
        out - self.lists.iter().map(|list| u64::from(list.load(Relaxed))).sum::<u64>()
    }

    /// Takes or returns pages of the caller's node under the zone's lock.
    fn change(&self, ns: u32, by: i64) {
        let node = Sim::hint(Hint::Node) % ZONES;
        let mut out = self.zones[node as usize].0.lock();
        charge(ns);
        *out = out.wrapping_add_signed(by);
    }

    /// Takes pages one by one, as faults do.
    pub fn take(&self, pages: u32) {
        for _ in 0..pages {
            let list = &self.lists[(Sim::hint(Hint::Cpu) % LISTS) as usize];
            if list.fetch_update(Relaxed, Relaxed, |free| free.checked_sub(1)).is_err() {
                self.change(costs::ZONE_BATCH, i64::from(BATCH));
                list.fetch_add(BATCH - 1, Relaxed);
            }
        }
    }

    /// Gives pages back.
    pub fn give_back(&self, pages: u32) {
        let list = &self.lists[(Sim::hint(Hint::Cpu) % LISTS) as usize];
        list.fetch_add(pages, Relaxed);
        while list.fetch_update(Relaxed, Relaxed, |free| (free >= HIGH).then(|| free - BATCH)).is_ok() {
            self.change(costs::ZONE_BATCH, -i64::from(BATCH));
        }
    }

    /// Takes a stack for a process: two pages at once, which come from the zone itself.
    pub fn take_stack(&self) {
        self.change(costs::ZONE_BLOCK, 2);
    }

    /// Gives a stack back.
    pub fn give_back_stack(&self) {
        self.change(costs::ZONE_BLOCK, -2);
    }
}

/// The list of all processes' top tables (`pgd_lock`).
pub struct TopTables<L: LockSet<Sim>>(Counted<L>);

impl<L: LockSet<Sim>> TopTables<L> {
    pub(super) fn new() -> Self {
        TopTables(Owned::new(Apart(Lock::new_in(0))))
    }

    /// Tables in the list.
    pub fn listed(&self) -> u64 {
        *self.0.0.lock()
    }

    pub(super) fn change(&self, by: i64) {
        let mut listed = self.0.0.lock();
        charge(costs::PGD_LIST);
        *listed = listed.wrapping_add_signed(by);
    }
}

/// The tables of a process: one lock stands for those of all its tables, as only the process itself takes them.
pub(super) struct Tables<L: LockSet<Sim>>(Counted<L>);

impl<L: LockSet<Sim>> Tables<L> {
    pub(super) fn new() -> Self {
        Tables(Owned::new(Apart(Lock::new_in(0))))
    }

    /// Makes, changes or removes entries this many times. The cost apart from the lock is in the caller's charge.
    pub(super) fn change(&self, times: u32) {
        for _ in 0..times {
            *self.0.0.lock() += 1;
        }
    }
}
