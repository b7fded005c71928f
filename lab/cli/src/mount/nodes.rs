//! The inodes that the kernel knows, by number.
//!
//! The kernel counts how often it was given an inode, and returns that count when it forgets it. Until then it may ask
//! about the inode by its number alone, even if its last name is gone.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use turnwise::Mutex;

/// Tables, so that threads seldom meet.
const SHARDS: usize = 64;

/// Nodes by inode number.
pub(super) struct Nodes<N> {
    shards: [Mutex<HashMap<u64, Known<N>>>; SHARDS],
}

struct Known<N> {
    node: N,
    lookups: u64,
}

impl<N: Clone> Nodes<N> {
    pub(super) fn new() -> Self {
        Nodes { shards: std::array::from_fn(|_| Mutex::new(HashMap::new())) }
    }

    fn shard(&self, number: u64) -> &Mutex<HashMap<u64, Known<N>>> {
        &self.shards[number as usize % SHARDS]
    }

    /// Returns the node of this number, if the kernel knows it.
    pub(super) fn get(&self, number: u64) -> Option<N> {
        self.shard(number).lock().get(&number).map(|known| known.node.clone())
    }

    /// Notes that the kernel will be given it once more. A node that it knows already, by another name, stays as it is.
    pub(super) fn reported(&self, number: u64, node: N) {
        let spare = match self.shard(number).lock().entry(number) {
            Entry::Occupied(mut known) => {
                known.get_mut().lookups += 1;
                Some(node)
            }
            Entry::Vacant(place) => {
                place.insert(Known { node, lookups: 1 });
                None
            }
        };
        // Not under the shard's lock: the last reference may take others.
        drop(spare);
    }

    /// Notes that the kernel forgets that it was given it `lookups` times.
    pub(super) fn forget(&self, number: u64, lookups: u64) {
        let mut shard = self.shard(number).lock();
        let Entry::Occupied(mut known) = shard.entry(number) else { return };
        known.get_mut().lookups = known.get().lookups.saturating_sub(lookups);
        let gone = (known.get().lookups == 0).then(|| known.remove());
        drop(shard);
        drop(gone);
    }

    /// Returns how many there are.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_node_stays_until_every_time_is_forgotten() {
        let (nodes, node) = (Nodes::new(), Arc::new(()));
        (0..3).for_each(|_| nodes.reported(5, Arc::clone(&node)));
        nodes.forget(5, 2);
        assert!(nodes.get(5).is_some());
        nodes.forget(5, 1);
        assert!(nodes.get(5).is_none());
        nodes.forget(5, 1);
        assert_eq!((nodes.len(), Arc::strong_count(&node)), (0, 1));
    }
}
