//! The operations of the readers-writer lock other than reading and writing.

use super::Who::{Reader, Upgradable};
use super::{Engine, FirstWord, Pages, Role, Section, in_time, shared_role};
use crate::platform::saw;
use std::ptr;
use std::sync::atomic::Ordering::Relaxed;
use turnwise::RawRwSem;
use turnwise::platform::{Clock, Deadline, IntWord, Word};
use turnwise::raw::{RawLock, RawRwLock, RawTimedRwLock};
use turnwise::rwsem::Prefer::{self, Readers};

type Raw<E> = RawRwSem<E>;

/// Returns the role of this name.
pub(crate) fn role<E: Engine>(name: &str) -> Role<Raw<E>> {
    named! { name:
        read_first, read_briefly, upgradable, upgrade, upgrade_soon, downgrade, lower; shared_role(name)
    }
}

impl<E: Engine> Pages<Raw<E>> {
    /// The caller has the write lock, and its next release may begin a phase: as if it had slept, and the last phase
    /// were long over.
    pub(crate) fn allow_phase(&self) {
        const WRITERS: u32 = 1 << 31;
        const LONG_AGO: u32 = 0xf0 << 16;
        self.raw.word().fetch_or(WRITERS, Relaxed);
        // SAFETY: in the `repr(C)` lock the owner's word follows the first.
        let owner = unsafe { &*ptr::from_ref(&self.raw).cast::<E::U32>().add(1) };
        owner.store(LONG_AGO, Relaxed);
    }
}

/// Each of these ends what its name says; the caller holds the lock that way.
impl<E: Engine> Pages<Raw<E>> {
    pub(crate) fn leave_reading_with(&self, prefer: Prefer) {
        self.section.count(Reader, 1);
        self.section.leave(Reader);
        // SAFETY: the caller has a read lock.
        unsafe { self.raw.unlock_read_with(prefer) };
    }

    pub(crate) fn leave_upgradable(&self) {
        self.section.count(Upgradable, 1);
        self.section.leave(Upgradable);
        // SAFETY: the caller has the upgradable read lock.
        unsafe { self.raw.unlock_upgradable() };
    }

    pub(crate) fn upgrade_and_leave(&self) {
        self.section.count(Upgradable, 1);
        // SAFETY: the caller has the upgradable read lock.
        unsafe { self.raw.upgrade() };
        E::expect(|| self.raw.is_write_locked(), "upgraded, and no writer is reported");
        self.section.count(Upgradable, -1);
        saw("upgraded");
        self.leave_writing();
    }

    pub(crate) fn downgrade_and_leave(&self) {
        self.write();
        self.section.count(Reader, 1);
        // SAFETY: the caller has the write lock.
        unsafe { self.raw.downgrade() };
        self.section.leave(Reader);
        // SAFETY: downgraded above.
        unsafe { self.raw.unlock_read() };
    }
}

/// Reads past writers that sleep.
pub(crate) fn read_first<E: Engine>(pages: &Pages<Raw<E>>) {
    assert!(pages.raw.read_with(Readers, None), "it waits without a deadline");
    pages.leave_reading_with(Readers);
}

/// Gives up before a warden that naps polls again.
fn read_briefly<E: Engine>(pages: &Pages<Raw<E>>) {
    if in_time(pages.raw.read_until(Deadline { clock: Clock::Monotonic, at: 1_000 })) {
        pages.leave_reading();
    }
}

fn upgradable<E: Engine>(pages: &Pages<Raw<E>>) {
    pages.raw.upgradable_read();
    pages.leave_upgradable();
}

fn upgrade<E: Engine>(pages: &Pages<Raw<E>>) {
    pages.raw.upgradable_read();
    pages.upgrade_and_leave();
}

/// Gives up the upgrade if that takes long.
fn upgrade_soon<E: Engine>(pages: &Pages<Raw<E>>) {
    pages.raw.upgradable_read();
    pages.section.count(Upgradable, 1);
    // SAFETY: just acquired.
    let upgraded = in_time(unsafe { pages.raw.upgrade_until(E::SOON) });
    pages.section.count(Upgradable, -1);
    if upgraded {
        saw("upgraded");
        pages.leave_writing();
    } else {
        saw("gave up upgrading");
        pages.leave_upgradable();
    }
}

fn downgrade<E: Engine>(pages: &Pages<Raw<E>>) {
    pages.raw.lock();
    pages.downgrade_and_leave();
}

/// Goes from writer to upgradable reader to reader.
fn lower<E: Engine>(pages: &Pages<Raw<E>>) {
    pages.raw.lock();
    pages.write();
    pages.section.count(Upgradable, 1);
    // SAFETY: just acquired.
    unsafe { pages.raw.downgrade_to_upgradable() };
    pages.section.count(Upgradable, -1);
    pages.section.count(Reader, 1);
    // SAFETY: it has the upgradable read lock.
    unsafe { pages.raw.downgrade_upgradable() };
    pages.section.leave(Reader);
    // SAFETY: a reader since the last step.
    unsafe { pages.raw.unlock_read() };
}
