//! The number of forks between this process and the first of its ancestors that loaded this code: 0, and one more in
//! each forked child. (A child that never queried it is not counted: nothing bears its number.)
//!
//! A child is recognised at its first query, by a word in a page that the kernel wipes in it: no handler of
//! `pthread_atfork` could be in time for those of libraries that were loaded earlier, and `_Fork` and the system call
//! run none. Only where the kernel does not wipe (before 4.14; qemu's user mode) does such a handler count.

use core::ptr::{self, null_mut};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU32};
use libc::{MADV_WIPEONFORK, MAP_ANONYMOUS, MAP_FAILED, MAP_PRIVATE, PROT_READ, PROT_WRITE};

/// The words that the kernel wipes in a child.
#[repr(C)]
struct Words {
    /// The generation + 1, or 0 in a child that has not yet queried it.
    known: AtomicU32,
    /// Nonzero only in the first process, if the kernel does wipe.
    first: AtomicU32,
}

/// The pointer to the words, on its own cache line: every contended call reads it. Null if there is no page (yet).
#[repr(align(128))]
struct Page(AtomicPtr<Words>);

static PAGE: Page = Page(AtomicPtr::new(null_mut()));

/// A number no less than the generation of this process; children continue from here. Without a page it is the
/// generation.
static LAST: AtomicU32 = AtomicU32::new(0);

/// Returns the generation of this process: [`crate::platform::Platform::generation`]. It stays the same until the
/// process ends, and this function neither allocates nor calls the system.
#[inline]
pub fn generation() -> u32 {
    // ORDERING generation.page: pairs with the Release in `start`; the word holds its first value.
    let page = PAGE.0.load(Acquire);
    if page.is_null() {
        return LAST.load(Relaxed);
    }
    // SAFETY: `start` created the page, and it is never unmapped.
    let known = unsafe { &(*page).known };
    match known.load(Relaxed) {
        0 => begin(known),
        number => number - 1,
    }
}

/// Finds a child's generation. Its threads may race here: one number wins, and `LAST` is no less before any thread can
/// see it, so a fork from here on also continues from a number that is no less.
#[cold]
fn begin(known: &AtomicU32) -> u32 {
    let mine = LAST.fetch_add(1, Relaxed) + 1;
    match known.compare_exchange(0, mine + 1, Relaxed, Relaxed) {
        Ok(_) => mine,
        Err(found) => found - 1,
    }
}

/// Abandons the page, as a handler in a forked child, if it was not wiped.
pub(super) fn in_child() {
    let page = PAGE.0.load(Relaxed);
    // SAFETY: the page is not null, so `start` created it, and it is never unmapped.
    if page.is_null() || unsafe { (*page).first.load(Relaxed) } != 0 {
        PAGE.0.store(null_mut(), Relaxed);
        LAST.fetch_add(1, Relaxed);
    }
}

/// Creates the page. The constructor calls this once.
pub(super) fn start() {
    if cfg!(miri) {
        return; // Miri has neither such pages nor forks
    }
    let bytes = size_of::<Words>(); // the kernel rounds up
    // SAFETY: a new mapping at an address of the kernel's choice touches no memory in use.
    let memory = unsafe { libc::mmap(null_mut(), bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) };
    if memory == MAP_FAILED {
        return;
    }
    let page: *mut Words = memory.cast();
    // SAFETY: the mapping is ours; zero bytes are valid words.
    unsafe {
        if libc::madvise(memory, bytes, MADV_WIPEONFORK) != 0 {
            libc::munmap(memory, bytes);
            return;
        }
        ptr::write(page, Words { known: AtomicU32::new(LAST.load(Relaxed) + 1), first: AtomicU32::new(1) });
    }
    // ORDERING generation.page: pairs with the Acquire in `generation`: shows the first values.
    PAGE.0.store(page, Release);
}
