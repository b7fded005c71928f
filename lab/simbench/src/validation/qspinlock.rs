//! The lock of a published measurement, in the shape of Linux's queued spin lock: a lock bit, a pending bit for the one
//! waiter that needs no node, and the tail of an MCS queue for the others. It exists for comparison with its published
//! figures; for use, take [`turnwise::QueuedSpinLock`].
//!
//! | bits | name | set by | cleared by |
//! |---|---|---|---|
//! | 0 | `LOCKED` | the thread that takes the lock | the owner |
//! | 8 | `PENDING` | the first waiter, if no other waits | it, as it takes the lock |
//! | 16.. | tail: thread + 1 | a thread that queues | the last in the queue, as it takes the lock |

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::platform::{Platform, SpinLimit, Word};
use turnwise_sim::{Placed, Sim, Simulation};

const LOCKED: u32 = 1;
const PENDING: u32 = 1 << 8;
const TAIL_SHIFT: u32 = 16;

pub(super) type U32 = <Sim as Platform>::U32;

/// A thread's place in a queue; 0 is none, `n` is thread `n - 1`.
pub(super) struct Node {
    pub(super) next: U32,
    pub(super) granted: U32,
}

/// A node for each thread: in the kernel for each CPU.
pub(super) struct Nodes(Vec<Placed<Node>>);

impl Nodes {
    pub(super) fn place(simulation: &mut Simulation, threads: u32) -> Nodes {
        let node = || Node { next: U32::new(0), granted: U32::new(0) };
        Nodes((0..threads).map(|_| simulation.place("node", node())).collect())
    }

    /// Returns the calling thread's number + 1, and its node.
    pub(super) fn mine(&self) -> (u32, &Node) {
        let me = Sim::thread();
        (me + 1, &self.0[me as usize])
    }

    /// Waits behind the one that was last, if there is one.
    pub(super) fn wait_behind(&self, last: u32) {
        if let Some(last) = last.checked_sub(1) {
            let (me, node) = self.mine();
            self.0[last as usize].next.store(me, Release);
            spin_until(&node.granted, |granted| granted != 0);
        }
    }

    pub(super) fn grant(&self, next: u32) {
        self.0[next as usize - 1].granted.store(1, Release);
    }
}

/// The lock, and the queue's nodes.
pub(super) struct KernelQueuedLock {
    word: Placed<U32>,
    nodes: Nodes,
}

/// Waits without limits.
pub(super) fn spin_until(word: &U32, ready: impl FnMut(u32) -> bool) -> u32 {
    Sim::spin_until(word, ready, SpinLimit::NONE).expect("a spin without limits ends with a value")
}

impl KernelQueuedLock {
    pub(super) fn place(simulation: &mut Simulation, threads: u32) -> Self {
        let nodes = Nodes::place(simulation, threads);
        KernelQueuedLock { word: simulation.place("lock", U32::new(0)), nodes }
    }

    pub(super) fn lock(&self) {
        // ORDERING kernel_queued.acquire: pairs with the plain store in `unlock`, a release on the simulated machine.
        if let Err(found) = self.word.compare_exchange(0, LOCKED, Acquire, Relaxed) {
            self.lock_slow(found);
        }
    }

    pub(super) fn unlock(&self) {
        self.word.store_part(0, [0]); // the byte of `LOCKED`
    }

    fn lock_slow(&self, mut word: u32) {
        while word & !LOCKED == 0 {
            let new = if word == 0 { LOCKED } else { LOCKED | PENDING };
            match self.word.compare_exchange(word, new, Acquire, Relaxed) {
                Ok(0) => return,
                Ok(_) => {
                    spin_until(&self.word, |word| word & LOCKED == 0);
                    self.word.store_part(0, [1, 0]); // `LOCKED` for `PENDING`: no other thread may take it
                    return;
                }
                Err(found) => word = found,
            }
        }
        self.queue();
    }

    fn queue(&self) {
        let (me, node) = self.nodes.mine();
        node.next.store(0, Relaxed);
        node.granted.store(0, Relaxed);
        self.nodes.wait_behind(self.join(me));
        let word = spin_until(&self.word, |word| word & (LOCKED | PENDING) == 0);
        let alone = word >> TAIL_SHIFT == me;
        if alone && self.word.compare_exchange(word, LOCKED, Acquire, Relaxed).is_ok() {
            return;
        }
        self.word.store_part(0, [1]); // no other thread may take it
        self.nodes.grant(spin_until(&node.next, |next| next != 0));
    }

    /// Exchanges the tail for this number; returns the last one's.
    fn join(&self, me: u32) -> u32 {
        let tail = u16::try_from(me).expect("a simulation has fewer threads");
        u16::from_le_bytes(self.word.swap_part(2, tail.to_le_bytes())).into()
    }
}
