//! Readers and writers.

use super::Who::{Reader, Writer};
use super::{Engine, Guarded, Section, in_time};
use crate::platform::saw;
use turnwise::raw::{RawRwLock, RawTimedRwLock};

/// A readers-writer lock and what it protects.
pub(crate) type Pages<L> = Guarded<L>;

/// What a thread does.
pub(crate) type Role<L> = fn(&Pages<L>);

/// Returns the role of this name.
pub(crate) fn shared_role<L: RawTimedRwLock<Platform: Engine>>(name: &str) -> Role<L> {
    named! { name: read, write, read_soon, write_soon }
}

/// Each of these ends what its name says; the caller holds the lock that way.
impl<L: RawRwLock<Platform: Engine>> Pages<L> {
    pub(crate) fn leave_reading(&self) {
        self.section.count(Reader, 1);
        self.section.leave(Reader);
        // SAFETY: the caller has a read lock.
        unsafe { self.raw.unlock_read() };
    }

    pub(crate) fn write(&self) {
        self.section.count(Writer, 1);
        self.section.count(Writer, -1);
    }

    pub(crate) fn leave_writing(&self) {
        self.section.count(Writer, 1);
        self.release();
    }
}

pub(crate) fn read<L: RawRwLock<Platform: Engine>>(pages: &Pages<L>) {
    pages.raw.read();
    pages.leave_reading();
}

pub(crate) fn write<L: RawRwLock<Platform: Engine>>(pages: &Pages<L>) {
    pages.raw.lock();
    pages.leave_writing();
}

fn read_soon<L: RawTimedRwLock<Platform: Engine>>(pages: &Pages<L>) {
    if in_time(pages.raw.read_until(L::Platform::SOON)) {
        pages.leave_reading();
    }
}

fn write_soon<L: RawTimedRwLock<Platform: Engine>>(pages: &Pages<L>) {
    if in_time(pages.raw.lock_until(L::Platform::SOON)) {
        pages.leave_writing();
    }
}

/// Tries to write, and to read.
pub(crate) fn tries<L: RawRwLock<Platform: Engine>>(pages: &Pages<L>) {
    if pages.raw.try_lock() {
        pages.leave_writing();
    } else {
        saw("try failed");
    }
    if pages.raw.try_read() {
        pages.leave_reading();
    }
}
