//! The threads' slots: taking one, giving it back, and looking at a thread that exits. Transcribed from
//! `crates/turnwise/src/platform/native`, where all is static and tied to the C library. `tests/transcriptions.rs`
//! compares the two.

use super::*;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use turnwise::platform::{IntWord, Pause};

pub(super) fn scene(call: &mut Call) -> Body {
    scenes! { call(stage, size): slots(), exits() }
}

const SLOTS: usize = 2;

struct Entry {
    next_free: ExplicitWord<u32>,
    /// It belongs to a thread.
    taken: Cell<bool>,
}

struct Slots {
    free: ExplicitWord<u64>,
    fresh: ExplicitWord<u32>,
    table: [Entry; SLOTS],
}

impl Slots {
    fn pop_free(&self) -> Option<u32> {
        let mut top = self.free.load(Acquire);
        while top as u32 != 0 {
            let index = top as u32 - 1;
            let next = u64::from(self.table[index as usize].next_free.load(Relaxed));
            let new = (top >> 32).wrapping_add(1) << 32 | next;
            match self.free.compare_exchange(top, new, Acquire, Acquire) {
                Ok(_) => return Some(index),
                Err(found) => top = found,
            }
        }
        let fresh = self.fresh.fetch_update(Relaxed, Relaxed, |n| (n < SLOTS as u32).then_some(n + 1));
        fresh.ok()
    }

    fn push_free(&self, index: u32) {
        let mut top = self.free.load(Relaxed);
        loop {
            self.table[index as usize].next_free.store(top as u32, Relaxed);
            let new = (top >> 32).wrapping_add(1) << 32 | u64::from(index + 1);
            match self.free.compare_exchange(top, new, Release, Relaxed) {
                Ok(_) => return,
                Err(found) => top = found,
            }
        }
    }
}

/// Each thread takes a slot and gives it back; there are fewer slots than threads.
fn slots(stage: &CheckSetup, size: Size) {
    let entry = || Entry { next_free: Word::new(0), taken: Cell::new(false) };
    let slots = stage.keep(Slots { free: Word::new(0), fresh: Word::new(0), table: [entry(), entry()] });
    stage.spawn_many(size.threads, size.rounds, move || {
        let Some(index) = slots.pop_free() else { return saw("none left") };
        let taken = &slots.table[index as usize].taken;
        assert!(!taken.replace(true), "slot {index} has two threads");
        saw_if(slots.fresh.peek() as usize == SLOTS, "taken again");
        taken.set(false);
        slots.push_free(index);
    });
    stage.at_end(move || {
        // One more than exist: a stack that has lost its end may form a cycle.
        let left = (0..=SLOTS).filter_map(|_| slots.pop_free()).count();
        assert_eq!(left, SLOTS, "slots are lost, or there twice");
    });
}

const CPU_LIMIT: u32 = 1 << 31;

/// The memory that an exiting thread takes along.
struct Rseq {
    cpu_id: ExplicitWord<u32>,
}

struct Area {
    area: ExplicitWord<*mut Rseq>,
    observers: ExplicitWord<u32>,
    generation: ExplicitWord<u32>,
}

fn generation() -> u32 {
    Explicit::generation()
}

impl Area {
    /// Leaves as the library's area does, which waits with more patience.
    fn leave(&self) {
        self.withdraw();
        while self.is_observed() {
            saw("waited");
            Explicit::pause(Pause::Relax);
        }
    }

    fn withdraw(&self) {
        self.area.store(ptr::null_mut(), SeqCst);
    }

    fn is_observed(&self) -> bool {
        self.observers.load(SeqCst) != 0 && self.is_of_this_process()
    }

    fn is_of_this_process(&self) -> bool {
        self.generation.load(Relaxed) == generation()
    }

    fn cpu(&self) -> Option<u32> {
        if !self.is_of_this_process() {
            return None;
        }
        self.observers.fetch_add(1, SeqCst);
        let area = self.area.load(SeqCst);
        let cpu = if area.is_null() {
            CPU_LIMIT
        } else {
            // SAFETY: memory of the check, which detects an access after its end.
            unsafe { (*area).cpu_id.load(Relaxed) }
        };
        self.observers.fetch_sub(1, Release);
        (cpu < CPU_LIMIT).then_some(cpu)
    }
}

/// The first thread publishes its memory, and exits; the others look at it.
fn exits(stage: &CheckSetup, size: Size) {
    let memory = stage.keep(Rseq { cpu_id: Word::new(7) });
    let area = stage.keep(Area { area: Word::new(ptr::null_mut()), observers: Word::new(0), generation: Word::new(0) });
    stage.spawn(move || {
        area.area.store(ptr::from_ref(memory).cast_mut(), Release);
        area.leave();
        bury(memory);
    });
    stage.spawn_many(size.threads - 1, size.rounds, move || {
        if let Some(cpu) = area.cpu() {
            assert_eq!(cpu, 7);
            saw("seen");
        }
    });
    stage.at_end(move || assert_eq!(area.observers.peek(), 0));
}
