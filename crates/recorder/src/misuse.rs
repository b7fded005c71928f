//! Notes what a program does with its mutexes though POSIX forbids it.
//!
//! A thread's list of held locks is no proof: a lock may be taken where nothing is recorded. So only what the mutex's
//! own words confirm is noted, of the C library's mutexes, and not where another kind of mutex defines what happens.

use crate::holder::{self, Holder};
use crate::mapping::SPREAD;
use crate::state::State;
use crate::{locks, memory, real, stacks};
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;
use turnwise_recording::{
    ChunkKind, Class, DESTROYED_HELD, ENDED_WITH, Misuse, RELEASED_FREE, RELEASED_OF_ANOTHER, WAITED_WITHOUT,
};

/// The most that is noted of a thread.
const MOST: u32 = 1024;

/// Returns whether the C library neither checks nor repairs what is done with the mutex, which the program is using.
fn is_plain_mutex(class: Class, address: u64) -> bool {
    class == Class::Mutex && !real::next_is_preload() && locks::is_plain(locks::kind_of_mutex(class, address))
}

/// Returns whether a mutex that the program is using is free.
fn is_free(address: u64) -> bool {
    // SAFETY: the first word of the program's mutex; the C library reads it in the same way.
    unsafe { (*(address as *const AtomicU32)).load(Relaxed) == 0 }
}

impl State {
    /// Notes that the thread is about to release a lock. If another thread has it, that one has it no longer.
    pub(crate) fn watch_release(&self, class: Class, address: u64) {
        if !self.locks.lacks(address) || !is_plain_mutex(class, address) {
            return;
        }
        match self.process().peers.take_from(class, address) {
            Some(holder) => self.note_misuse(RELEASED_OF_ANOTHER, address, Some(holder)),
            None if is_free(address) => self.note_misuse(RELEASED_FREE, address, None),
            None => (),
        }
    }

    /// Notes that the thread is about to destroy a lock.
    pub(crate) fn watch_destroy(&self, class: Class, address: u64) {
        if is_plain_mutex(class, address)
            && let Some(holder) = self.holder_of_mutex(address)
        {
            self.note_misuse(DESTROYED_HELD, address, Some(holder));
        }
    }

    /// Notes that the thread is about to wait on a condition variable with a mutex.
    pub(crate) fn watch_wait(&self, address: u64) {
        if self.locks.lacks(address) && is_plain_mutex(Class::Mutex, address) {
            let holder = self.holder_of_mutex(address);
            if holder.is_some() || is_free(address) {
                self.note_misuse(WAITED_WITHOUT, address, holder);
            }
        }
    }

    /// Notes which mutexes the thread has at its end.
    pub(crate) fn watch_end(&self) {
        for held in self.locks.all() {
            let Some(entry) = held.entry() else { continue };
            let is_plain = locks::is_plain_mutex(self.writer.mapping(), entry.lock.load(Relaxed));
            // The mutex's memory may be gone.
            if is_plain
                && !real::next_is_preload()
                && holder::owner_if_readable(held.address()) == Some(self.peer.tid())
            {
                self.note_misuse(ENDED_WITH, held.address(), self.holder_of_mutex(held.address()));
            }
        }
    }

    fn holder_of_mutex(&self, address: u64) -> Option<Holder> {
        self.process().peers.holder(&self.peer, Class::Mutex, address, false)
    }

    /// Writes it down, once for each lock.
    fn note_misuse(&self, what: u32, address: u64, holder: Option<Holder>) {
        let State { notes, writer, .. } = self;
        let key = (address << 3 | u64::from(what)).wrapping_mul(SPREAD) | 1;
        if notes.has_noted(key) || notes.misused.get() >= MOST {
            return;
        }
        notes.remember(key);
        notes.misused.set(notes.misused.get() + 1);
        memory::keeping_errno(|| {
            let lock = locks::number(writer.mapping(), Class::Mutex, address)?;
            let stack = if what == ENDED_WITH { 0 } else { stacks::of_program(writer) };
            let misuse = notes.misuses.take::<Misuse>(writer, ChunkKind::Misuses)?;
            misuse.thread.store(writer.index(), Relaxed);
            misuse.lock.store(lock, Relaxed);
            misuse.stack.store(stack, Relaxed);
            misuse.holder.store(holder.map_or(0, |holder| holder.thread + 1), Relaxed);
            misuse.holder_site.store(holder.map_or(0, |holder| holder.site), Relaxed);
            misuse.what.store(what, Relaxed);
            notes.misuses.publish();
            Some(())
        });
    }
}
