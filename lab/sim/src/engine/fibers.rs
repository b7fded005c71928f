//! Threads as coroutines: each has a stack of its own, and a thread that suspends itself processes events until a
//! thread continues. Only where that is another one does it return to the main loop, which resumes the other.
//!
//! The owner of the simulation runs the main loop, in [`super::Simulation::run`]; it also stops the loop when there is
//! something for it to do ([`Stop`]).

use super::queue::What;
use super::stuck::StuckKind;
use super::{ENGINE, Engine, WHOLE};
use crate::spec::{NS, Ps};
use corosensei::stack::{Stack, StackPointer};
use corosensei::{Coroutine, Yielder};
use std::mem::ManuallyDrop;

/// What a thread does.
pub(super) type Body = Box<dyn FnOnce()>;

/// Why the owner continues.
pub(super) enum Stop {
    /// A thing that it wanted done at this time.
    Action(u32),
    /// No thread makes progress.
    Stuck(StuckKind),
    /// All threads have ended.
    Ended,
}

/// The owner, as the engine sees it.
pub(super) struct Owner {
    stop: Option<Stop>,
    /// The thread that the main loop resumes.
    next: Option<u32>,
    /// Threads that have not ended.
    left: usize,
    /// Events so far, but for those that never were in the queue.
    steps: u32,
    silence: Ps,
    starvation: Option<Ps>,
}

impl Owner {
    pub(super) fn new(threads: usize, silence_ns: u64, starvation_ns: Option<u64>) -> Owner {
        Owner {
            stop: None,
            next: None,
            left: threads,
            steps: 0,
            silence: silence_ns.saturating_mul(NS),
            starvation: starvation_ns.map(|ns| ns.saturating_mul(NS)),
        }
    }
}

/// A part of the simulation's memory that is a thread's stack.
pub(super) struct StackPart {
    base: StackPointer,
    limit: StackPointer,
}

impl StackPart {
    /// Returns the stack between these addresses.
    ///
    /// # Safety
    /// The bytes between them are this stack's alone while a thread runs on it, and can be written.
    pub(super) unsafe fn new(limit: usize, base: usize) -> Self {
        let address = |address| StackPointer::new(address).expect("memory does not lie at address 0");
        StackPart { base: address(base), limit: address(limit) }
    }
}

// SAFETY: the bytes between base and limit are the stack's alone (contract of `new`), whose base is that of a page.
unsafe impl Stack for StackPart {
    fn base(&self) -> StackPointer {
        self.base
    }

    fn limit(&self) -> StackPointer {
        self.limit
    }
}

/// A thread. One that has not ended is abandoned with its stack: its values are never dropped.
pub(super) type Fiber = ManuallyDrop<Coroutine<(), (), (), StackPart>>;

/// How a thread suspends itself.
pub(super) type Suspender = Yielder<(), ()>;

/// Returns a thread that has not begun.
pub(super) fn fiber(number: usize, stack: StackPart, body: Body) -> Fiber {
    ManuallyDrop::new(Coroutine::with_stack(stack, move |yielder, ()| {
        super::with(|e| e.threads[number].suspender = yielder);
        body();
        super::with(|e| e.owner.next = e.ended());
    }))
}

/// Suspends the running thread until it is resumed.
#[inline(never)]
pub(crate) fn suspend() {
    let engine = ENGINE.get();
    // SAFETY: set while a thread runs, which is what calls this; the caller no longer accesses the engine.
    let looked = unsafe { &mut *engine };
    let me = looked.current;
    let next = looked.next_to_run();
    if next != Some(me) {
        looked.owner.next = next;
        let suspender = looked.threads[me as usize].suspender;
        // SAFETY: the coroutine's own, which set it as it began; this runs on its stack.
        unsafe { &*suspender }.suspend(());
    }
}

impl Engine {
    /// Runs threads until the owner has something to do. Until then it must not access the engine, under any name.
    pub(super) fn run_until_stop(&mut self, fibers: &mut [Fiber]) -> Stop {
        /// From its drop on no thread runs.
        struct Inside;
        impl Drop for Inside {
            fn drop(&mut self) {
                ENGINE.set(std::ptr::null_mut());
                WHOLE.set(std::ptr::null_mut());
            }
        }
        let mut next = if self.owner.left == 0 { self.stop(Stop::Ended) } else { self.next_to_run() };
        let engine: *mut Engine = self;
        let inside = Inside;
        ENGINE.set(engine);
        WHOLE.set(engine);
        while let Some(thread) = next {
            fibers[thread as usize].resume(());
            // SAFETY: no thread runs, and `self` is not used until the last one has returned.
            next = unsafe { (*engine).owner.next.take() };
        }
        drop(inside);
        self.owner.stop.take().expect("the owner goes on for a reason")
    }

    /// Processes events until a thread continues. `None`: the owner has something to do first.
    #[inline]
    fn next_to_run(&mut self) -> Option<u32> {
        loop {
            let Some((time, what)) = self.queue.pop() else { return self.stop(Stop::Stuck(StuckKind::Deadlock)) };
            self.now = time;
            self.owner.steps = self.owner.steps.wrapping_add(1);
            if self.owner.steps.is_multiple_of(1024) || time >= self.queue.horizon() {
                if let Some(kind) = self.watchdog() {
                    return self.stop(Stop::Stuck(kind));
                }
                self.queue.set_horizon(time.saturating_add(self.owner.silence.max(1)));
            }
            let thread = match what {
                What::Resume { cpu, generation } => self.resumed(cpu, generation),
                What::Arrive { cpu } => self.arrive(cpu),
                What::StoreArrives { cpu, number } => self.store_arrives(cpu, number),
                What::StoreDone { cpu, number } => self.store_done(cpu, number),
                What::Refill { line } => self.refill(line),
                What::Started { cpu } => self.started(cpu),
                What::Dispatch { cpu } => {
                    self.dispatch(cpu);
                    None
                }
                What::Slice { cpu, generation } => {
                    self.slice_over(cpu, generation);
                    None
                }
                What::Alarm { thread, generation } => {
                    self.alarm(thread, generation);
                    None
                }
                What::Action { index } => return self.stop(Stop::Action(index)),
            };
            if thread.is_some() {
                return thread;
            }
        }
    }

    #[cold]
    fn stop(&mut self, stop: Stop) -> Option<u32> {
        self.owner.stop = Some(stop);
        None
    }

    /// Ends the running thread; returns the thread that continues.
    #[cold]
    fn ended(&mut self) -> Option<u32> {
        self.end_thread();
        self.owner.left -= 1;
        if self.owner.left == 0 { self.stop(Stop::Ended) } else { self.next_to_run() }
    }

    /// Returns whether the run is stuck, or one thread starves.
    #[cold]
    fn watchdog(&self) -> Option<StuckKind> {
        if self.now > self.last_progress.saturating_add(self.owner.silence) {
            return Some(StuckKind::Livelock);
        }
        let bound = self.owner.starvation?;
        let (_, since) = self.longest_wait()?;
        (self.now > since.saturating_add(bound)).then_some(StuckKind::Starvation)
    }
}
