//! Tests of the state functions.

use super::{COUNT, FULL, GENERATION, HANDOFF, PHASE, READERS, UPGRADABLE, WRITER, WRITERS};
use super::{STAMP, released};
use crate::platform::Bare;

#[test]
fn the_bits_are_disjoint_and_complete() {
    let flags = [PHASE, UPGRADABLE, WRITER, HANDOFF, READERS, WRITERS];
    assert_eq!(flags.iter().fold(COUNT ^ GENERATION, |all, flag| all ^ flag), u32::MAX);
    assert_eq!(FULL << 1, COUNT + 1);
}

#[test]
fn a_release_lets_all_in_or_only_the_handoff_waiter() {
    for in_phase in [false, true] {
        assert_eq!(released(WRITER | READERS | WRITERS | 2, in_phase), 2);
        assert_eq!(released(UPGRADABLE | WRITER | WRITERS | 3, in_phase), 3);
        assert_eq!(released(WRITER | HANDOFF | READERS | WRITERS, in_phase), HANDOFF | READERS | WRITERS);
        assert_eq!(released(WRITER | PHASE | HANDOFF | READERS | WRITERS, in_phase), HANDOFF | READERS | WRITERS);
    }
    assert_eq!(released(WRITER | PHASE | READERS | WRITERS | 1, false), 1);
    assert_eq!(released(WRITER | PHASE | READERS | WRITERS | 1, true), PHASE | READERS | WRITERS | 1);
}

#[test]
fn flags_keep_their_generation_and_take_it_along() {
    let inherited = WRITERS | GENERATION | 5;
    assert_eq!(STAMP.with::<Bare>(inherited, READERS), READERS | inherited);
    assert_eq!(STAMP.with::<Bare>(5, WRITERS), WRITERS | 5);
    assert_eq!(STAMP.without(inherited, READERS), inherited);
    assert_eq!(STAMP.without(inherited, WRITERS), 5);
    assert_eq!(released(HANDOFF | inherited | WRITER, false), HANDOFF | inherited);
    assert_eq!(released(inherited | WRITER, false), 5);
}
