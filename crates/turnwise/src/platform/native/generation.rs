//! How many forks this process is away from the first of its ancestors that loaded this code: 0, and one more in each
//! forked child. (A child that never asked is left out: nothing bears its number.)
//!
//! A child is found out by a word in a page that the kernel wipes in it, when it first asks: no handler of
//! `pthread_atfork` could be in time for those of libraries that were loaded earlier, and `_Fork` and the system call
//! run none. Only where the kernel does not wipe (before 4.14; qemu's user mode) such a handler counts.

use core::ptr::{self, null_mut};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU32};
use libc::{MADV_WIPEONFORK, MAP_ANONYMOUS, MAP_FAILED, MAP_PRIVATE, PROT_READ, PROT_WRITE};

/// What the kernel wipes.
#[repr(C)]
struct Words {
    /// The generation + 1, or 0 in a child that has not asked yet.
    known: AtomicU32,
    /// Not 0 in the first process only, if the kernel does wipe.
    first: AtomicU32,
}

/// On a cache line of its own: every contended call reads it. Null: there is no page, or not yet.
#[repr(align(128))]
struct Page(AtomicPtr<Words>);

static PAGE: Page = Page(AtomicPtr::new(null_mut()));

/// At least the generation of this process; children count on from here. Without a page: the generation.
static LAST: AtomicU32 = AtomicU32::new(0);

/// The generation of this process: [`super::super::Platform::generation`]. It stays the same until the process ends,
/// and asking neither allocates nor calls the system.
#[inline]
pub fn generation() -> u32 {
    // ORDERING generation.page: pairs with the Release in `start`; the word holds its first value.
    let page = PAGE.0.load(Acquire);
    if page.is_null() {
        return LAST.load(Relaxed);
    }
    // SAFETY: `start` made the page, and nobody unmaps it.
    let known = unsafe { &(*page).known };
    match known.load(Relaxed) {
        0 => begin(known),
        number => number - 1,
    }
}

/// In a child. Its threads may race here: one number wins, and `LAST` is no less before anybody can see it, so a fork
/// from here on counts on from a number that is no less either.
#[cold]
fn begin(known: &AtomicU32) -> u32 {
    let mine = LAST.fetch_add(1, Relaxed) + 1;
    match known.compare_exchange(0, mine + 1, Relaxed, Relaxed) {
        Ok(_) => mine,
        Err(found) => found - 1,
    }
}

/// In a forked child, by a handler: does without the page if that was not wiped.
pub(super) fn in_child() {
    let page = PAGE.0.load(Relaxed);
    // SAFETY: as in `generation`, of a page that is not null.
    if page.is_null() || unsafe { (*page).first.load(Relaxed) } != 0 {
        PAGE.0.store(null_mut(), Relaxed);
        LAST.fetch_add(1, Relaxed);
    }
}

/// Makes the page. Called once, by the constructor.
pub(super) fn start() {
    if cfg!(miri) {
        return; // it knows neither such pages nor forks
    }
    let bytes = size_of::<Words>(); // the kernel rounds up
    // SAFETY: a new mapping, wherever the system likes.
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
    // ORDERING generation.page: pairs with the Acquire in `generation`.
    PAGE.0.store(page, Release);
}
