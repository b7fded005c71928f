//! The documents' locks, before and after.

mod d_count;
mod ia64_spin;
mod kernel_spin;
mod linux_mutex;
mod osv_mutex;
mod rename_lock;
mod rwsem_spinlock;
mod rwsem_xadd;

use super::{EITHER, Guarded, Protected, SLEEP, Settles, Shows, all_lock, attempt, dropped, held, together};
use crate::check::Model;
use crate::platform::{Handle, Loom, Setup, keep, rest, saw, spawn};
use turnwise::platform::Parked;
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
const RESTLESS: Setup = Setup { spurious: Some(Parked::Woken), ..PLAIN };
const KERNEL: Setup = Setup { kernel: true, ..PLAIN };
const UNWOKEN: Shows = &["slept", "woke unwoken"];

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

/// A writer becomes a reader by `downgrade` while a reader and a writer wait.
fn downgraded<L: RawRwLock + Settles>(downgrade: unsafe fn(&L)) {
    let pages = Pages::<L>::keep();
    pages.raw.lock();
    let others = [spawn(move || pages.read()), spawn(move || pages.write())];
    rest();
    pages.data.add();
    // SAFETY: locked above; released as a reader below.
    unsafe { downgrade(&pages.raw) };
    pages.leave_reading();
    others.into_iter().for_each(Handle::join);
    pages.settled(2);
}
