//! The queue of optimistic spinners.

use super::Section;
use crate::check::Lock;
use crate::explicit::Explicit;
use crate::explicit::check::{Check, Machine, Size, Stage};
use crate::platform::saw;
use turnwise::osq::Osq;
use turnwise::platform::Platform;

/// Nobody leaves before it is first.
const PATIENT: Machine = Machine { spins_end: false, ..Machine::SPINS };
/// Whoever waits may leave, since the thread before it is off its CPU.
const HASTY: Machine = Machine { owners_leave: true, ..Machine::SPINS };

const fn check(name: &'static str, machine: Machine, sizes: (Size, Size), body: fn(&Stage, Size)) -> Check {
    let shows: &[&str] = if machine.owners_leave { &["first", "left"] } else { &["first"] };
    Check { name, lock: Lock::Osq, machine, sizes, shows, body }
}

pub(super) const CHECKS: &[Check] = &[
    check("osq: all wait", PATIENT, (Size::of(3, 2), Size::of(4, 2)), all),
    check("osq: two may leave", HASTY, (Size::of(2, 3), Size::of(2, 8)), all),
    check("osq: three may leave", HASTY, (Size::of(2, 2), Size::of(3, 2)), all),
    check("osq: four may leave", HASTY, (Size::of(3, 1), Size::of(4, 1)), all),
];

struct Queue {
    osq: Osq<Explicit>,
    section: Section,
}

fn all(stage: &Stage, size: Size) {
    let queue = stage.keep(Queue { osq: Osq::new_in(), section: Section::new() });
    for _ in 0..size.threads {
        stage.spawn(move || {
            for _ in 0..size.rounds {
                let me = Explicit::me().expect("the threads of this check have slots");
                if queue.osq.lock(me, None).is_err() {
                    saw("left");
                    continue;
                }
                queue.section.alone();
                saw("first");
                queue.section.write(-1);
                queue.osq.unlock(me);
            }
        });
    }
    stage.at_end(move || assert!(queue.osq.is_empty(), "the queue is not empty when everybody has left"));
}
