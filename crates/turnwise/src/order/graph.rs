//! The classes and the orders in which they were acquired: one graph for the program.

use super::report::{SourceLocation, Step};
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;
use std::collections::{HashMap, HashSet};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::vec::Vec;

/// A lock's class: where it was created, and the number of that place once it is known.
pub(super) struct ClassId {
    /// Where the lock was created; `None` in zeroed memory.
    made: Option<SourceLocation>,
    /// The number of the class; 0 until it is looked up.
    number: AtomicU32,
}

impl ClassId {
    pub(super) const fn new(made: SourceLocation) -> Self {
        ClassId { made: Some(made), number: AtomicU32::new(0) }
    }

    /// Returns the number of the class, from 1; 0 if it has none.
    pub(super) fn number(&self) -> u32 {
        match (self.number.load(Relaxed), self.made) {
            (0, Some(made)) => {
                let number = graph().number_of(made);
                self.number.store(number, Relaxed);
                number
            }
            (known, _) => known,
        }
    }
}

/// A class, and a level within it ([`super::nested`]).
pub(super) type Node = u32;

/// The number of low bits of a node that hold the level.
const LEVEL_BITS: u32 = 3;

pub(super) const LEVELS: u32 = 1 << LEVEL_BITS;

pub(super) fn node(class: u32, level: u32) -> Node {
    class << LEVEL_BITS | level
}

/// Returns whether a node has a class: for locks in zeroed memory only the address is known.
pub(super) fn is_known(node: Node) -> bool {
    node >= LEVELS
}

/// Where the locks of a node were created.
type Made = (&'static str, u32, u32);

#[derive(Default)]
pub(super) struct Graph {
    /// The numbers of the classes, keyed by place, since a place may have several `Location`s.
    numbers: HashMap<Made, u32>,
    places: Vec<SourceLocation>,
    /// For each held node the nodes that were acquired, and where both first happened.
    next: HashMap<Node, HashMap<Node, (SourceLocation, SourceLocation)>>,
    /// Pairs that have been reported.
    reported: HashSet<(Node, Node)>,
}

static GRAPH: LazyLock<Mutex<Graph>> = LazyLock::new(Mutex::default);

pub(super) fn graph() -> MutexGuard<'static, Graph> {
    GRAPH.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Graph {
    fn number_of(&mut self, made: SourceLocation) -> u32 {
        let key = (made.file(), made.line(), made.column());
        let places = &mut self.places;
        *self.numbers.entry(key).or_insert_with(|| {
            places.push(made);
            u32::try_from(places.len()).expect("fewer places than that in a program")
        })
    }

    pub(super) fn made(&self, node: Node) -> Option<SourceLocation> {
        self.places.get(((node >> LEVEL_BITS) as usize).checked_sub(1)?).copied()
    }

    fn step(&self, held: (Node, SourceLocation), next: (Node, SourceLocation)) -> Step {
        Step { held: self.made(held.0), held_at: held.1, next: self.made(next.0), next_at: next.1 }
    }

    /// Returns whether this pair is reported for the first time.
    pub(super) fn first_report(&mut self, held: Node, next: Node) -> bool {
        self.reported.insert((held, next))
    }

    /// Records that `next` is acquired while `held` is held; returns the cycle that this closes, if it closes one that
    /// has not been reported.
    pub(super) fn add(&mut self, held: (Node, SourceLocation), next: (Node, SourceLocation)) -> Option<Vec<Step>> {
        if self.next.get(&held.0).is_some_and(|after| after.contains_key(&next.0)) {
            return None;
        }
        let Some(back) = self.path(next.0, held.0) else {
            self.next.entry(held.0).or_default().insert(next.0, (held.1, next.1));
            return None;
        };
        let mut cycle = Vec::from([self.step(held, next)]);
        cycle.extend(back.windows(2).map(|pair| {
            let (held_at, next_at) = self.next[&pair[0]][&pair[1]];
            self.step((pair[0], held_at), (pair[1], next_at))
        }));
        self.first_report(held.0, next.0).then_some(cycle)
    }

    /// Finds the shortest path from one node to another.
    fn path(&self, from: Node, to: Node) -> Option<Vec<Node>> {
        let mut came_from = HashMap::from([(from, from)]);
        let mut border = Vec::from([from]);
        while !border.is_empty() && !came_from.contains_key(&to) {
            let mut further = Vec::new();
            for node in border {
                for &next in self.next.get(&node).into_iter().flat_map(HashMap::keys) {
                    came_from.entry(next).or_insert_with(|| {
                        further.push(next);
                        node
                    });
                }
            }
            border = further;
        }
        let mut path = Vec::from([to]);
        while *path.last()? != from {
            path.push(*came_from.get(path.last()?)?);
        }
        path.reverse();
        Some(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::panic::Location;

    #[test]
    fn a_cycle_is_found_by_its_shortest_way_and_reported_once() {
        let mut graph = Graph::default();
        let here = Location::caller();
        let lines = [1, 2, 3, 4].map(|class| node(class, 0));
        graph.places = [here; 4].to_vec();
        for (held, next) in [(0, 1), (1, 2), (2, 3), (0, 2)] {
            assert_eq!(graph.add((lines[held], here), (lines[next], here)), None);
        }
        assert_eq!(graph.path(lines[0], lines[3]), Some([lines[0], lines[2], lines[3]].to_vec()));
        assert_eq!(graph.path(lines[3], lines[0]), None);
        assert_eq!(graph.add((lines[3], here), (lines[0], here)).map(|cycle| cycle.len()), Some(3));
        assert_eq!(graph.add((lines[3], here), (lines[0], here)), None);
        assert_eq!(graph.path(lines[3], lines[0]), None, "an inversion is no order");
    }
}
