//! Tests of the state functions.

use super::{COUNT, FULL, GENERATION, HANDOFF, READERS, UPGRADABLE, WRITER, WRITERS};
use super::{STAMP, released};
use crate::platform::Bare;

#[test]
fn the_bits_are_disjoint_and_complete() {
    let flags = [UPGRADABLE, WRITER, HANDOFF, READERS, WRITERS];
    assert_eq!(flags.iter().fold(COUNT ^ GENERATION, |all, flag| all ^ flag), u32::MAX);
    assert_eq!(FULL << 1, COUNT + 1);
}

#[test]
fn a_release_lets_all_in_or_only_the_handoff_waiter() {
    assert_eq!(released(WRITER | READERS | WRITERS | 2), 2);
    assert_eq!(released(UPGRADABLE | WRITER | WRITERS | 3), 3);
    assert_eq!(released(WRITER | HANDOFF | READERS | WRITERS), HANDOFF | READERS | WRITERS);
}

#[test]
fn flags_keep_their_generation_and_take_it_along() {
    let inherited = WRITERS | GENERATION | 5;
    assert_eq!(STAMP.with::<Bare>(inherited, READERS), READERS | inherited);
    assert_eq!(STAMP.with::<Bare>(5, WRITERS), WRITERS | 5);
    assert_eq!(STAMP.without(inherited, READERS), inherited);
    assert_eq!(STAMP.without(inherited, WRITERS), 5);
    assert_eq!(released(HANDOFF | inherited | WRITER), HANDOFF | inherited);
    assert_eq!(released(inherited | WRITER), 5);
}
