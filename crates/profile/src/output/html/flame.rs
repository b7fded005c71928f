//! The flame graph's tree.

use super::super::{names, stacks};
use super::strings::Strings;
use crate::figures::count;
use crate::model::{FrameId, LockId, Profile};
use serde::Serialize;
use std::collections::HashMap;

/// The maximum number of boxes; no window shows more at once.
const MOST_NODES: usize = 12_000;

/// A box: a frame under the frames that called it, or finally the lock.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Name {
    Frame(FrameId),
    Lock(LockId),
}

struct Node {
    parent: usize,
    name: Name,
    wait_ns: u64,
    waits: u64,
}

/// The nodes by columns; a node comes after its parent, which is an index into the same columns or -1.
#[derive(Serialize, Default)]
pub(super) struct Flame {
    parents: Vec<i64>,
    names: Vec<u32>,
    modules: Vec<u32>,
    locks: Vec<bool>,
    inlined: Vec<bool>,
    wait_ns: Vec<u64>,
    waits: Vec<u64>,
}

impl Flame {
    pub(super) fn of(profile: &Profile, strings: &mut Strings, omitted: &mut Vec<String>) -> Flame {
        let nodes = tree(profile);
        let mut order: Vec<usize> = (0..nodes.len()).collect();
        // A parent has at least its children's time, and preceded them: it stays before them.
        order.sort_by_key(|&node| std::cmp::Reverse(nodes[node].wait_ns));
        if order.len() > MOST_NODES {
            let number = count((order.len() - MOST_NODES) as u64);
            omitted.push(format!("The flame graph leaves out its {number} narrowest boxes."));
            order.truncate(MOST_NODES);
        }
        let mut flame = Flame::default();
        let mut places = HashMap::from([(ROOT, -1)]);
        for (place, &node) in order.iter().enumerate() {
            places.insert(node, place as i64);
            flame.add(profile, strings, &nodes[node], places[&nodes[node].parent]);
        }
        flame
    }

    fn add(&mut self, profile: &Profile, strings: &mut Strings, node: &Node, parent: i64) {
        let (name, module, inlined) = match node.name {
            Name::Frame(frame) => {
                let frame = &profile.frames[frame as usize];
                (names::frame(frame), frame.module.as_str(), frame.inlined)
            }
            Name::Lock(lock) => (names::cut(&profile.locks[lock as usize].name), "", false),
        };
        self.parents.push(parent);
        self.names.push(strings.number(&name));
        self.modules.push(strings.number(names::base(module)));
        self.locks.push(matches!(node.name, Name::Lock(_)));
        self.inlined.push(inlined);
        self.wait_ns.push(node.wait_ns);
        self.waits.push(node.waits);
    }
}

const ROOT: usize = usize::MAX;

fn tree(profile: &Profile) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    let mut known: HashMap<(usize, Name), usize> = HashMap::new();
    for wait in stacks::waits(profile) {
        let lock = Name::Lock(profile.sites[wait.site as usize].lock);
        let mut parent = ROOT;
        for name in wait.frames.iter().rev().map(|&frame| Name::Frame(frame)).chain([lock]) {
            let node = *known.entry((parent, name)).or_insert_with(|| {
                nodes.push(Node { parent, name, wait_ns: 0, waits: 0 });
                nodes.len() - 1
            });
            nodes[node].wait_ns += wait.wait_ns;
            nodes[node].waits += wait.waits;
            parent = node;
        }
    }
    nodes
}
