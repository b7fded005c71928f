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
use turnwise::raw::{RawLock, RawRwLock};

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

/// A lock that can tell whether all is over.
trait Settles: RawLock {
    /// Nobody has the lock, and nobody waits.
    fn is_settled(&self) -> bool {
        !self.is_locked()
    }
}

struct Guarded<L> {
    raw: L,
    data: Protected,
}

impl<L: Settles> Guarded<L> {
    fn keep() -> &'static Self {
        keep(Guarded { raw: L::new_in(), data: Protected::new() })
    }

    fn section(&self) {
        self.raw.lock();
        self.leave();
    }

    fn leave(&self) {
        self.data.add();
        // SAFETY: the caller has the lock.
        unsafe { self.raw.unlock() };
    }

    fn settled(&self, sections: u32) {
        assert!(self.raw.is_settled(), "something is left when everybody has left");
        assert_eq!(self.data.get(), sections, "critical sections");
        assert!(self.raw.try_lock(), "free, and cannot be had");
    }
}

/// Every thread acquires `rounds` times.
fn all_lock<L: Settles>(threads: u32, rounds: u32) {
    let guarded = Guarded::<L>::keep();
    let body = move || (0..rounds).for_each(|_| guarded.section());
    let others: Vec<_> = (1..threads).map(|_| spawn(body)).collect();
    body();
    others.into_iter().for_each(Handle::join);
    guarded.settled(threads * rounds);
}

/// The first thread has the lock and rests, so that `others` come to wait; then it comes `again` so often.
fn held<L: Settles>(others: u32, again: u32) {
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
fn attempt<L: Settles>() {
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

fn dropped<L: RawLock>() {
    drop_after_release(L::new_in(), 2, |raw, section| {
        raw.lock();
        section();
        // SAFETY: acquired above.
        unsafe { raw.unlock() };
    });
}

struct Pages<L> {
    raw: L,
    data: Protected,
}

impl<L: RawRwLock + Settles> Pages<L> {
    fn keep() -> &'static Self {
        keep(Pages { raw: L::new_in(), data: Protected::new() })
    }

    fn read(&self) {
        self.raw.read();
        self.leave_reading();
    }

    fn write(&self) {
        self.raw.lock();
        self.leave_writing();
    }

    fn leave_reading(&self) {
        self.data.get();
        // SAFETY: the caller has a read lock.
        unsafe { self.raw.unlock_read() };
    }

    fn leave_writing(&self) {
        self.data.add();
        // SAFETY: the caller has the write lock.
        unsafe { self.raw.unlock() };
    }

    fn settled(&self, writes: u32) {
        assert!(self.raw.is_settled(), "something is left when everybody has left");
        assert_eq!(self.data.get(), writes, "critical sections of writers");
        assert!(self.raw.try_lock(), "free, and cannot be had");
    }
}

/// Writers and readers, once each; the first thread is a writer.
fn mixed<L: RawRwLock + Settles>(writers: u32, readers: u32) {
    let pages = Pages::<L>::keep();
    let mut handles: Vec<_> = (1..writers).map(|_| spawn(move || pages.write())).collect();
    handles.extend((0..readers).map(|_| spawn(move || pages.read())));
    pages.write();
    handles.into_iter().for_each(Handle::join);
    pages.settled(writers);
}

/// The first thread has the lock, to write or to read, and rests, so that these come to wait; then it writes `again`.
fn behind<L: RawRwLock + Settles>(writes: bool, writers: u32, readers: u32, again: u32) {
    let pages = Pages::<L>::keep();
    if writes {
        pages.raw.lock();
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
fn attempt_shared<L: RawRwLock + Settles>(writer: bool, to_write: bool) {
    let pages = Pages::<L>::keep();
    let other = spawn(move || if writer { pages.write() } else { pages.read() });
    let got = if to_write { pages.raw.try_lock() } else { pages.raw.try_read() };
    saw(if got { "got it" } else { "did not" });
    if got && to_write {
        pages.leave_writing();
    } else if got {
        pages.leave_reading();
    }
    other.join();
    pages.settled(u32::from(writer) + u32::from(got && to_write));
}
