//! Who goes first when a writer waits and a reader comes.

/// The preference when a writer waits and a reader comes. All users of one lock should pass the same one.
///
/// ```
/// use turnwise::{RawRwSem, rwsem::Prefer};
///
/// let lock = RawRwSem::new();
/// assert!(lock.read_with(Prefer::Readers, None));
/// // SAFETY: this thread has just acquired it for reading.
/// unsafe { lock.unlock_read_with(Prefer::Readers) };
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[expect(clippy::exhaustive_enums, reason = "there is no third side")]
pub enum Prefer {
    /// The reader goes first: a thread that reads may read again, even if writers wait. Readers can starve a writer.
    Readers,
    /// The writer goes first once it sleeps: readers cannot starve it, and a thread that reads must not read again.
    Writers,
}
