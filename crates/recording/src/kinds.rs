//! The kinds of what a recording names by numbers.

/// The kind of a chunk: [`crate::Chunk::kind`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum ChunkKind {
    /// A sequence of [`crate::Entry`].
    Entries = 1,
    /// A sequence of [`crate::Episode`].
    Episodes = 2,
    /// A sequence of [`crate::Edge`].
    Edges = 3,
    /// [`crate::Detail`], [`crate::Tally`] and stacks, which other records refer to.
    Arena = 4,
    /// A sequence of [`crate::Step`].
    Steps = 5,
    /// A piece of a [`crate::Region`].
    Piece = 6,
    /// A sequence of [`crate::Misuse`].
    Misuses = 7,
}

/// The operation at a site: the upper byte of [`crate::Entry::site`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Op {
    /// A lock was acquired (by a writer).
    Acquire = 0,
    /// A lock was acquired by a reader.
    Read = 1,
    /// A condition variable's wait reacquired the mutex.
    AfterWait = 2,
    /// A condition variable was waited on.
    Wait = 3,
    /// `pthread_cond_signal`.
    Signal = 4,
    /// `pthread_cond_broadcast`.
    Broadcast = 5,
    /// A thread slept in a call that takes no lock of pthread's. Instead of an address, a hash identifies the path to
    /// it.
    Sleep = 6,
    /// A call that wakes sleepers.
    Wake = 7,
}

impl Op {
    /// All operations, by their numbers.
    pub const ALL: [Op; 8] =
        [Op::Acquire, Op::Read, Op::AfterWait, Op::Wait, Op::Signal, Op::Broadcast, Op::Sleep, Op::Wake];

    /// Encodes the operation and its address for [`crate::Entry::site`].
    #[must_use]
    #[inline(always)]
    pub const fn at(self, address: u64) -> u64 {
        address & ADDRESS | (self as u64) << 56
    }

    /// Decodes a word of [`crate::Entry::site`]; `None`: there is no operation of that number.
    #[must_use]
    pub fn split(site: u64) -> Option<(Op, u64)> {
        Some((*Op::ALL.get((site >> 56) as usize)?, site & ADDRESS))
    }
}

/// The bits of an address in [`crate::Entry::site`].
const ADDRESS: u64 = (1 << 56) - 1;

/// The class of a lock: [`crate::Lock::class`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Class {
    /// `pthread_mutex_t`, `mtx_t`.
    Mutex = 1,
    /// `pthread_rwlock_t`.
    RwLock = 2,
    /// `pthread_spinlock_t`.
    Spin = 3,
    /// `pthread_cond_t`, `cnd_t`.
    Condition = 4,
    /// A word that threads sleep on by the system call `futex`.
    Futex = 5,
    /// `sem_t`.
    Semaphore = 6,
    /// `pthread_barrier_t`.
    Barrier = 7,
    /// A thread whose end others await.
    Thread = 8,
    /// `pthread_once_t`.
    Once = 9,
}

impl Class {
    /// Returns whether threads sleep on it, with nothing known of who has it and of what they do between.
    #[must_use]
    pub const fn is_slept_on(class: u32) -> bool {
        class >= Class::Futex as u32 && class <= Class::Once as u32
    }
}
