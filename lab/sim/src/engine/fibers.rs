//! Threads as fibers: each has a stack of its own, and a thread that suspends itself processes events until a thread
//! continues, then switches directly to that thread's stack.
//!
//! The owner of the simulation has the stack on which it called [`super::Simulation::run`]. It continues when there is
//! something for it to do ([`Stop`]).

use super::queue::What;
use super::stuck::StuckKind;
use super::switch::{Suspended, prepare, switch};
use super::{ENGINE, Engine, WHOLE};
use crate::spec::{NS, Ps};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

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
    /// A thread panicked.
    Panicked(Box<dyn Any + Send>),
}

/// The owner, as the engine sees it.
pub(super) struct Owner {
    /// Where its stack continues.
    stack: Suspended,
    stop: Option<Stop>,
    /// The bodies of threads that have not begun.
    bodies: Vec<Option<Body>>,
    /// Threads that have not ended.
    left: usize,
    /// Events so far, but for those that never were in the queue.
    steps: u32,
    silence: Ps,
    starvation: Option<Ps>,
}

impl Owner {
    pub(super) fn new(bodies: Vec<Option<Body>>, silence_ns: u64, starvation_ns: Option<u64>) -> Owner {
        Owner {
            stack: 0,
            stop: None,
            left: bodies.len(),
            bodies,
            steps: 0,
            silence: silence_ns.saturating_mul(NS),
            starvation: starvation_ns.map(|ns| ns.saturating_mul(NS)),
        }
    }
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
        // SAFETY: as above; all looks have ended.
        unsafe { go(engine, Some(me), next) };
    }
}

/// Switches from one stack to another; `None` is the owner's.
///
/// # Safety
/// The caller runs on the first of them, and does not access the engine until it continues.
#[inline(always)]
unsafe fn go(engine: *mut Engine, from: Option<u32>, to: Option<u32>) {
    let stack = |of: Option<u32>| {
        // SAFETY: there is an engine, which no other code accesses (contract).
        let engine = unsafe { &mut *engine };
        match of {
            Some(thread) => &raw mut engine.threads[thread as usize].stack,
            None => &raw mut engine.owner.stack,
        }
    };
    let (from, to) = (stack(from), stack(to));
    // SAFETY: the other stack is prepared or was left here, and each continues only if it does not run: a CPU resumes
    // its thread once per operation. What the stacks share is reached through the engine, which is not in use now.
    unsafe { switch(from, *to) };
}

/// Runs a thread, at the beginning of its stack.
extern "C" fn run_thread(number: usize) -> ! {
    let body = super::with(|e| e.owner.bodies[number].take());
    let result = catch_unwind(AssertUnwindSafe(|| body.into_iter().for_each(|body| body())));
    let engine = WHOLE.get();
    // SAFETY: as in `suspend`.
    let looked = unsafe { &mut *engine };
    // What happens next is beyond that function, but a panic must not leave this one.
    let next = result.and_then(|()| catch_unwind(AssertUnwindSafe(|| looked.ended())));
    let next = next.unwrap_or_else(|panic| looked.stop(Stop::Panicked(panic)));
    // SAFETY: as in `suspend`.
    unsafe { go(engine, Some(number as u32), next) };
    unreachable!("thread {number} has ended")
}

impl Engine {
    /// Gives threads their stacks, whose ends `top` returns.
    pub(super) fn prepare_stacks(&mut self, top: impl Fn(usize) -> usize) {
        for (number, thread) in self.threads.iter_mut().enumerate() {
            // SAFETY: the stack of this thread alone, whose bytes can be written but for the lowest page.
            thread.stack = unsafe { prepare(top(number), run_thread, number) };
        }
    }

    /// Processes events until the owner has something to do. Until then it must not access the engine, under any name.
    pub(super) fn run_until_stop(&mut self) -> Stop {
        /// From its drop on no thread runs.
        struct Inside;
        impl Drop for Inside {
            fn drop(&mut self) {
                ENGINE.set(std::ptr::null_mut());
                WHOLE.set(std::ptr::null_mut());
            }
        }
        let next = if self.owner.left == 0 { self.stop(Stop::Ended) } else { self.next_to_run() };
        if let Some(thread) = next {
            let engine: *mut Engine = self;
            let _inside = Inside;
            ENGINE.set(engine);
            WHOLE.set(engine);
            // SAFETY: this is the owner's stack, and `self` is not used before it continues.
            unsafe { go(engine, None, Some(thread)) };
        }
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
            let thread = match what.what() {
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
