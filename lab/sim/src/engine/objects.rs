//! The heap and grace periods, as simulated threads and [`super::Simulation::build`] reach them.

use super::grace::{Grace, Retired};
use super::heap::Heap;
use super::{BUILDING, WHOLE, for_free};
use crate::platform::Sim;
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

/// Objects in the simulated memory. All of it is free of charge.
impl Sim {
    /// Returns memory for an object, on simulated lines according to the layout's alignment. Deterministic.
    ///
    /// # Panics
    /// When the simulated memory is full, and outside of simulated threads and [`crate::Simulation::build`].
    #[must_use]
    pub fn allocate(layout: Layout) -> NonNull<u8> {
        let at = with_cpu(|memory, cpu| memory.heap.allocate(layout, cpu));
        at.expect("only a simulated thread, or what builds a simulation, can allocate")
    }

    /// Gives memory back, with its lines. Does nothing where no simulation runs or is being built.
    ///
    /// # Safety
    /// `at` comes from [`Sim::allocate`] with this layout in this simulation, and is not used any more.
    pub unsafe fn free(at: NonNull<u8>, layout: Layout) {
        let engine = WHOLE.get();
        if !engine.is_null() {
            let start = at.addr().get();
            // SAFETY: as in `with`.
            unsafe { &mut *engine }.finish_stores_to(start..start + layout.size());
        }
        with_cpu(|memory, cpu| memory.heap.free(at, layout, cpu));
    }

    /// Blocks that have been allocated and not freed.
    #[must_use]
    pub fn objects() -> usize {
        with(|memory, _| memory.heap.live()).unwrap_or(0)
    }

    /// Pins: while the pin lives, what others [retire](Sim::retire) from now on stays.
    pub fn pin() -> SimPin {
        SimPin { number: with(|memory, _| memory.grace.pin()) }
    }

    /// Does this once all pins of this moment are gone, on the thread that drops the last one: at no cost and without a
    /// switch, so it must not wait. Outside of simulations it is done at once.
    pub fn retire(what: impl FnOnce() + 'static) {
        let mut what: Option<Retired> = Some(Box::new(what));
        with_cpu(|memory, cpu| what.take().into_iter().for_each(|what| memory.grace.retire(cpu, what)));
        match what {
            Some(what) => what(), // no simulation, no other threads
            None => reclaim(),
        }
    }
}

/// A pin: while one lives, what others [retire](crate::Sim::retire) stays.
#[must_use = "it protects while it lives"]
pub struct SimPin {
    /// Outside of a simulation nothing is reclaimed.
    number: Option<u64>,
}

impl Drop for SimPin {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            with(|memory, _| memory.grace.unpin(number));
            reclaim();
        }
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
