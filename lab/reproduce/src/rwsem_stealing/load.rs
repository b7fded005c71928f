//! `fork_test` on anon_vma: each user forks, waits for the child, and forks again.
//!
//! Each anonymous area of the users' common ancestor has a root lock (mm/rmap.c of Linux 3.8). A fork takes it for
//! writing twice for each area that it copies: it links the child into the ancestor's tree, which is large and whose
//! nodes were last changed elsewhere, and into its own, which is empty. The child's exit takes it once for both, and
//! once more if it is locked just then. Forks, exits and waits are calls into a kernel. The child is a thread of its
//! own that is woken by the fork and wakes its parent as it exits.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::RawLock;
use turnwise::platform::{Lane, Platform, Word};
use turnwise_bench::simulated::Jitter;
use turnwise_sim::experiment::ThreadGroup;
use turnwise_sim::{Sim, SimWord};

/// How much there is to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) users: u32,
    /// Anonymous areas of a process, each with a root lock.
    pub(super) areas: u32,
    /// How long a change of the ancestor's tree holds a root lock.
    pub(super) hold_ns: u64,
    /// How long a change of an empty tree does.
    pub(super) own_ns: u64,
    /// All else that a fork does, and again what an exit does.
    pub(super) compute_ns: u64,
    /// When all threads stop.
    pub(super) end_ns: u64,
}

/// A word with which a parent notifies its child, and a child its parent.
#[repr(align(128))]
struct Turn(SimWord<u32>);

const NOTHING: u32 = 0;
const RUN: u32 = 1;
const END: u32 = 2;

impl Turn {
    fn new() -> Self {
        Turn(SimWord::new(NOTHING))
    }

    fn tell(&self, what: u32) {
        // ORDERING turn.tell: pairs with turn.hear.
        self.0.store(what, Release);
        Sim::wake(&raw const self.0, Lane::Waiters, 1);
    }

    /// Sleeps until notified, and forgets it.
    fn hear(&self) -> u32 {
        loop {
            // ORDERING turn.hear: pairs with turn.tell.
            let what = self.0.load(Acquire);
            if what != NOTHING {
                self.0.store(NOTHING, Relaxed);
                return what;
            }
            Sim::park(&self.0, NOTHING, Lane::Waiters, None);
        }
    }
}

/// A user: a parent and its child.
struct User {
    to_child: Turn,
    to_parent: Turn,
    /// Times that it or its child had the lock.
    sections: AtomicU64,
}

/// On a line of its own, as the kernel's are by chance or padding.
#[repr(align(128))]
struct Root<L>(L);

/// Acquisitions of a root lock for each area by a fork and the exit of its child.
const SECTIONS: u32 = 3;

/// By how many per cent the rest of a fork and of an exit varies either way.
const JITTER: u8 = 50;

/// The threads: a parent and a child for each user.
pub(super) struct ForkTest<L> {
    roots: Vec<Root<L>>,
    users: Vec<User>,
    shape: Shape,
}

impl<L: RawLock> ForkTest<L> {
    /// Creates the users.
    pub(super) fn new(shape: Shape) -> Self {
        let user = || User { to_child: Turn::new(), to_parent: Turn::new(), sections: AtomicU64::new(0) };
        ForkTest {
            roots: (0..shape.areas).map(|_| Root(L::new_in())).collect(),
            users: (0..shape.users).map(|_| user()).collect(),
            shape,
        }
    }

    /// Forks of all users so far, with the begun parts of those under way.
    pub(super) fn forks(&self) -> f64 {
        let sections: u64 = self.users.iter().map(|user| user.sections.load(Relaxed)).sum();
        sections as f64 / f64::from(SECTIONS * self.shape.areas)
    }

    /// Does the part of a fork, or of an exit, that needs no lock of this area.
    fn think(&self) {
        Jitter::percent(JITTER).think(self.shape.compute_ns / u64::from(self.shape.areas.max(1)));
    }

    /// Takes a root lock for this long.
    fn section(&self, root: &Root<L>, user: &User, ns: u64) {
        root.0.lock();
        Sim::compute(ns);
        // SAFETY: contract of `RawLock::unlock`: this thread has just locked it.
        unsafe { root.0.unlock() };
        user.sections.fetch_add(1, Relaxed);
        Sim::progress();
    }

    /// Copies all areas.
    fn fork(&self, user: &User) {
        for root in &self.roots {
            self.think();
            self.section(root, user, self.shape.hold_ns);
            self.section(root, user, self.shape.own_ns);
        }
    }

    /// Unlinks all areas, each from both trees in one go.
    fn exit(&self, user: &User) {
        for root in &self.roots {
            self.think();
            self.section(root, user, self.shape.hold_ns + self.shape.own_ns);
            // The kernel frees the child's part only when no thread may still be in the lock (`anon_vma_free`).
            if root.0.is_locked() {
                root.0.lock();
                // SAFETY: contract of `RawLock::unlock`: this thread has just locked it.
                unsafe { root.0.unlock() };
            }
        }
    }

    fn parent(&self, user: &User) {
        while Sim::time_ns() < self.shape.end_ns {
            Sim::in_kernel(|| {
                self.fork(user);
                user.to_child.tell(RUN);
            });
            Sim::in_kernel(|| user.to_parent.hear());
        }
        Sim::in_kernel(|| user.to_child.tell(END));
    }

    fn child(&self, user: &User) {
        while Sim::in_kernel(|| user.to_child.hear()) == RUN {
            Sim::in_kernel(|| {
                self.exit(user);
                user.to_parent.tell(RUN);
            });
        }
    }
}

impl<L: RawLock> ThreadGroup for ForkTest<L> {
    fn threads(&self) -> usize {
        2 * self.users.len()
    }

    fn act(&self, thread: usize) {
        let user = &self.users[thread / 2];
        if thread.is_multiple_of(2) { self.parent(user) } else { self.child(user) }
    }
}
