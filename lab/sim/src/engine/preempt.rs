//! Sections in which a thread keeps its CPU, as a kernel's code does with preemption or interrupts off.
//!
//! - Such sections exist only in a kernel (`on_cpu = "exact"`): elsewhere a program runs, which cannot have them.
//! - A call into a kernel that does not preempt itself (`CONFIG_PREEMPT_NONE`) is one, too, except that a thread that
//!   sleeps inside yields the CPU. Sleeping and waking others up needs no system call there.
//! - They nest. A thread that wants the CPU meanwhile, at the end of a slice or woken, has it after the outermost one.
//! - A spinner that checks `need_resched` sees it at once; others spin on.
//! - A thread that sleeps or ends in a section is a bug of the lock or the workload, and is reported by name.

use super::cpu::Activity;
use super::queue::What;
use super::thread::{At, CallSite, SpinEnded};
use super::trace::Happened;
use super::{Engine, Flow};
use crate::spec::OnCpuView;
use std::fmt::Write;

impl Engine {
    fn is_kernel(&self) -> bool {
        self.machine.system.on_cpu == OnCpuView::Exact
    }

    /// Begins a section of the running thread.
    pub(crate) fn preempt_off(&mut self, at: CallSite) {
        if self.is_kernel() {
            let sections = &mut self.thread().sections;
            sections.depth += 1;
            if sections.depth == 1 {
                sections.since = Some(at);
            }
        }
    }

    /// Ends a section of the running thread; its CPU goes to a thread that wanted it meanwhile, if there is one.
    pub(crate) fn preempt_on(&mut self, at: CallSite) -> Flow {
        if !self.is_kernel() {
            return Flow::On;
        }
        let thread = self.current;
        let depth = &mut self.thread().sections.depth;
        assert!(*depth > 0, "thread {thread} turns preemption on at {at}, and has not turned it off");
        *depth -= 1;
        self.section_over()
    }

    /// Notes that the running thread calls the kernel.
    pub(crate) fn enter_kernel(&mut self) {
        if self.is_kernel() {
            self.thread().sections.calls += 1;
        }
    }

    /// Notes that it is back.
    pub(crate) fn leave_kernel(&mut self) -> Flow {
        if !self.is_kernel() {
            return Flow::On;
        }
        self.thread().sections.calls -= 1;
        self.section_over()
    }

    /// Returns whether the running thread is in the kernel, and so needs no system call.
    pub(crate) fn in_kernel(&self) -> bool {
        self.threads[self.current as usize].sections.calls > 0
    }

    /// Yields the CPU to a thread that wanted it meanwhile, if that was the outermost section.
    fn section_over(&mut self) -> Flow {
        if self.thread().sections.any() || !std::mem::take(&mut self.cpu().resched) || !self.cpu().has_ready() {
            return Flow::On;
        }
        self.counts.involuntary += 1;
        self.leave(self.current_cpu, At::Ready, Happened::Preempted);
        Flow::Suspend
    }

    /// Returns whether a thread is to have the CPU of the running one and waits for it; `None` outside of kernels.
    pub(crate) fn need_resched(&mut self) -> Option<bool> {
        self.is_kernel().then(|| self.cpu().resched && self.cpu().has_ready())
    }

    /// Returns whether the thread of this CPU is in a section.
    pub(super) fn keeps_cpu(&self, cpu: u32) -> bool {
        self.cpus[cpu as usize].thread.is_some_and(|thread| self.threads[thread as usize].sections.any())
    }

    /// Makes the thread of this CPU, which is in a section, leave at its end. A spinner that checks for this sees it.
    pub(super) fn preempt_pends(&mut self, cpu: u32) {
        let c = &mut self.cpus[cpu as usize];
        c.resched = true;
        let looks = |thread: u32| self.threads[thread as usize].watch.as_ref().is_some_and(|watch| watch.need_resched);
        if c.activity == Activity::Spin && c.thread.is_some_and(looks) {
            self.settle(cpu);
            self.end_spin(cpu, SpinEnded::Deadline);
            let c = &mut self.cpus[cpu as usize];
            c.activity = Activity::Operation;
            let generation = c.generation;
            self.queue.push(self.now, What::Resume { cpu, generation });
        }
    }

    /// Returns whether the running thread has preemption off, and so may not leave its CPU voluntarily.
    pub(super) fn has_preemption_off(&self) -> bool {
        self.threads[self.current as usize].sections.depth > 0
    }

    /// Checks that the running thread may leave its CPU voluntarily.
    pub(super) fn assert_may_leave(&self, does: &str, at: Option<CallSite>) {
        let sections = &self.threads[self.current as usize].sections;
        if sections.depth > 0 {
            let mut text = format!("thread {} {does}", self.current);
            at.into_iter().for_each(|at| _ = write!(text, " at {}:{}", at.file(), at.line()));
            sections.describe(&mut text);
            panic!("{text}");
        }
    }
}
