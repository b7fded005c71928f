//! What a lock itself knows of spins, for threads that know nothing of it.
//!
//! A thread keeps what it learns about a lock ([`super::SpinHistory`]), and takes it along when it ends; and it
//! remembers few locks. So the last to leave a line of spinners leaves a note in the line's word, where there is room
//! as long as nobody is in it ([`crate::osq`]): no step of the lock reads or writes more for it, but for the first wait
//! of a thread.

use crate::platform::SpinEnd;

/// How many spins in a row have failed, as far as the last to leave a line knows. A hint: any bits are a note.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Note(u16);

impl Note {
    /// Says nothing.
    pub(crate) const NOTHING: Note = Note(0);

    /// Returns the note with these bits.
    pub(crate) fn from_bits(bits: u16) -> Note {
        Note(bits)
    }

    /// Returns the bits of the note; 0: it says nothing.
    pub(crate) fn to_bits(self) -> u16 {
        self.0
    }

    /// Returns the note that says so.
    pub(crate) fn of_failures(failures: u8) -> Note {
        Note(1 + u16::from(failures))
    }

    /// Returns the note to leave after a spin that ended so, of a thread that had failed so many times before.
    pub(crate) fn after<T>(end: &Result<T, SpinEnd>, one_owner: bool, failures: u8) -> Note {
        match spins_pay(end, one_owner) {
            Some(true) => Note::of_failures(0),
            Some(false) => Note::of_failures(failures.saturating_add(1)),
            None if failures == 0 => Note::NOTHING,
            None => Note::of_failures(failures),
        }
    }

    /// Returns how many spins in a row have failed; `None`: it does not say.
    pub(crate) fn failures(self) -> Option<u8> {
        self.0.checked_sub(1).map(|failures| u8::try_from(failures).unwrap_or(u8::MAX))
    }
}

/// Whether a spin that ended so shows that spins pay; `None`: it says nothing. A budget spent on one owner shows that
/// sections are long; one spent while the lock went from owner to owner (`one_owner` is false) shows a long line, and
/// who sleeps instead is woken by those that have the lock. An owner whose CPU another thread of ours has says nothing
/// about the length of sections.
pub(super) fn spins_pay<T>(end: &Result<T, SpinEnd>, one_owner: bool) -> Option<bool> {
    match end {
        Ok(_) => Some(true),
        Err(SpinEnd::Deadline) => one_owner.then_some(false),
        Err(SpinEnd::NotRunning) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_says_how_many_spins_have_failed() {
        assert_eq!((Note::NOTHING.to_bits(), Note::NOTHING.failures()), (0, None));
        for failures in [0, 1, 4, u8::MAX] {
            let note = Note::from_bits(Note::of_failures(failures).to_bits());
            assert_eq!(note.failures(), Some(failures));
        }
        assert_eq!(Note::from_bits(u16::MAX).failures(), Some(u8::MAX), "any bits are a note");
    }

    #[test]
    fn a_spin_changes_the_note_by_what_it_shows() {
        let after = |end: Result<(), SpinEnd>, one_owner, failures| Note::after(&end, one_owner, failures).failures();
        assert_eq!(after(Ok(()), true, 3), Some(0));
        assert_eq!(after(Err(SpinEnd::Deadline), true, 3), Some(4));
        assert_eq!(after(Err(SpinEnd::Deadline), true, u8::MAX), Some(u8::MAX));
        assert_eq!(after(Err(SpinEnd::Deadline), false, 3), Some(3), "the line is long");
        assert_eq!(after(Err(SpinEnd::NotRunning), true, 0), None, "nothing is known");
    }
}
