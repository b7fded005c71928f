//! The heap and grace periods, as simulated threads and [`super::Simulation::build`] reach them.

use super::grace::{Grace, Retired};
use super::heap::Heap;
use super::{BUILDING, Engine, WHOLE, for_free};
use std::alloc::Layout;
use std::ptr::NonNull;

/// What a simulation has in addition to its threads: memory for objects.
pub(crate) struct Memory {
    pub(crate) heap: Heap,
    grace: Grace,
    /// The CPU on whose behalf retired objects are freed now.
    acts_for: Option<u32>,
}

impl Memory {
    pub(crate) fn new(heap: Heap) -> Memory {
        Memory { heap, grace: Grace::default(), acts_for: None }
    }

    /// Runs `f`, which may reach this memory: outside of every thread.
    pub(super) fn build<R>(&mut self, f: impl FnOnce() -> R) -> R {
        struct Reset;
        impl Drop for Reset {
            fn drop(&mut self) {
                BUILDING.set(std::ptr::null_mut());
            }
        }
        let (nobody, no_engine) = (BUILDING.replace(self).is_null(), WHOLE.get().is_null());
        let _reset = Reset;
        assert!(nobody && no_engine, "a simulation cannot be created inside another");
        f()
    }
}

/// Accesses the memory of the simulation that runs or is being built, and the engine if it runs; `None` outside.
fn with<R>(f: impl FnOnce(&mut Memory, Option<u32>) -> R) -> Option<R> {
    let engine = WHOLE.get();
    if !engine.is_null() {
        // SAFETY: set while a thread runs, whose code is all that runs on this thread of the host then; references made
        // here and in `engine::with` end before the next access.
        let engine = unsafe { &mut *engine };
        return Some(f(&mut engine.memory, Some(engine.current_cpu)));
    }
    // SAFETY: null, or set by `Memory::build` to the memory that it borrows; references made here end at once.
    unsafe { BUILDING.get().as_mut() }.map(|memory| f(memory, None))
}

fn with_cpu<R>(f: impl FnOnce(&mut Memory, u32) -> R) -> Option<R> {
    with(|memory, current| {
        let cpu = memory.acts_for.or(current).unwrap_or(0);
        f(memory, cpu)
    })
}

/// See [`crate::Sim::allocate`].
pub(crate) fn allocate(layout: Layout) -> Option<NonNull<u8>> {
    with_cpu(|memory, cpu| memory.heap.allocate(layout, cpu))
}

/// See [`crate::Sim::free`].
pub(crate) fn free(at: NonNull<u8>, layout: Layout) {
    let engine = WHOLE.get();
    if !engine.is_null() {
        let start = at.addr().get();
        // SAFETY: as in `with`.
        unsafe { &mut *engine }.finish_stores_to(start..start + layout.size());
    }
    with_cpu(|memory, cpu| memory.heap.free(at, layout, cpu));
}

/// See [`crate::Sim::objects`].
pub(crate) fn live() -> usize {
    with(|memory, _| memory.heap.live()).unwrap_or(0)
}

/// A pin: while one lives, what others [retire](crate::Sim::retire) stays.
#[must_use = "it protects while it lives"]
pub struct SimPin {
    /// Outside of a simulation nothing is reclaimed.
    number: Option<u64>,
}

impl SimPin {
    pub(crate) fn new() -> SimPin {
        SimPin { number: with(|memory, _| memory.grace.pin()) }
    }
}

impl Drop for SimPin {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            with(|memory, _| memory.grace.unpin(number));
            reclaim();
        }
    }
}

/// See [`crate::Sim::retire`].
pub(crate) fn retire(what: Retired) {
    let mut what = Some(what);
    with_cpu(|memory, cpu| what.take().into_iter().for_each(|what| memory.grace.retire(cpu, what)));
    match what {
        Some(what) => what(), // no simulation, no other threads
        None => reclaim(),
    }
}

/// Destroys what no thread can see any more, and what that retires in turn.
fn reclaim() {
    if with(|memory, _| memory.acts_for.is_some()) == Some(true) {
        return;
    }
    while let Some((cpu, what)) = with(|memory, _| memory.grace.due()).flatten() {
        with(|memory, _| memory.acts_for = Some(cpu));
        for_free(what);
        with(|memory, _| memory.acts_for = None);
    }
}

impl Engine {
    /// Blocks of the heap that have not been freed.
    pub(super) fn objects(&self) -> usize {
        self.memory.heap.live()
    }
}
