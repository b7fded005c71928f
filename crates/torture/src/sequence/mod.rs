//! What a sequence lock offers beside exclusion: reads that writers may spoil, and reads that shut writers out.

pub mod broken;

use crate::lock::{Held, Lock};
use turnwise::SeqRwLock;
use turnwise::platform::Deadline;

/// The payload: the words of a whole value are equal.
pub type Payload = [u64; 4];

/// A payload behind a sequence lock.
pub trait Sequence {
    /// An optimistic read.
    fn read(&self) -> Payload;

    /// A blocking read: calls `look` twice, with `pause` between.
    fn read_blocking(&self, look: &mut dyn FnMut(Payload), pause: &mut dyn FnMut());

    /// Writes.
    fn set(&self, value: Payload);
}

/// The typed lock; as a lock without data, its writers.
#[derive(Default)]
pub struct SeqLock(SeqRwLock<Payload>);

impl Sequence for SeqLock {
    fn read(&self) -> Payload {
        self.0.read()
    }

    fn read_blocking(&self, look: &mut dyn FnMut(Payload), pause: &mut dyn FnMut()) {
        let guard = self.0.blocking_read();
        look(*guard);
        pause();
        // As two accesses for the compiler too, which may otherwise trust that nothing changes.
        look(*std::hint::black_box(&*guard));
    }

    fn set(&self, value: Payload) {
        self.0.set(value);
    }
}

impl Lock for SeqLock {
    fn acquire(&self) -> Held {
        self.0.raw().write();
        None
    }

    fn try_acquire(&self) -> Option<Held> {
        self.0.raw().try_write().then_some(None)
    }

    fn acquire_until(&self, deadline: Deadline) -> Option<Held> {
        self.0.raw().write_until(deadline).then_some(None)
    }

    unsafe fn release(&self, _held: Held) {
        // SAFETY: the caller has the lock.
        unsafe { self.0.raw().unlock_write() };
    }

    fn sequence(&self) -> &dyn Sequence {
        self
    }

    fn words(&self) -> String {
        format!("{:?}", self.0.raw())
    }
}
