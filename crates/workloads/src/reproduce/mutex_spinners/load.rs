//! What an AIM7 child does to the file system: it creates and truncates files, most of the time.
//!
//! For each creat: work of its own (the rest of the job, divided by its creats); the directory's mutex; two journal
//! handles, each of which takes the journal's state lock for reading and changes three words of the running transaction;
//! the orphan list's mutex. Every so many handles one of them finds the transaction full and takes the state lock for
//! writing. This is a thin body of the shape that `creat_clo` has on ext4, not the file system itself.

use crate::load::exclusive::Lock;
use crate::load::shared::{Record, SharedLock};
use crate::reproduce::stage::{Crew, Stage};
use std::marker::PhantomData;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use turnwise::platform::{IntWord, Word};

/// The locks of a kernel.
pub(super) trait Locks: 'static {
    /// `i_mutex` and `s_orphan_lock`.
    type Mutex: Lock<u64>;
    /// `j_state_lock`.
    type State: SharedLock;
}

/// How much there is to do.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Shape {
    pub(super) users: u32,
    /// Directories, each in a file system of its own with a journal.
    pub(super) file_systems: u32,
    /// Work of its own for each creat.
    pub(super) think_ns: u64,
    /// How long the directory's mutex is held, and again the orphan list's.
    pub(super) hold_ns: u64,
    /// Handles for one that takes the state lock for writing.
    pub(super) handles_per_write: u32,
    /// Journal handles for each creat.
    pub(super) handles: u32,
    /// How long that holds it.
    pub(super) write_ns: u64,
    pub(super) end_ns: u64,
}

/// Journal handles for each creat: one to change the inode, one for the orphan list.

#[repr(align(128))]
struct Apart<T>(T);

/// What all handles of a transaction change.
struct Transaction<W: Stage> {
    updates: W::U32,
    credits: W::U32,
    handles: W::U32,
}

struct FileSystem<W: Stage, L: Locks> {
    directory: Apart<L::Mutex>,
    orphans: Apart<L::Mutex>,
    state: Apart<L::State>,
    transaction: Apart<Transaction<W>>,
}

/// The children.
pub(super) struct Children<W: Stage, L: Locks> {
    file_systems: Box<[FileSystem<W, L>]>,
    first: FileSystem<W, L>,
    shape: Shape,
    think: u32,
    hold: u32,
    write: u32,
    spread: W::Spread,
    begin: u64,
    creats: AtomicU64,
    handles: AtomicU64,
    world: PhantomData<fn() -> W>,
}

impl<W: Stage, L: Locks> FileSystem<W, L> {
    fn new() -> Self {
        let zero = || W::U32::new(0);
        FileSystem {
            directory: Apart(L::Mutex::new(0)),
            orphans: Apart(L::Mutex::new(0)),
            state: Apart(L::State::new(Record::default())),
            transaction: Apart(Transaction { updates: zero(), credits: zero(), handles: zero() }),
        }
    }
}

impl<W: Stage, L: Locks> Children<W, L> {
    /// `begin` is what the clock says when they start.
    pub(super) fn new(shape: Shape, spread: W::Spread, begin: u64) -> Self {
        Children {
            // The first is where the simulator has lines as its layout says; others get a line for each word.
            first: FileSystem::new(),
            file_systems: (1..shape.file_systems).map(|_| FileSystem::new()).collect(),
            think: W::amount(shape.think_ns),
            hold: W::amount(shape.hold_ns),
            write: W::amount(shape.write_ns),
            shape,
            spread,
            begin,
            creats: AtomicU64::new(0),
            handles: AtomicU64::new(0),
            world: PhantomData,
        }
    }

    /// Creats of all children so far.
    pub(super) fn creats(&self) -> u64 {
        self.creats.load(Relaxed)
    }

    fn creat(&self, system: &FileSystem<W, L>, seed: u64) -> u64 {
        let chain = system.directory.0.with(|entries| {
            *entries += 1;
            W::work(seed, self.hold)
        });
        self.handle(system);
        let chain = system.orphans.0.with(|orphans| {
            *orphans += 1;
            W::work(chain, self.hold)
        });
        for _ in 1..self.shape.handles {
            self.handle(system);
        }
        chain
    }

    fn handle(&self, system: &FileSystem<W, L>) {
        let number = self.handles.fetch_add(1, Relaxed) + 1;
        if number.is_multiple_of(u64::from(self.shape.handles_per_write)) {
            system.state.0.write(|state| state[2] = W::work(state[2], self.write));
        }
        let transaction = &system.transaction.0;
        system.state.0.read(|_| {
            transaction.updates.fetch_add(1, Relaxed);
            transaction.credits.fetch_sub(1, Relaxed);
            transaction.handles.fetch_add(1, Relaxed);
        });
        transaction.updates.fetch_sub(1, Relaxed);
    }
}

impl<W: Stage, L: Locks> Crew for Children<W, L> {
    fn threads(&self) -> usize {
        self.shape.users as usize
    }

    fn act(&self, thread: usize) {
        let mut seed = thread as u64 + 1;
        let system = match thread % self.shape.file_systems as usize {
            0 => &self.first,
            other => &self.file_systems[other - 1],
        };
        while W::stamp() - self.begin < self.shape.end_ns {
            seed = W::think(seed, self.think, self.spread);
            seed = std::hint::black_box(W::in_kernel(|| self.creat(system, seed)));
            self.creats.fetch_add(1, Relaxed);
            W::progress();
        }
    }
}
