//! The papers' locks, before and after.

pub(super) mod d_count;
pub(super) mod ia64_spin;
pub(super) mod kernel_spin;
pub(super) mod linux_mutex;
pub(super) mod osv_mutex;
pub(super) mod rename_lock;
pub(super) mod rwsem_spinlock;
pub(super) mod rwsem_xadd;

use super::*;
use crate::scenarios::{read, write};

/// The scenes of a lock with readers and writers.
fn pages<L: RawRwLock + Settles>(call: &mut Call) -> Body {
    scenes! { call():
        mixed::<L>(roles: [role]), behind::<L>(writes, again, roles: [role]), attempt_shared::<L>(writer, to_write);
        lock::<L>(call)
    }
}

/// The scenes of such a lock whose writers may become readers.
fn lowered<L: RawRwLock + Settles>(call: &mut Call, downgrade: unsafe fn(&L)) -> Body {
    if call.name == "downgraded" { body(move || downgraded(downgrade)) } else { pages::<L>(call) }
}

fn role<L: RawRwLock<Platform = Loom>>(name: &str) -> Role<L> {
    named! { name: read, write }
}

/// All come at once.
fn mixed<L: RawRwLock + Settles>(roles: &'static [Role<L>]) {
    meet(|_| (), roles);
}

/// The first thread has the lock, to write or to read, and rests, so that these come to wait; then it writes `again`.
fn behind<L: RawRwLock + Settles>(writes: bool, again: u32, roles: &[Role<L>]) {
    let pages = Pages::<L>::keep();
    if writes {
        pages.raw.lock();
    } else {
        pages.raw.read();
    }
    let leave = |pages: &Pages<L>| {
        if writes {
            pages.leave_writing();
        } else {
            pages.leave_reading();
        }
        (0..again).for_each(|_| write(pages));
    };
    wait_behind(pages, roles, leave).is_over();
}

/// One thread writes, or reads; one tries to read, or to write.
fn attempt_shared<L: RawRwLock + Settles>(writer: bool, to_write: bool) {
    let pages = Pages::<L>::keep();
    let other = spawn(move || if writer { write(pages) } else { read(pages) });
    let got = if to_write { pages.raw.try_lock() } else { pages.raw.try_read() };
    saw(if got { "got it" } else { "did not" });
    if got && to_write {
        pages.leave_writing();
    } else if got {
        pages.leave_reading();
    }
    other.join();
    pages.is_over();
}

/// A writer becomes a reader by `downgrade` while a reader and a writer wait.
fn downgraded<L: RawRwLock + Settles>(downgrade: unsafe fn(&L)) {
    let leave = |pages: &Pages<L>| {
        pages.write();
        // SAFETY: the first thread has it, to write; released as a reader below.
        unsafe { downgrade(&pages.raw) };
        pages.leave_reading();
    };
    let roles: [Role<L>; 2] = [read, write];
    wait_behind(Pages::owned(), &roles, leave).is_over();
}
