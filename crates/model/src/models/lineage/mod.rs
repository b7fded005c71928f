//! The documents' locks, before and after.

mod d_count;
mod ia64_spin;
mod kernel_spin;
mod linux_mutex;
mod osv_mutex;
mod rename_lock;
mod rwsem_spinlock;
mod rwsem_xadd;

use super::{Protected, drop_after_release};
use crate::check::Model;
use crate::platform::{Handle, Loom, Setup, keep, rest, saw, spawn};

/// All models of these locks.
pub(super) fn all() -> Vec<Model> {
    [
        kernel_spin::MODELS,
        linux_mutex::MODELS,
        rwsem_spinlock::MODELS,
        rwsem_xadd::MODELS,
        d_count::MODELS,
        rename_lock::MODELS,
        ia64_spin::MODELS,
        osv_mutex::MODELS,
    ]
    .concat()
}

/// Two looks before a spin ends, or before a thread that may not leave yields.
const PLAIN: Setup = Setup::PLAIN;

type Shows = &'static [&'static str];
const SLEEP: Shows = &["slept"];
const EITHER: Shows = &["got it", "did not"];

/// A lock with one kind of owner.
trait Exclusive: Sync + 'static {
    fn make() -> Self;
    fn lock(&self);
    fn try_lock(&self) -> bool;
    /// The caller has the lock.
    fn unlock(&self);
    /// Nobody has the lock, and nobody waits.
    fn is_settled(&self) -> bool;
}

struct Guarded<L> {
    raw: L,
    data: Protected,
}

impl<L: Exclusive> Guarded<L> {
    fn keep() -> &'static Self {
        keep(Guarded { raw: L::make(), data: Protected::new() })
    }

    fn section(&self) {
        self.raw.lock();
        self.leave();
    }

    fn leave(&self) {
        self.data.add();
        self.raw.unlock();
    }

    fn settled(&self, sections: u32) {
        assert!(self.raw.is_settled(), "something is left when everybody has left");
        assert_eq!(self.data.get(), sections, "critical sections");
        assert!(self.raw.try_lock(), "free, and cannot be had");
    }
}

/// Every thread acquires `rounds` times.
fn all_lock<L: Exclusive>(threads: u32, rounds: u32) {
    let guarded = Guarded::<L>::keep();
    let body = move || (0..rounds).for_each(|_| guarded.section());
    let others: Vec<_> = (1..threads).map(|_| spawn(body)).collect();
    body();
    others.into_iter().for_each(Handle::join);
    guarded.settled(threads * rounds);
}

/// The first thread has the lock and rests, so that `others` come to wait; then it comes `again` so often.
fn held<L: Exclusive>(others: u32, again: u32) {
    let guarded = Guarded::<L>::keep();
    guarded.raw.lock();
    let handles: Vec<_> = (0..others).map(|_| spawn(move || guarded.section())).collect();
    rest();
    guarded.leave();
    (0..again).for_each(|_| guarded.section());
    handles.into_iter().for_each(Handle::join);
    guarded.settled(1 + others + again);
}

/// One thread acquires, one tries to.
fn attempt<L: Exclusive>() {
    let guarded = Guarded::<L>::keep();
    let other = spawn(move || guarded.section());
    let got = guarded.raw.try_lock();
    saw(if got { "got it" } else { "did not" });
    if got {
        guarded.leave();
    }
    other.join();
    guarded.settled(1 + u32::from(got));
}

fn dropped<L: Exclusive>() {
    drop_after_release(L::make(), 2, |raw, section| {
        raw.lock();
        section();
        raw.unlock();
    });
}

/// A lock with readers and writers.
trait Shared: Sync + 'static {
    fn make() -> Self;
    fn read(&self);
    fn try_read(&self) -> bool;
    /// The caller has a read lock.
    fn unlock_read(&self);
    fn write(&self);
    fn try_write(&self) -> bool;
    /// The caller has the write lock.
    fn unlock_write(&self);
    /// Nobody has the lock, and nobody waits.
    fn is_settled(&self) -> bool;
}

/// [`Shared`] for a lock whose methods have these names already.
macro_rules! shared {
    ([$($generics:tt)*] $lock:ty, $is_settled:expr) => {
        impl<$($generics)*> super::Shared for $lock {
            fn make() -> Self {
                <$lock>::new_in()
            }
            fn read(&self) {
                self.read();
            }
            fn try_read(&self) -> bool {
                self.try_read()
            }
            fn unlock_read(&self) {
                // SAFETY: the caller has a read lock.
                unsafe { self.unlock_read() };
            }
            fn write(&self) {
                self.write();
            }
            fn try_write(&self) -> bool {
                self.try_write()
            }
            fn unlock_write(&self) {
                // SAFETY: the caller has the write lock.
                unsafe { self.unlock_write() };
            }
            fn is_settled(&self) -> bool {
                let is_settled: fn(&Self) -> bool = $is_settled;
                is_settled(self)
            }
        }
    };
}
use shared;

struct Pages<L> {
    raw: L,
    data: Protected,
}

impl<L: Shared> Pages<L> {
    fn keep() -> &'static Self {
        keep(Pages { raw: L::make(), data: Protected::new() })
    }

    fn read(&self) {
        self.raw.read();
        self.leave_reading();
    }

    fn write(&self) {
        self.raw.write();
        self.leave_writing();
    }

    fn leave_reading(&self) {
        self.data.get();
        self.raw.unlock_read();
    }

    fn leave_writing(&self) {
        self.data.add();
        self.raw.unlock_write();
    }

    fn settled(&self, writes: u32) {
        assert!(self.raw.is_settled(), "something is left when everybody has left");
        assert_eq!(self.data.get(), writes, "critical sections of writers");
        assert!(self.raw.try_write(), "free, and cannot be had");
    }
}

/// Writers and readers, once each; the first thread is a writer.
fn mixed<L: Shared>(writers: u32, readers: u32) {
    let pages = Pages::<L>::keep();
    let mut handles: Vec<_> = (1..writers).map(|_| spawn(move || pages.write())).collect();
    handles.extend((0..readers).map(|_| spawn(move || pages.read())));
    pages.write();
    handles.into_iter().for_each(Handle::join);
    pages.settled(writers);
}

/// The first thread has the lock, to write or to read, and rests, so that these come to wait; then it writes `again`.
fn behind<L: Shared>(writes: bool, writers: u32, readers: u32, again: u32) {
    let pages = Pages::<L>::keep();
    if writes {
        pages.raw.write();
    } else {
        pages.raw.read();
    }
    let mut handles: Vec<_> = (0..writers).map(|_| spawn(move || pages.write())).collect();
    handles.extend((0..readers).map(|_| spawn(move || pages.read())));
    rest();
    if writes {
        pages.leave_writing();
    } else {
        pages.leave_reading();
    }
    (0..again).for_each(|_| pages.write());
    handles.into_iter().for_each(Handle::join);
    pages.settled(u32::from(writes) + writers + again);
}

/// One thread writes, or reads, one tries to read, or to write.
fn attempt_shared<L: Shared>(writer: bool, to_write: bool) {
    let pages = Pages::<L>::keep();
    let other = spawn(move || if writer { pages.write() } else { pages.read() });
    let got = if to_write { pages.raw.try_write() } else { pages.raw.try_read() };
    saw(if got { "got it" } else { "did not" });
    if got && to_write {
        pages.leave_writing();
    } else if got {
        pages.leave_reading();
    }
    other.join();
    pages.settled(u32::from(writer) + u32::from(got && to_write));
}

/// The last writer drops the lock as soon as it has released it.
fn dropped_shared<L: Shared>() {
    drop_after_release(L::make(), 2, |raw, section| {
        raw.write();
        section();
        raw.unlock_write();
    });
}
