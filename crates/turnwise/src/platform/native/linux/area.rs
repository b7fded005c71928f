//! A thread's area, published for others to read: it vanishes with its thread.
//!
//! This file uses nothing but words, from the module around it: `proof/model` includes it, and checks it.

use super::{IntWord, Platform, Word};
use core::ptr;
use core::sync::atomic::Ordering::{Relaxed, Release, SeqCst};

/// The part of the kernel's `struct rseq` that we read.
#[repr(C)]
pub(crate) struct Rseq<P: Platform> {
    pub(crate) cpu_id_start: P::U32,
    pub(crate) cpu_id: P::U32,
    pub(crate) rseq_cs: P::U64,
    pub(crate) flags: P::U32,
    pub(crate) node_id: P::U32,
}

/// The limit of CPU numbers: from here up they mean "not registered".
const CPU_LIMIT: u32 = 1 << 31;

impl<P: Platform> Rseq<P> {
    /// Returns the CPU that the thread runs on or last ran on, if the area has it.
    #[inline]
    pub(crate) fn cpu(&self) -> Option<u32> {
        Some(self.cpu_id.load(Relaxed)).filter(|cpu| *cpu < CPU_LIMIT)
    }
}

/// The published pointer to a thread's area.
pub(crate) struct Area<P: Platform> {
    pub(crate) area: P::Ptr<Rseq<P>>,
    pub(crate) observers: P::U32,
    /// The process of the thread, and of its observers.
    pub(crate) generation: P::U32,
}

impl<P: Platform> Area<P> {
    /// Publishes the calling thread's area.
    pub(crate) fn publish(&self, area: *mut Rseq<P>) {
        // The area is null until then: an inherited one is not mistaken for ours.
        self.generation.store(P::generation(), Relaxed);
        // ORDERING on_cpu.area: Release pairs with the SeqCst load in `cpu`.
        self.area.store(area, Release);
    }

    /// Stops access to the area from now on.
    pub(crate) fn withdraw(&self) {
        // ORDERING on_cpu.leave: SeqCst store, then SeqCst load in `is_observed`; in `cpu` SeqCst add, then SeqCst
        // load. One of the two sees the other: either we wait for the observer, or it finds null.
        self.area.store(ptr::null_mut(), SeqCst);
    }

    /// Returns whether a thread may still read the area, though it was withdrawn.
    pub(crate) fn is_observed(&self) -> bool {
        // ORDERING on_cpu.leave: SeqCst load after the SeqCst store in `withdraw`, as described there.
        self.observers.load(SeqCst) != 0 && self.is_of_this_process()
    }

    fn is_of_this_process(&self) -> bool {
        self.generation.load(Relaxed) == P::generation()
    }

    /// Returns the CPU that the thread runs on or last ran on.
    pub(crate) fn cpu(&self) -> Option<u32> {
        if !self.is_of_this_process() {
            return None;
        }
        // ORDERING on_cpu.leave: SeqCst add before the SeqCst load of the area, as described in `withdraw`.
        self.observers.fetch_add(1, SeqCst);
        let area = self.area.load(SeqCst);
        // SAFETY: a thread withdraws the pointer and waits for observers like us before its memory goes (`leave`).
        let cpu = unsafe { area.as_ref() }.and_then(Rseq::cpu);
        // ORDERING on_cpu.leave: Release: our read comes before the exiting thread's load of 0.
        self.observers.fetch_sub(1, Release);
        cpu
    }
}
