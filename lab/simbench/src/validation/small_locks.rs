//! Locks of published curves, each in the shape in which it was measured: which accesses, in which order. They exist
//! for comparison with their published figures, and have no other use.
//!
//! | name | what |
//! |---|---|
//! | `swap_mutex` | exchanges repeatedly until the old value is 0; neither polls nor pauses |
//! | `ticket_spinlock` | Linux's: two halves of a word, drawn from one, served by a plain store to the other |
//! | `queued_spinlock` | Linux's: `qspinlock.rs` |
//! | `turnwise_mcs`, `turnwise_queued` | ours, for comparison with that |
//! | `osq_lock` | Linux's queue of spinners, taken as a lock, which no thread leaves |
//! | `incdec_refcount` | an addition, a subtraction: no thread waits |
//! | `cas_lockref` | the same by compare-exchange, tried until it succeeds |
//! | `cas_rw_lock` | readers only: a compare-exchange to enter, an addition to leave |
//! | `mcs` | [`turnwise::McsLock`]'s algorithm: MCS |
//! | `futex` | free, held, or held with sleepers: an exchange and a sleep; also glibc's ordinary mutex |
//! | `spin_then_futex` | the same after 20 rounds of 64 pauses, in which at most four threads are at a time |
//! | `rwsem_writers` | Linux's readers-writer semaphore of 5.0, its writers: an addition, or the queue of spinners |
//! | `rwsem_readers` | its readers, without writers: an addition each way, and a check of the owner |

use super::qspinlock::{KernelQueuedLock, Nodes, U32, spin_until};
use anyhow::{Context, Result};
use std::rc::Rc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::platform::{IntWord, Lane, Pause, Platform, Word};
use turnwise::{McsLock, QueuedSpinLock};
use turnwise_sim::{Placed, Sim, Simulation};

/// A lock as a thread of a benchmark uses it.
pub(super) trait SmallLock {
    fn acquire(&self);
    fn release(&self);
}

/// Words, how to acquire what they are, and how to release it.
struct Lock<W>(W, fn(&W), fn(&W));

impl<W> SmallLock for Lock<W> {
    fn acquire(&self) {
        self.1(&self.0);
    }
    fn release(&self) {
        self.2(&self.0);
    }
}

/// Places a lock in a simulation of this many threads.
pub(super) type PlaceLock = fn(&mut Simulation, u32) -> Rc<dyn SmallLock>;

/// Each lock by its name in `published.toml`.
pub(super) const LOCKS: [(&str, PlaceLock); 15] = [
    ("cas_lockref", |s, _| {
        Rc::new(Lock(word(s, 0), |count| exchange(count, |n| n + 1), |count| exchange(count, |n| n - 1)))
    }),
    ("cas_rw_lock", |s, _| Rc::new(Lock(word(s, READERS), read, put))),
    ("futex", |s, _| Rc::new(Lock(word(s, FREE), take, give))),
    ("glibc", |s, _| Rc::new(Lock(word(s, FREE), take, give))),
    ("incdec_refcount", |s, _| Rc::new(Lock(word(s, 0), increment, decrement))),
    ("mcs", |s, threads| Rc::new(Lock(Queue::place(s, threads), Queue::acquire, Queue::release))),
    ("osq_lock", |s, threads| Rc::new(Lock(Queue::place(s, threads), Queue::acquire, Queue::release_osq))),
    ("queued_spinlock", |s, threads| {
        Rc::new(Lock(KernelQueuedLock::place(s, threads), KernelQueuedLock::lock, KernelQueuedLock::unlock))
    }),
    ("rwsem_readers", |s, threads| Rc::new(Lock(Semaphore::place(s, threads), Semaphore::read, Semaphore::unread))),
    ("rwsem_writers", |s, threads| Rc::new(Lock(Semaphore::place(s, threads), Semaphore::write, Semaphore::unwrite))),
    ("spin_then_futex", |s, _| Rc::new(Lock((word(s, FREE), word(s, 0)), spin_then_take, |(futex, _)| give(futex)))),
    ("swap_mutex", |s, _| Rc::new(Lock(word(s, 0), |w| while w.swap(1, Acquire) != 0 {}, |w| w.store(0, Release)))),
    ("ticket_spinlock", |s, _| Rc::new(Lock(word(s, 0), draw, serve))),
    // The section is within, and there is nothing in it where these are measured.
    ("turnwise_mcs", |s, _| {
        Rc::new(Lock(s.place("lock", McsLock::<(), Sim>::new_in(())), |lock| lock.with(|()| ()), |_| ()))
    }),
    ("turnwise_queued", |s, _| {
        Rc::new(Lock(s.place("lock", QueuedSpinLock::<(), Sim>::new_in(())), |lock| drop(lock.lock()), |_| ()))
    }),
];

/// Returns the lock of this name.
///
/// # Errors
/// There is none.
pub(super) fn find(name: &str) -> Result<PlaceLock> {
    let found = LOCKS.iter().find(|(known, _)| *known == name);
    found.map(|(_, place)| *place).with_context(|| format!("published.toml: no lock '{name}' can be simulated"))
}

fn word(simulation: &mut Simulation, value: u32) -> Placed<U32> {
    simulation.place("lock", U32::new(value))
}

/// Draws from the upper half, and waits until the lower half serves that number.
fn draw(word: &Placed<U32>) {
    let drawn = word.fetch_add(1 << 16, Acquire);
    let mine = drawn >> 16;
    if drawn & 0xffff != mine {
        spin_until(word, |word| word & 0xffff == mine);
    }
}

fn serve(word: &Placed<U32>) {
    let served = word.load(Relaxed) as u16;
    word.store_part(0, served.wrapping_add(1).to_le_bytes());
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

fn increment(count: &Placed<U32>) {
    count.fetch_add(1, Acquire);
}

fn decrement(count: &Placed<U32>) {
    count.fetch_sub(1, Release);
}

/// How many readers there may be.
const READERS: u32 = 0x2000_0000;

/// Enters, having seen that no writer has it.
fn read(free: &Placed<U32>) {
    free.load(Relaxed);
    exchange(free, |free| free - 1);
}

fn put(free: &Placed<U32>) {
    free.fetch_add(1, Release);
}

/// An MCS lock whose nodes belong to threads.
struct Queue {
    tail: Placed<U32>,
    nodes: Nodes,
}

impl Queue {
    fn place(simulation: &mut Simulation, threads: u32) -> Queue {
        let nodes = Nodes::place(simulation, threads);
        Queue { tail: word(simulation, 0), nodes }
    }

    fn leave_empty(&self, me: u32) -> bool {
        self.tail.compare_exchange(me, 0, Release, Relaxed).is_ok()
    }

    fn acquire(&self) {
        let (me, node) = self.nodes.mine();
        node.granted.store(0, Relaxed);
        node.next.store(0, Relaxed);
        self.nodes.wait_behind(self.tail.swap(me, Acquire));
    }

    fn release(&self) {
        let (me, node) = self.nodes.mine();
        let mut next = node.next.load(Acquire);
        if next == 0 {
            if self.leave_empty(me) {
                return;
            }
            next = spin_until(&node.next, |next| next != 0);
        }
        self.nodes.grant(next);
    }

    /// Tries to empty the queue before it looks for a successor, which it takes by exchange.
    fn release_osq(&self) {
        let (me, node) = self.nodes.mine();
        if self.leave_empty(me) {
            return;
        }
        let mut next = node.next.swap(0, Acquire);
        while next == 0 {
            if self.tail.load(Relaxed) == me && self.leave_empty(me) {
                return;
            }
            if node.next.load(Relaxed) == 0 {
                Sim::pause(Pause::Relax);
            } else {
                next = node.next.swap(0, Acquire);
            }
        }
        self.nodes.grant(next);
    }
}

const FREE: u32 = 0;
const HELD: u32 = 1;
/// Held, and a thread may sleep.
const CONTENDED: u32 = 2;

fn take_free(futex: &U32) -> bool {
    futex.compare_exchange(FREE, HELD, Acquire, Relaxed).is_ok()
}

fn take(futex: &Placed<U32>) {
    if take_free(futex) {
        return;
    }
    while futex.swap(CONTENDED, Acquire) != FREE {
        Sim::park(futex, CONTENDED, Lane::Waiters, None);
    }
}

fn give(futex: &Placed<U32>) {
    if futex.swap(FREE, Release) == CONTENDED {
        Sim::wake(&**futex, Lane::Waiters, 1);
    }
}

/// How many spin, and for how long.
const SPINNERS: u32 = 4;
const ROUNDS: u32 = 20;
const PAUSES: u32 = 64;

/// Spins before it takes a futex, if few others do.
fn spin_then_take((futex, spinners): &(Placed<U32>, Placed<U32>)) {
    if take_free(futex) {
        return;
    }
    let spins = spinners.fetch_add(1, Relaxed) < SPINNERS;
    let took = spins
        && (0..ROUNDS).any(|_| {
            (0..PAUSES).for_each(|_| Sim::pause(Pause::Relax));
            futex.load(Relaxed) == FREE && take_free(futex)
        });
    spinners.fetch_sub(1, Relaxed);
    if !took {
        take(futex);
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
    spinners: Queue,
}

impl Semaphore {
    fn place(simulation: &mut Simulation, threads: u32) -> Semaphore {
        let words = SemaphoreWords { count: U32::new(0), owner: U32::new(0) };
        Semaphore { words: simulation.place("lock", words), spinners: Queue::place(simulation, threads) }
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
        self.spinners.release_osq();
    }

    fn write(&self) {
        if self.words.count.fetch_add(WRITER, Acquire) != 0 {
            self.words.count.fetch_sub(WRITER, Relaxed);
            self.words.owner.load(Relaxed); // whether to spin
            self.spin();
        }
        self.words.owner.store(Sim::thread() + 1, Relaxed);
    }

    fn unwrite(&self) {
        self.words.owner.store(0, Relaxed);
        self.words.count.fetch_sub(WRITER, Release);
    }

    fn read(&self) {
        self.words.count.fetch_add(1, Acquire);
        if self.words.owner.load(Relaxed) != READ {
            self.words.owner.store(READ, Relaxed);
        }
    }

    fn unread(&self) {
        self.words.count.fetch_sub(1, Release);
    }
}
