//! Reads the program's memory, which may be unreadable.

use crate::system::{errno, keeping_errno};

/// The granule of the check, on every machine.
const PAGE: usize = 4096;
/// The most pages that a walk checks.
const MOST_PAGES: u32 = 64;

/// What is known about the memory.
#[derive(Default)]
pub(super) struct Memory {
    /// The last pages that can be read, newest first.
    pages: [usize; 4],
    asked: u32,
}

impl Memory {
    /// Reads a word; `None`: it cannot be read.
    pub(super) fn word(&mut self, at: usize) -> Option<usize> {
        if !at.is_multiple_of(size_of::<usize>()) || !self.has(at) {
            return None;
        }
        // SAFETY: the system has just read from this page (invariant 1 of the walk). Another thread of the program
        // could unmap it: then it is not the memory of a call that this one is in.
        Some(unsafe { core::ptr::with_exposed_provenance::<usize>(at).read_volatile() })
    }

    fn has(&mut self, at: usize) -> bool {
        let page = at / PAGE * PAGE;
        if page == 0 {
            return false;
        }
        if self.pages.contains(&page) {
            return true;
        }
        self.asked += 1;
        if self.asked > MOST_PAGES || !is_readable(page) {
            return false;
        }
        self.pages.rotate_right(1);
        self.pages[0] = page;
        true
    }
}

/// Reads words of the program's memory from an address upwards, as far as it can be read; returns their number.
/// `known`: an address that can be read (or 0), whose page is not checked.
pub fn words(known: usize, at: usize, to: &mut [usize]) -> usize {
    let mut memory = Memory { pages: [known / PAGE * PAGE, 0, 0, 0], asked: 0 };
    for (index, word) in to.iter_mut().enumerate() {
        let Some(found) = memory.word(at.wrapping_add(index * size_of::<usize>())) else { return index };
        *word = found;
    }
    to.len()
}

/// Returns whether a page can be read: the system reads a set of signals there, and then refuses the request, whose
/// operation does not exist. No sandbox forbids this call, which the C library also makes when threads begin and end.
fn is_readable(page: usize) -> bool {
    const NO_WAY: libc::c_int = -1;
    const SET_BYTES: usize = 8;
    let none: *mut u8 = core::ptr::null_mut();
    keeping_errno(|| {
        // SAFETY: the call changes nothing.
        let result = unsafe { libc::syscall(libc::SYS_rt_sigprocmask, NO_WAY, page, none, SET_BYTES) };
        result == -1 && errno() == libc::EINVAL
    })
}

#[cfg(test)]
mod tests {
    use super::{Memory, words};

    #[test]
    fn only_what_can_be_read_is_read() {
        let here = 7_usize;
        let mut memory = Memory::default();
        assert_eq!(memory.word(&raw const here as usize), Some(7));
        assert_eq!(memory.word(&raw const here as usize + 1), None);
        for at in [0, 8, usize::MAX - 7, 0xdead_beef_dead_beef & !7] {
            assert_eq!(memory.word(at), None, "{at:#x}");
        }
        // SAFETY: a new mapping, not used elsewhere.
        let guard = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            libc::mmap(core::ptr::null_mut(), 4096, libc::PROT_NONE, flags, -1, 0)
        };
        assert_eq!(memory.word(guard as usize), None);
        let (here, mut read) = ([1_usize, 2, 3], [0; 3]);
        assert_eq!((words(0, here.as_ptr() as usize, &mut read), read), (3, here));
        assert_eq!(words(0, guard as usize, &mut read), 0);
    }
}
