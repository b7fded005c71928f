//! Locks of the catalogue in an experiment that has one writer at a time, whatever else they can do.

use turnwise::raw::{RawLock, RawRwLock};
use turnwise::reentrant::Threads;
use turnwise_catalogue::{Of, Visit, visit};

/// Something to do with a lock.
pub(crate) trait WithLock<P> {
    /// The result.
    type Out;

    /// Does it.
    fn with<L: RawLock>(self) -> Self::Out;
}

/// Does it with the lock of this name.
pub(crate) fn with_lock<P: Threads, W: WithLock<P>>(name: &str, what: W) -> W::Out {
    visit::<P, _>(name, Writers(what))
}

struct Writers<W>(W);

impl<P: Threads, W: WithLock<P>> Visit<P> for Writers<W> {
    type Out = W::Out;

    fn exclusive<R: RawLock>(self, _: Of<R>) -> W::Out {
        self.0.with::<R>()
    }
    fn shared<R: RawRwLock>(self, _: Of<R>) -> W::Out {
        self.0.with::<R>()
    }
}
