//! What can be done with a sort of lock: a record of its operations, with an `Option` for each ability that some lack.

use crate::arena::Arena;
use crate::counts::{Op, Said, State};
use crate::object::{Object, of};
use turnwise::platform::Deadline;
use turnwise::raw::{RawLock, RawRwLock, RawTimedLock};
use turnwise_catalogue::Nature;

/// Acquires the lock, or gives up at a deadline; returns whether it has it.
pub type Until = fn(Object, Deadline) -> bool;

/// Releases or changes a mode of the lock that the caller has, which the caller must guarantee.
pub type Change = unsafe fn(Object);

/// A sort of lock's operations.
#[derive(Clone, Copy)]
pub struct Ops {
    /// One owner at a time. A file system has none, nor does a lock that is broken only in another way.
    pub exclusive: Option<Exclusive>,
    /// Readers alongside one another; the owner above is the writer.
    pub shared: Option<Shared>,
    /// A condition variable.
    pub condvar: Option<Condvar>,
    /// Optimistic and blocking reads.
    pub sequence: Option<Sequence>,
    /// A count of references.
    pub counts: Option<Counts>,
    /// References that any thread may take.
    pub references: Option<References>,
    /// Permits by number.
    pub permits: Option<Permits>,
    /// It is not a lock but a file system built of some.
    pub tree: Option<Tree>,
    /// The words of the lock, for a report of waiting threads.
    pub words: fn(Object) -> String,
}

impl Ops {
    /// Returns no operations, only what a report shows.
    pub const fn none(words: fn(Object) -> String) -> Self {
        Ops {
            exclusive: None,
            shared: None,
            condvar: None,
            sequence: None,
            counts: None,
            references: None,
            permits: None,
            tree: None,
            words,
        }
    }

    /// Returns the operations of a lock with one owner at a time.
    pub const fn lock(exclusive: Exclusive, words: fn(Object) -> String) -> Self {
        Ops { exclusive: Some(exclusive), ..Ops::none(words) }
    }
}

/// One owner at a time.
#[derive(Clone, Copy)]
pub struct Exclusive {
    /// Acquires the lock.
    pub acquire: fn(Object),
    /// Acquires the lock if it is free; returns whether it was.
    pub try_acquire: fn(Object) -> bool,
    /// Releases the lock.
    pub release: Change,
    /// Acquires the lock, or gives up.
    pub acquire_until: Option<Until>,
    /// Releases the lock to the thread that waited longest.
    pub release_fair: Option<Change>,
    /// Called by the owner before the last write of its section, if the lock is broken in this way.
    pub before_last_write: Option<fn(Object)>,
}

impl Exclusive {
    /// Returns the operations that every raw lock has.
    pub const fn raw<L: HasRaw>() -> Self {
        Exclusive {
            acquire: |lock| of::<L>(lock).raw().lock(),
            try_acquire: |lock| of::<L>(lock).raw().try_lock(),
            // SAFETY: the caller has the lock.
            release: |lock| unsafe { of::<L>(lock).raw().unlock() },
            acquire_until: None,
            release_fair: None,
            before_last_write: None,
        }
    }

    /// Returns the operations of a raw lock whose waits can end at a deadline.
    pub const fn timed<L: HasRaw<Raw: RawTimedLock>>() -> Self {
        let until: Until = |lock, deadline| of::<L>(lock).raw().lock_until(deadline);
        Exclusive { acquire_until: Some(until), ..Exclusive::raw::<L>() }
    }
}

/// A raw lock, or a type that contains one.
pub trait HasRaw: 'static {
    /// The raw lock.
    type Raw: RawLock;
    /// Returns it.
    fn raw(&self) -> &Self::Raw;
}

impl<L: RawLock> HasRaw for L {
    type Raw = L;
    fn raw(&self) -> &L {
        self
    }
}

/// The readers' side of a lock.
#[derive(Clone, Copy)]
pub struct Shared {
    /// Acquires the lock for reading.
    pub read: fn(Object),
    /// Acquires the lock for reading if that is possible at once.
    pub try_read: fn(Object) -> bool,
    /// Releases a read lock.
    pub unlock_read: Change,
    /// Acquires the lock for reading, or gives up at a deadline.
    pub read_until: Option<Until>,
    /// Turns the write lock into a read lock.
    pub downgrade: Option<Change>,
    /// Readers that may become writers.
    pub upgrade: Option<Upgrade>,
}

impl Shared {
    /// Returns what every raw readers-writer lock can do.
    pub const fn raw<L: RawRwLock>() -> Self {
        Shared {
            read: |lock| of::<L>(lock).read(),
            try_read: |lock| of::<L>(lock).try_read(),
            // SAFETY: the caller has a read lock.
            unlock_read: |lock| unsafe { of::<L>(lock).unlock_read() },
            read_until: None,
            downgrade: None,
            upgrade: None,
        }
    }
}

/// Readers of which one at a time may become a writer.
#[derive(Clone, Copy)]
pub struct Upgrade {
    /// Acquires the lock for upgradable reading, by a try if the flag is set; returns whether it got it.
    pub read: fn(Object, bool) -> bool,
    /// Turns the caller's upgradable read lock into the write lock, or gives up at a deadline; returns whether it did.
    pub upgrade: unsafe fn(Object, Option<Deadline>) -> bool,
    /// Turns the write lock into the upgradable read lock.
    pub downgrade: Change,
    /// Releases the upgradable read lock.
    pub unlock: Change,
}

/// A condition variable of a lock.
#[derive(Clone, Copy)]
pub struct Condvar {
    /// Releases the caller's lock, waits for a notification or the deadline, and acquires the lock again; returns
    /// whether it timed out.
    pub wait: unsafe fn(Object, Option<Deadline>) -> bool,
    /// Wakes one waiter.
    pub notify_one: fn(Object),
    /// Wakes all of those that wait.
    pub notify_all: fn(Object),
}

/// The payload of a sequence lock: the words of a whole value are equal.
pub type Payload = [u64; 4];

/// What a reader does with the payload that it sees.
pub type Look<'a> = &'a mut dyn FnMut(Payload);

/// A payload, reads of it that writers may spoil, and reads that exclude writers.
#[derive(Clone, Copy)]
pub struct Sequence {
    /// An optimistic read.
    pub read: fn(Object) -> Payload,
    /// A blocking read: calls the first function twice, with the second between.
    pub read_blocking: fn(Object, Look<'_>, &mut dyn FnMut()),
    /// Writes.
    pub set: fn(Object, Payload),
}

/// A count of references that any thread may raise from 0: a dentry in its cache. While a thread has one, none is in
/// the function that [`References::put`] runs.
#[derive(Clone, Copy)]
pub struct References {
    /// Takes a reference.
    pub get: fn(Object),
    /// Gives one back; if it is the last, runs the function before.
    pub put: fn(Object, &mut dyn FnMut()),
    /// The count as of now.
    pub count: fn(Object) -> u32,
}

/// Permits that are taken and given back by number.
#[derive(Clone, Copy)]
pub struct Permits {
    /// Waits for this many permits.
    pub take: fn(Object, u32),
    /// Takes this many permits if they are available at once; returns whether it did.
    pub try_take: fn(Object, u32) -> bool,
    /// Waits for this many permits until the deadline at most; returns whether it has them.
    pub take_until: fn(Object, u32, Deadline) -> bool,
    /// Gives this many permits back, or adds them.
    pub give: fn(Object, u32),
}

/// What threads do in a file system.
#[derive(Clone, Copy)]
pub struct Tree {
    /// They rename on two levels, and read paths.
    pub paths: fn(&'static Arena, &LockRecord),
    /// They make, remove, move and find names.
    pub names: fn(&'static Arena, &LockRecord),
}

/// A sort of lock to torture.
pub struct LockRecord {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its description.
    pub about: &'static str,
    /// What holds for it.
    pub nature: Nature,
    /// What it can do.
    pub ops: Ops,
    /// Size in bytes.
    pub size: usize,
    /// Makes one at this address, which has room for `size` bytes and is aligned to 128.
    ///
    /// # Safety
    /// As stated. The lock lives as long as the caller leaves the memory alone.
    pub place: unsafe fn(*mut u8) -> Object<'static>,
}

/// Memory for a lock.
#[derive(Clone, Copy)]
#[repr(align(128))]
struct Room {
    _bytes: [u8; 128],
}

impl LockRecord {
    /// Returns the record of the lock `L`.
    pub const fn new<L: Default + Send + Sync + 'static>(
        name: &'static str,
        about: &'static str,
        nature: Nature,
        ops: Ops,
    ) -> Self {
        // SAFETY: `put` has the contract of `place`.
        LockRecord { name, about, nature, ops, size: size_of::<L>(), place: |at| unsafe { put(at, L::default()) } }
    }

    /// Returns the record of the raw lock `L`.
    pub const fn raw<L: RawLock>(name: &'static str, about: &'static str, nature: Nature, ops: Ops) -> Self {
        // SAFETY: `put` has the contract of `place`.
        LockRecord { name, about, nature, ops, size: size_of::<L>(), place: |at| unsafe { put(at, L::new_in()) } }
    }

    /// Returns a new lock. Its memory is never freed: a cell makes a handful and ends with its process.
    pub fn make(&self) -> Object<'static> {
        let memory = vec![Room { _bytes: [0; 128] }; self.size.div_ceil(128)].leak();
        // SAFETY: room for `size` bytes, aligned to 128; no other code has the memory.
        unsafe { (self.place)(memory.as_mut_ptr().cast()) }
    }

    /// Makes a new lock in memory of its own, which is freed after `body`.
    pub fn for_a_while(&self, body: impl FnOnce(Object<'_>)) {
        let mut memory = vec![Room { _bytes: [0; 128] }; self.size.div_ceil(128)];
        // SAFETY: room for `size` bytes, aligned to 128; no other code has the memory, and `body` keeps no lock.
        body(unsafe { (self.place)(memory.as_mut_ptr().cast()) });
    }
}

/// # Safety
/// As for [`LockRecord::place`].
unsafe fn put<L: Send + Sync + 'static>(at: *mut u8, new: L) -> Object<'static> {
    const { assert!(align_of::<L>() <= align_of::<Room>(), "LockRecord::place promises no more") };
    let lock = at.cast::<L>();
    // SAFETY: the caller guarantees room and alignment, and uses the lock no longer than its memory.
    Object::new(unsafe {
        lock.write(new);
        &*lock
    })
}

/// A count of references with a lock.
#[derive(Clone, Copy)]
pub struct Counts {
    /// Runs an operation.
    pub run: fn(Object, Op) -> Said,
    /// The state at this moment.
    pub state: fn(Object) -> State,
    /// Begins anew with this many references. No other thread uses the count meanwhile, which the caller guarantees.
    pub restart: unsafe fn(Object, u32),
}
