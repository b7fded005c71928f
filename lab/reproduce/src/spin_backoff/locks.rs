//! The locks that the file is behind: readers take those with a read mode for reading.

use turnwise::raw::{RawLock, RawRwLock};
use turnwise::reentrant::Threads;
use turnwise::{McsLock, RawMcsLock};
use turnwise_bench::adapt::raw::RawLocked;
use turnwise_bench::load::exclusive::Lock;
use turnwise_catalogue::{Of, Visit, visit};

/// An action on any of the locks.
pub(super) trait WithLock<P> {
    type Out;
    fn with<L: Lock<()>>(self) -> Self::Out;
}

/// Does it with the lock of this name.
pub(super) fn with_lock<P: Threads, W: WithLock<P>>(name: &str, what: W) -> W::Out {
    visit::<P, _>(name, Readers(what))
}

struct Readers<W>(W);

impl<P: Threads, W: WithLock<P>> Visit<P> for Readers<W> {
    type Out = W::Out;

    fn exclusive<R: RawLock>(self, _: Of<R>) -> W::Out {
        self.0.with::<RawLocked<R, ()>>()
    }
    fn shared<R: RawRwLock>(self, _: Of<R>) -> W::Out {
        self.0.with::<Together<R>>()
    }
    fn mcs(self, _: Of<RawMcsLock<P>>) -> W::Out {
        self.0.with::<McsLock<(), P>>()
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
