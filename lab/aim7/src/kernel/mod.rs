//! The objects of a kernel that processes contend on, as small as is honest: each has the lock that the kernel has
//! there, real state under it, and a charge for the code that the lock protects.
//!
//! | file | what | locks |
//! |---|---|---|
//! | `owned.rs` | simulated memory | |
//! | `tasks.rs` | process numbers, the list of tasks, signals | pid map: spin; task list: spinning readers-writer; sighand: spin |
//! | `memory.rs` | address spaces, page faults, `anon_vma` trees, areas by file | `mmap_sem`: sleeping readers-writer; `anon_vma`: a mutex, from 3.8 on an rwsem; a file's areas: mutex |
//! | `pages.rs` | zones of pages, CPUs' lists of them, page tables | zones, page tables, the list of top tables: spin |
//! | `ipc.rs` | tables of System V semaphores and shared memory | tables: sleeping readers-writer; an array: spin |
//! | `channel.rs` | pipes and sockets | pipe: mutex; queues, ports: spin |
//! | `costs.rs` | the cost of their code | |

pub mod channel;
pub mod costs;
pub mod ipc;
pub mod memory;
pub mod owned;
pub mod pages;
pub mod tasks;

pub use channel::{Net, Socket};
pub use ipc::Ipc;
pub use memory::{Family, Image, Mm};
pub use owned::Owned;
pub use pages::{TopTables, Zones};
pub use tasks::{Task, Tasks};

use super::programs::IMAGES;
use turnwise_sim::Sim;
use turnwise_simbench::Simulated;
use turnwise_vfs::{Host, LockSet};

/// Everything that processes share, the file system apart.
pub struct Kernel<L: LockSet<Sim>> {
    /// Processes.
    pub tasks: Owned<Tasks<L>>,
    /// Memory.
    pub zones: Zones<L>,
    /// The list of all processes' top tables.
    pub top_tables: TopTables<L>,
    /// Relations between the memory of processes that descend from one.
    pub family: Family<L>,
    /// The files that programs are made of, by their numbers.
    pub images: [Image<L>; IMAGES],
    /// Semaphores and shared memory.
    pub ipc: Owned<Ipc<L>>,
    /// What pipes and sockets share.
    pub net: Owned<Net<L>>,
}

impl<L: LockSet<Sim>> Kernel<L> {
    /// Creates a kernel without processes.
    pub(super) fn new() -> Self {
        Kernel {
            tasks: Owned::new(Tasks::new()),
            zones: Zones::new(),
            top_tables: TopTables::new(),
            family: Family::new(),
            images: std::array::from_fn(|_| Image::new()),
            ipc: Owned::new(Ipc::new()),
            net: Owned::new(Net::new()),
        }
    }
}

/// Takes a lock as the kernel does with interrupts off, or with those of the network: a profile lists that under a
/// separate name.
fn quietly<R>(lock: impl FnOnce() -> R) -> R {
    Sim::within(QUIET, lock)
}

/// The profile's name for locks that are taken with interrupts off: not in the function of plain spin locks.
pub const QUIET: &str = "interrupts off";

/// Charges this much time of the kernel's code.
#[track_caller]
pub(super) fn charge(ns: u32) {
    Simulated::charge(turnwise_vfs::Work::Exactly { ns });
}
