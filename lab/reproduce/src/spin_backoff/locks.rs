//! The locks that the file is behind: readers take those with a read mode for reading, unless the name says otherwise.

use turnwise::raw::{RawLock, RawRwLock};
use turnwise::{McsLock, RawMcsLock};
use turnwise_bench::adapt::raw::RawLocked;
use turnwise_bench::load::exclusive::Lock;
use turnwise_catalogue::{Of, Visit, visit};
use turnwise_sim::Sim;

/// An action on any of the locks.
pub(super) trait WithLock {
    type Out;
    fn with<L: Lock<()>>(self) -> Self::Out;
}

/// Does it with the lock of this name.
pub(super) fn with_lock<W: WithLock>(name: &str, what: W) -> W::Out {
    let lock = name.strip_suffix(", for writing");
    visit::<Sim, _>(lock.unwrap_or(name), Taking { what, read: lock.is_none() })
}

struct Taking<W> {
    what: W,
    /// For reading, where there is such a mode.
    read: bool,
}

impl<W: WithLock> Visit<Sim> for Taking<W> {
    type Out = W::Out;

    fn exclusive<R: RawLock>(self, _: Of<R>) -> W::Out {
        self.what.with::<RawLocked<R, ()>>()
    }
    fn shared<R: RawRwLock>(self, _: Of<R>) -> W::Out {
        if self.read { self.what.with::<Together<R>>() } else { self.what.with::<RawLocked<R, ()>>() }
    }
    fn mcs(self, _: Of<RawMcsLock<Sim>>) -> W::Out {
        self.what.with::<McsLock<(), Sim>>()
    }
}

/// A lock that readers take for reading.
struct Together<R>(R);

impl<R: RawRwLock> Lock<()> for Together<R> {
    fn new((): ()) -> Self {
        Together(R::new_in())
    }

    fn with<O>(&self, section: impl FnOnce(&mut ()) -> O) -> O {
        self.0.read();
        let out = section(&mut ());
        // SAFETY: acquired above.
        unsafe { self.0.unlock_read() };
        out
    }
}
