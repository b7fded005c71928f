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

/// A thread's place in the queue: in the kernel each CPU's own.
struct Node {
    next: <Sim as Platform>::U32,
    granted: <Sim as Platform>::U32,
}

/// The lock, and a node for each thread.
#[derive(Clone)]
pub(super) struct KernelQueuedLock {
    word: Placed<<Sim as Platform>::U32>,
    nodes: Vec<Placed<Node>>,
}

/// Waits without limits.
pub(super) fn spin_until(word: &<Sim as Platform>::U32, ready: impl FnMut(u32) -> bool) -> u32 {
    Sim::spin_until(word, ready, SpinLimit::NONE).expect("a spin without limits ends with a value")
}

impl KernelQueuedLock {
    pub(super) fn place(simulation: &mut Simulation, threads: u32) -> Self {
        let word = || <Sim as Platform>::U32::new(0);
        let nodes = (0..threads).map(|_| simulation.place("node", Node { next: word(), granted: word() })).collect();
        KernelQueuedLock { word: simulation.place("lock", word()), nodes }
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
        let me = Sim::thread();
        let node = &self.nodes[me as usize];
        node.next.store(0, Relaxed);
        node.granted.store(0, Relaxed);
        if let Some(prev) = self.join(me).checked_sub(1) {
            self.nodes[prev as usize].next.store(me + 1, Release);
            spin_until(&node.granted, |granted| granted != 0);
        }
        let word = spin_until(&self.word, |word| word & (LOCKED | PENDING) == 0);
        let alone = word >> TAIL_SHIFT == me + 1;
        if alone && self.word.compare_exchange(word, LOCKED, Acquire, Relaxed).is_ok() {
            return;
        }
        self.word.store_part(0, [1]); // no other thread may take it
        let next = spin_until(&node.next, |next| next != 0);
        self.nodes[next as usize - 1].granted.store(1, Release);
    }

    /// Exchanges the tail; returns the last one's number + 1.
    fn join(&self, me: u32) -> u32 {
        let tail = u16::try_from(me + 1).expect("a simulation has fewer threads");
        u16::from_le_bytes(self.word.swap_part(2, tail.to_le_bytes())).into()
    }
}
