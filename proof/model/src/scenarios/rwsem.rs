//! The operations of the readers-writer lock other than reading and writing.

use super::Who::{Reader, Upgradable};
use super::{Engine, Pages, Role, Section, in_time, shared_role};
use crate::platform::saw;
use turnwise::RawRwSem;
use turnwise::raw::{RawLock, RawRwLock};
use turnwise::rwsem::Prefer::{self, Readers};

type Raw<E> = RawRwSem<E>;

/// Returns the role of this name.
pub(crate) fn role<E: Engine>(name: &str) -> Role<Raw<E>> {
    named! { name: read_first, upgradable, upgrade, upgrade_soon, downgrade, lower; shared_role(name) }
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
