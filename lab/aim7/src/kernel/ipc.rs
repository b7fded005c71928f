//! System V semaphores and shared memory: tables that all processes share. Each is under a sleeping readers-writer lock
//! (`rw_mutex` of `struct ipc_ids`), which is taken for writing to make or remove an entry (`ipcget`, `semctl_down` and
//! the like in Linux 3.7).

use super::{Owned, charge, costs};
use std::collections::BTreeMap;
use turnwise::Lock;
use turnwise_sim::Sim;
use turnwise_vfs::LockSet;
use turnwise_vfs::locks::Shared;

/// Both tables.
pub struct Ipc<L: LockSet<Sim>> {
    /// Of semaphores.
    pub semaphores: Table<L>,
    /// Of segments of shared memory.
    pub segments: Table<L>,
}

impl<L: LockSet<Sim>> Ipc<L> {
    pub(super) fn new() -> Self {
        Ipc { semaphores: Table::new(), segments: Table::new() }
    }
}

/// What processes find by a key. A line of its own.
#[repr(align(128))]
pub struct Table<L: LockSet<Sim>> {
    keys: Shared<L::RwSem, BTreeMap<u32, u64>>,
}

impl<L: LockSet<Sim>> Table<L> {
    fn new() -> Self {
        Table { keys: Shared::new_in(BTreeMap::new()) }
    }

    /// Makes an entry; returns whether the key was free.
    pub fn make(&self, key: u32) -> bool {
        let mut keys = self.keys.write();
        charge(costs::IPC_TABLE);
        let identifier = keys.last_key_value().map_or(0, |(_, last)| last + 1);
        keys.insert(key, identifier).is_none()
    }

    /// Removes an entry; returns whether it was there.
    pub fn remove(&self, key: u32) -> bool {
        let mut keys = self.keys.write();
        charge(costs::IPC_TABLE);
        keys.remove(&key).is_some()
    }

    /// Returns the number of entries.
    pub fn entries(&self) -> usize {
        self.keys.read().len()
    }
}

/// A semaphore that is in the table of semaphores, with the segment of the same key.
pub struct Semaphore<L: LockSet<Sim>> {
    key: u32,
    value: Owned<Lock<L::Spin, i64>>,
}

impl<L: LockSet<Sim>> Semaphore<L> {
    /// Makes both; `None`: the key is taken.
    #[must_use]
    pub fn new(ipc: &Ipc<L>, key: u32) -> Option<Self> {
        if !ipc.segments.make(key) {
            return None;
        }
        ipc.semaphores.make(key).then(|| Semaphore { key, value: Owned::new(Lock::new_in(0)) })
    }

    /// Adds `by` to the semaphore's value.
    pub fn operate(&self, by: i64) {
        let mut value = self.value.lock();
        charge(costs::SEMAPHORE);
        *value += by;
    }

    /// Removes both.
    pub fn remove(self, ipc: &Ipc<L>) {
        ipc.semaphores.remove(self.key);
        ipc.segments.remove(self.key);
    }
}
