//! Locks taken in both orders.

use super::sites::Sites;
use crate::model::Inversion;
use std::collections::{BTreeMap, BTreeSet};
use turnwise_recording::Op;
use turnwise_recording::reader::Recording;

/// Taking one lock (number, site) while holding another, both for reading or not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Order {
    held_site: u64,
    acquired_site: u64,
    thread: u32,
}

/// Returns all pairs in which two different threads could meet.
pub(super) fn inversions(recording: &Recording, sites: &Sites) -> Vec<Inversion> {
    let mut orders: BTreeMap<(u32, u32), BTreeSet<Order>> = BTreeMap::new();
    for edge in recording.edges.iter().filter(|edge| edge.seen != 0) {
        let entry = |place| recording.entry_at(place).map(|index| &recording.entries[index]);
        let (Some(held), Some(acquired)) = (entry(edge.held), entry(edge.acquired)) else { continue };
        if held.lock != acquired.lock {
            let order = Order { held_site: held.site, acquired_site: acquired.site, thread: edge.thread };
            orders.entry((held.lock, acquired.lock)).or_default().insert(order);
        }
    }
    let mut found = Vec::new();
    for ((first, second), one_way) in orders.range(..).filter(|((first, second), _)| first < second) {
        let Some(other_way) = orders.get(&(*second, *first)) else { continue };
        let pair = one_way.iter().find_map(|one| Some((one, other_way.iter().find(|other| may_deadlock(one, other))?)));
        let Some((one, other)) = pair else { continue };
        let (Some(a), Some(b)) = (sites.lock_id(*first), sites.lock_id(*second)) else { continue };
        let b_under_a = sites.id((*second, one.acquired_site));
        let a_under_b = sites.id((*first, other.acquired_site));
        if let (Some(b_under_a), Some(a_under_b)) = (b_under_a, a_under_b) {
            found.push(Inversion { a, b, b_under_a, a_under_b });
        }
    }
    found.sort_by_key(|inversion| (inversion.a, inversion.b));
    found
}

/// Returns whether two threads that do this at the same time could wait for each other forever.
fn may_deadlock(one: &Order, other: &Order) -> bool {
    let reads = |site: u64| site >> 56 == Op::Read as u64;
    let conflict = |acquired: u64, held: u64| !(reads(acquired) && reads(held));
    one.thread != other.thread
        && conflict(one.acquired_site, other.held_site)
        && conflict(other.acquired_site, one.held_site)
}
