//! Locks of published curves, each in the shape in which it was measured: which accesses, in which order. They exist
//! for comparison with their published figures, and have no other use.
//!
//! | name | what |
//! |---|---|
//! | `swap_mutex` | exchanges repeatedly until the old value is 0; neither polls nor pauses |
//! | `ticket_spinlock` | Linux's: two halves of a word, drawn from one, served by a plain store to the other |
//! | `queued_spinlock` | Linux's: `qspinlock.rs` |
//! | `osq_lock` | Linux's queue of spinners, taken as a lock, which no thread leaves |
//! | `incdec_refcount` | an addition, a subtraction: no thread waits |
//! | `cas_lockref` | the same by compare-exchange, tried until it succeeds |
//! | `cas_rw_lock` | readers only: a compare-exchange to enter, an addition to leave |
//! | `mcs` | [`turnwise::McsLock`]'s algorithm: MCS |
//! | `futex` | free, held, or held with sleepers: an exchange and a sleep; also glibc's ordinary mutex |
//! | `spin_then_futex` | the same after 20 rounds of 64 pauses, in which at most four threads are at a time |
//! | `rwsem_writers` | Linux's readers-writer semaphore of 5.0, its writers: an addition, or the queue of spinners |
//! | `rwsem_readers` | its readers, without writers: an addition each way, and a check of the owner |

use super::qspinlock::{KernelQueuedLock, spin_until};
use std::rc::Rc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::platform::{IntWord, Lane, Pause, Platform, Word};
use turnwise_sim::{Placed, Sim, Simulation};

type U32 = <Sim as Platform>::U32;

/// A lock as a thread of a benchmark uses it.
pub(super) trait SmallLock {
    fn acquire(&self);
    fn release(&self);
}

/// Places a lock in a simulation of this many threads.
pub(super) type PlaceLock = fn(&mut Simulation, u32) -> Rc<dyn SmallLock>;

/// Each lock by its name in `published.toml`.
pub(super) const LOCKS: [(&str, PlaceLock); 13] = [
    ("cas_lockref", |s, _| Rc::new(Lockref(word(s, 0)))),
    ("cas_rw_lock", |s, _| Rc::new(Readers(word(s, READERS)))),
    ("futex", |s, _| Rc::new(Futex(word(s, FREE)))),
    ("glibc", |s, _| Rc::new(Futex(word(s, FREE)))),
    ("incdec_refcount", |s, _| Rc::new(Refcount(word(s, 0)))),
    ("mcs", |s, threads| Rc::new(Queue::place(s, threads))),
    ("osq_lock", |s, threads| Rc::new(Osq(Queue::place(s, threads)))),
    ("queued_spinlock", |s, threads| Rc::new(KernelQueuedLock::place(s, threads))),
    ("rwsem_readers", |s, threads| Rc::new(Reads(Semaphore::place(s, threads)))),
    ("rwsem_writers", |s, threads| Rc::new(Semaphore::place(s, threads))),
    ("spin_then_futex", |s, _| Rc::new(SpinThenFutex::place(s))),
    ("swap_mutex", |s, _| Rc::new(Swap(word(s, 0)))),
    ("ticket_spinlock", |s, _| Rc::new(Ticket(word(s, 0)))),
];

fn word(simulation: &mut Simulation, value: u32) -> Placed<U32> {
    simulation.place("lock", U32::new(value))
}

impl SmallLock for KernelQueuedLock {
    fn acquire(&self) {
        self.lock();
    }
    fn release(&self) {
        self.unlock();
    }
}

struct Swap(Placed<U32>);

impl SmallLock for Swap {
    fn acquire(&self) {
        while self.0.swap(1, Acquire) != 0 {}
    }
    fn release(&self) {
        self.0.store(0, Release);
    }
}

/// The upper half is drawn from, the lower half is served.
struct Ticket(Placed<U32>);

impl SmallLock for Ticket {
    fn acquire(&self) {
        let drawn = self.0.fetch_add(1 << 16, Acquire);
        let mine = drawn >> 16;
        if drawn & 0xffff != mine {
            spin_until(&self.0, |word| word & 0xffff == mine);
        }
    }
    fn release(&self) {
        let served = self.0.load(Relaxed) as u16;
        self.0.store_part(0, served.wrapping_add(1).to_le_bytes());
    }
}

struct Refcount(Placed<U32>);

impl SmallLock for Refcount {
    fn acquire(&self) {
        self.0.fetch_add(1, Acquire);
    }
    fn release(&self) {
        self.0.fetch_sub(1, Release);
    }
}

/// Loads the word and exchanges it for the next, until that succeeds.
fn exchange(word: &U32, next: impl Fn(u32) -> u32) {
    loop {
        let old = word.load(Relaxed);
        if word.compare_exchange(old, next(old), Acquire, Relaxed).is_ok() {
            return;
        }
    }
}

struct Lockref(Placed<U32>);

impl SmallLock for Lockref {
    fn acquire(&self) {
        exchange(&self.0, |count| count + 1);
    }
    fn release(&self) {
        exchange(&self.0, |count| count - 1);
    }
}

/// How many readers there may be.
const READERS: u32 = 0x2000_0000;

struct Readers(Placed<U32>);

impl SmallLock for Readers {
    fn acquire(&self) {
        self.0.load(Relaxed); // that no writer has it
        exchange(&self.0, |free| free - 1);
    }
    fn release(&self) {
        self.0.fetch_add(1, Release);
    }
}

/// A thread's place in a queue; 0 is none, `n` is thread `n - 1`.
#[repr(align(128))]
struct Node {
    next: U32,
    granted: U32,
}

/// An MCS lock whose nodes belong to threads.
struct Queue {
    tail: Placed<U32>,
    nodes: Vec<Placed<Node>>,
}

impl Queue {
    fn place(simulation: &mut Simulation, threads: u32) -> Queue {
        let node = || Node { next: U32::new(0), granted: U32::new(0) };
        let nodes = (0..threads).map(|_| simulation.place("node", node())).collect();
        Queue { tail: word(simulation, 0), nodes }
    }

    fn mine(&self) -> (u32, &Node) {
        let me = Sim::thread();
        (me + 1, &self.nodes[me as usize])
    }

    fn grant(&self, next: u32) {
        self.nodes[next as usize - 1].granted.store(1, Release);
    }

    fn leave_empty(&self, me: u32) -> bool {
        self.tail.compare_exchange(me, 0, Release, Relaxed).is_ok()
    }
}

impl SmallLock for Queue {
    fn acquire(&self) {
        let (me, node) = self.mine();
        node.granted.store(0, Relaxed);
        node.next.store(0, Relaxed);
        if let Some(prev) = self.tail.swap(me, Acquire).checked_sub(1) {
            self.nodes[prev as usize].next.store(me, Release);
            spin_until(&node.granted, |granted| granted != 0);
        }
    }

    fn release(&self) {
        let (me, node) = self.mine();
        let mut next = node.next.load(Acquire);
        if next == 0 {
            if self.leave_empty(me) {
                return;
            }
            next = spin_until(&node.next, |next| next != 0);
        }
        self.grant(next);
    }
}

/// The same, but a release tries to empty the queue before it looks for a successor, which it takes by exchange.
struct Osq(Queue);

impl SmallLock for Osq {
    fn acquire(&self) {
        self.0.acquire();
    }

    fn release(&self) {
        let (me, node) = self.0.mine();
        if self.0.leave_empty(me) {
            return;
        }
        let mut next = node.next.swap(0, Acquire);
        while next == 0 {
            if self.0.tail.load(Relaxed) == me && self.0.leave_empty(me) {
                return;
            }
            if node.next.load(Relaxed) == 0 {
                Sim::pause(Pause::Relax);
            } else {
                next = node.next.swap(0, Acquire);
            }
        }
        self.0.grant(next);
    }
}

const FREE: u32 = 0;
const HELD: u32 = 1;
/// Held, and a thread may sleep.
const CONTENDED: u32 = 2;

struct Futex(Placed<U32>);

impl Futex {
    fn take_free(&self) -> bool {
        self.0.compare_exchange(FREE, HELD, Acquire, Relaxed).is_ok()
    }
}

impl SmallLock for Futex {
    fn acquire(&self) {
        if self.take_free() {
            return;
        }
        while self.0.swap(CONTENDED, Acquire) != FREE {
            Sim::park(&self.0, CONTENDED, Lane::Waiters, None);
        }
    }

    fn release(&self) {
        if self.0.swap(FREE, Release) == CONTENDED {
            Sim::wake(&*self.0, Lane::Waiters, 1);
        }
    }
}

/// How many spin, and for how long.
const SPINNERS: u32 = 4;
const ROUNDS: u32 = 20;
const PAUSES: u32 = 64;

/// A futex before which a few threads spin.
struct SpinThenFutex {
    futex: Futex,
    spinners: Placed<U32>,
}

impl SpinThenFutex {
    fn place(simulation: &mut Simulation) -> SpinThenFutex {
        SpinThenFutex { futex: Futex(word(simulation, FREE)), spinners: word(simulation, 0) }
    }

    /// Spins, if few others do; returns whether it got the lock.
    fn spin(&self) -> bool {
        let spins = self.spinners.fetch_add(1, Relaxed) < SPINNERS;
        let took = spins
            && (0..ROUNDS).any(|_| {
                (0..PAUSES).for_each(|_| Sim::pause(Pause::Relax));
                self.futex.0.load(Relaxed) == FREE && self.futex.take_free()
            });
        self.spinners.fetch_sub(1, Relaxed);
        took
    }
}

impl SmallLock for SpinThenFutex {
    fn acquire(&self) {
        if !self.futex.take_free() && !self.spin() {
            self.futex.acquire();
        }
    }
    fn release(&self) {
        self.futex.release();
    }
}

/// The words of a readers-writer semaphore, on one line.
#[repr(align(64))]
struct SemaphoreWords {
    /// A writer, or a thread that finds out whether it is one, counts [`WRITER`], a reader 1.
    count: U32,
    /// The writer + 1; [`READ`] if readers have it.
    owner: U32,
}

const WRITER: u32 = 1 << 16;
const READ: u32 = u32::MAX;

/// A readers-writer semaphore whose writers spin in a queue while the owner runs, which here it always does.
struct Semaphore {
    words: Placed<SemaphoreWords>,
    spinners: Osq,
}

impl Semaphore {
    fn place(simulation: &mut Simulation, threads: u32) -> Semaphore {
        let words = SemaphoreWords { count: U32::new(0), owner: U32::new(0) };
        Semaphore { words: simulation.place("lock", words), spinners: Osq(Queue::place(simulation, threads)) }
    }

    fn spin(&self) {
        let SemaphoreWords { count, owner } = &*self.words;
        self.spinners.acquire();
        loop {
            let found = owner.load(Relaxed);
            if found != 0 {
                spin_until(owner, |now| now != found);
            }
            if count.load(Relaxed) == 0 && count.compare_exchange(0, WRITER, Acquire, Relaxed).is_ok() {
                break;
            }
            Sim::pause(Pause::Relax);
        }
        self.spinners.release();
    }
}

impl SmallLock for Semaphore {
    fn acquire(&self) {
        if self.words.count.fetch_add(WRITER, Acquire) != 0 {
            self.words.count.fetch_sub(WRITER, Relaxed);
            self.words.owner.load(Relaxed); // whether to spin
            self.spin();
        }
        self.words.owner.store(Sim::thread() + 1, Relaxed);
    }
    fn release(&self) {
        self.words.owner.store(0, Relaxed);
        self.words.count.fetch_sub(WRITER, Release);
    }
}

struct Reads(Semaphore);

impl SmallLock for Reads {
    fn acquire(&self) {
        self.0.words.count.fetch_add(1, Acquire);
        if self.0.words.owner.load(Relaxed) != READ {
            self.0.words.owner.store(READ, Relaxed);
        }
    }
    fn release(&self) {
        self.0.words.count.fetch_sub(1, Release);
    }
}
