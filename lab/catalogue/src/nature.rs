//! What torture may expect of a lock, beyond what its operations guarantee.

/// What holds for a lock beyond its operations.
#[derive(Clone, Copy, Debug)]
pub struct Nature {
    /// No waiter is overtaken for ever.
    pub bounded: bool,
    /// A release touches nothing once another thread may have the lock.
    pub lets_go: bool,
    /// A forked child can use the lock that its only thread owned in the parent, whichever threads waited for it there.
    pub forks: bool,
    /// A signal handler may acquire it. (Not with torture's harness if a node must be allocated.)
    pub signals: bool,
    /// It uses a thread's slot for something: its node in a queue, or whether its owner runs.
    pub slots: bool,
    /// Permits go to the thread that came first.
    pub in_queue: bool,
    /// Threads that may wait at once without a collapse: a spin queue advances by a time slice per preempted thread.
    pub crowd: usize,
}

impl Nature {
    pub(crate) const SLEEPER: Nature =
        Nature { bounded: true, lets_go: true, forks: true, signals: true, slots: true, in_queue: false, crowd: 32 };
    /// A forked child has no thread to finish what a writer that waited for the owner to leave began.
    pub(crate) const SLEEPER_OF_THREADS: Nature = Nature { forks: false, ..Self::SLEEPER };
    pub(crate) const WRITERS: Nature = Nature { bounded: false, ..Self::SLEEPER };
    pub(crate) const SPINNER: Nature = Nature { bounded: false, slots: false, crowd: 12, ..Self::SLEEPER };
    /// A queue that is copied into a forked child has waiters that never run there.
    pub(crate) const LINE: Nature = Nature { bounded: true, forks: false, crowd: 4, ..Self::SPINNER };
    pub(crate) const QUEUED: Nature = Nature { slots: true, ..Self::LINE };
    pub(crate) const MCS: Nature = Nature { signals: false, ..Self::LINE };
    /// A handler would queue behind a thread that cannot make progress.
    pub(crate) const SEMAPHORE: Nature = Nature { signals: false, slots: false, ..Self::SLEEPER };
    pub(crate) const FAIR_SEMAPHORE: Nature = Nature { in_queue: true, ..Self::SEMAPHORE };
    /// A handler that interrupted an acquisition cannot tell how far it came. The child's thread has the parent's name.
    pub(crate) const REENTRANT: Nature = Nature { signals: false, ..Self::SLEEPER };

    /// As locks were in 2013: waiters stand in lists and queues that a forked child must leave alone, and a handler
    /// that interrupts a section under the `wait_lock` must not lock.
    pub const LINEAGE: Nature = Nature { signals: false, forks: false, ..Self::SPINNER };
    /// The mutex of Linux in any version, and OSv's where spinners may overtake sleepers.
    pub const LINUX_MUTEX: Nature = Nature { slots: true, lets_go: false, ..Self::LINEAGE };
    pub(crate) const OSV_MUTEX: Nature = Nature { bounded: true, ..Self::LINUX_MUTEX };
    pub(crate) const RWSEM: Nature = Nature { lets_go: false, ..Self::LINEAGE };
    pub(crate) const KERNEL_RWLOCK: Nature = Nature { crowd: 4, ..Self::LINEAGE };
    pub(crate) const KERNEL_LINE: Nature = Nature { bounded: true, crowd: 4, ..Self::LINEAGE };
}
