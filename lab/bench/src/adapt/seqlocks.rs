//! Our sequence lock, whose readers need not write: one type for each way to read.

use crate::load::exclusive::Lock;
use crate::load::shared::{Record, SharedLock};
use turnwise::SeqRwLock;
use turnwise::platform::{DefaultPlatform, Platform};

/// `$name`: our sequence lock, read as `$read` specifies.
macro_rules! ours {
    ($(#[$doc:meta])* $name:ident, |$lock:ident, $f:ident| $read:expr) => {
        $(#[$doc])*
        pub struct $name<P: Platform = DefaultPlatform>(SeqRwLock<Record, P>);

        impl<P: Platform> Lock<Record> for $name<P> {
            fn new(value: Record) -> Self {
                $name(SeqRwLock::new_in(value))
            }

            #[inline]
            fn with<R>(&self, f: impl FnOnce(&mut Record) -> R) -> R {
                f(&mut self.0.write())
            }
        }

        impl<P: Platform> SharedLock for $name<P> {
            #[inline]
            fn read<R>(&self, $f: impl FnOnce(&Record) -> R) -> R {
                let $lock = &self.0;
                $read
            }
        }
    };
}

ours!(
    /// Readers copy, without writing to the lock.
    Optimistic,
    |lock, f| f(&lock.read())
);
ours!(
    /// Readers pass a closure, which runs on the copy or under the lock.
    With,
    |lock, f| lock.read_with(f)
);
ours!(
    /// Readers keep writers out, and do not copy.
    Blocking,
    |lock, f| f(&lock.blocking_read())
);
