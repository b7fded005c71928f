//! The preference between readers and writers.

use super::raw::{FULL, HANDOFF, UPGRADABLE, WRITER, WRITERS};

/// The side that goes first when a writer waits and a reader arrives. All users of one lock should pass the same one.
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
    /// The reader goes first: a thread that reads may read again, even if writers wait or another thread upgrades.
    /// Readers can starve a writer.
    Readers,
    /// The writer goes first once it sleeps: readers cannot starve it, and a thread that reads must not read again.
    Writers,
}

impl Prefer {
    /// Returns the bits that keep a newly arriving reader out.
    pub(super) const fn barred(self) -> u32 {
        match self {
            Prefer::Readers => WRITER | FULL,
            Prefer::Writers => WRITER | HANDOFF | WRITERS | FULL,
        }
    }

    /// Returns the bits of a word that keep out a reader that has found itself barred. `HANDOFF` alongside an
    /// upgradable reader does not while no writer waits: it belongs to a thread that waits to be upgradable, or to a
    /// writer that has withdrawn, and a thread inside may wait for the very reader that arrives.
    pub(super) fn keeps_out(self, word: u32) -> u32 {
        match self.bars(word) {
            HANDOFF if word & UPGRADABLE != 0 => 0,
            barred => barred,
        }
    }

    /// Returns the bits of a word that keep a newly arriving reader out.
    #[inline(always)]
    pub(super) fn bars(self, word: u32) -> u32 {
        match word & self.barred() {
            0 => 0,
            barred if self == Prefer::Writers => barred,
            barred => barred_unless_upgrading(word, barred),
        }
    }
}

/// Removes `WRITER` from `barred` while the writer still waits for readers to leave: it does not keep out readers that
/// go first, since it may wait for the very thread that arrives.
#[cold]
fn barred_unless_upgrading(word: u32, barred: u32) -> u32 {
    match word & (WRITER | UPGRADABLE) == WRITER | UPGRADABLE {
        true => barred & !WRITER,
        false => barred,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rwsem::raw::{HELD, READERS};

    #[test]
    fn readers_go_first_or_last() {
        assert_eq!(Prefer::Readers.barred() & (HANDOFF | WRITERS | UPGRADABLE), 0);
        assert_eq!(Prefer::Writers.barred() & UPGRADABLE, 0);
        assert!([WRITER, HANDOFF, WRITERS, FULL].iter().all(|bit| Prefer::Writers.barred() & bit != 0));
        assert_eq!(HELD & (READERS | WRITERS | HANDOFF), 0);
        assert_eq!(Prefer::Readers.bars(WRITER | UPGRADABLE | WRITERS | 1), 0);
        assert_eq!(Prefer::Readers.bars(WRITER | UPGRADABLE | FULL), FULL);
        assert_eq!(Prefer::Readers.bars(WRITER | 1), WRITER);
        assert_eq!(Prefer::Writers.bars(WRITER | UPGRADABLE | 1), WRITER);
    }

    #[test]
    fn a_request_beside_an_upgradable_reader_bars_no_reader() {
        assert_eq!(Prefer::Writers.keeps_out(UPGRADABLE | HANDOFF | READERS | 1), 0);
        assert_eq!(Prefer::Writers.keeps_out(UPGRADABLE | HANDOFF | WRITERS), HANDOFF | WRITERS);
        assert_eq!(Prefer::Writers.keeps_out(UPGRADABLE | WRITER | HANDOFF), WRITER | HANDOFF);
        assert_eq!(Prefer::Writers.keeps_out(HANDOFF | 1), HANDOFF);
    }
}
