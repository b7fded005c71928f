//! The threads' slots, as they ship: taking one, giving it back, and looking at a thread that exits.

use super::*;
use area::{Area, Rseq};
use free::FreeSlots;
use turnwise::platform::{IntWord, Pause};

#[path = "../../../../../crates/turnwise/src/platform/native/linux/area.rs"]
mod area;
#[path = "../../../../../crates/turnwise/src/platform/native/free.rs"]
mod free;

pub(super) fn scene(call: &mut Call) -> Body {
    scenes! { call(stage, size): slots(), exits() }
}

const SLOTS: usize = 2;

/// Each thread takes a slot and gives it back; there are fewer slots than threads.
fn slots(stage: &CheckSetup, size: Size) {
    let next = [Word::new(0), Word::new(0)];
    let free: &FreeSlots<Explicit, SLOTS> = stage.keep(FreeSlots { top: Word::new(0), fresh: Word::new(0), next });
    // By slot: whether it belongs to a thread.
    let taken = stage.keep([Cell::new(false), Cell::new(false)]);
    stage.spawn_many(size.threads, size.rounds, move || {
        let Some(index) = free.pop_free() else { return saw("none left") };
        let taken = &taken[index as usize];
        assert!(!taken.replace(true), "slot {index} has two threads");
        saw_if(free.fresh.peek() as usize == SLOTS, "taken again");
        taken.set(false);
        free.push_free(index);
    });
    stage.at_end(move || {
        // One more than exist: a stack that has lost its end may form a cycle.
        let left = (0..=SLOTS).filter_map(|_| free.pop_free()).count();
        assert_eq!(left, SLOTS, "slots are lost, or there twice");
    });
}

/// The first thread publishes its memory, and exits; the others look at it.
fn exits(stage: &CheckSetup, size: Size) {
    let memory: &Rseq<Explicit> = stage.keep(Rseq {
        cpu_id_start: Word::new(0),
        cpu_id: Word::new(7),
        rseq_cs: Word::new(0),
        flags: Word::new(0),
        node_id: Word::new(0),
    });
    let area = stage.keep(Area { area: Word::new(ptr::null_mut()), observers: Word::new(0), generation: Word::new(0) });
    stage.spawn(move || {
        area.publish(ptr::from_ref(memory).cast_mut());
        // As the library does, which waits with more patience.
        area.withdraw();
        while area.is_observed() {
            saw("waited");
            Explicit::pause(Pause::Relax);
        }
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
