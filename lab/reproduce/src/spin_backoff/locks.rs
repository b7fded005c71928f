//! The locks that the file is behind: readers take those with a read mode for reading.

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
    visit::<Sim, _>(name, Readers(what))
}

struct Readers<W>(W);

impl<W: WithLock> Visit<Sim> for Readers<W> {
    type Out = W::Out;

    fn exclusive<R: RawLock>(self, _: Of<R>) -> W::Out {
        self.0.with::<RawLocked<R, ()>>()
    }
    fn shared<R: RawRwLock>(self, _: Of<R>) -> W::Out {
        self.0.with::<Together<R>>()
    }
    fn mcs(self, _: Of<RawMcsLock<Sim>>) -> W::Out {
        self.0.with::<McsLock<(), Sim>>()
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
