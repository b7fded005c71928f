//! How many forks this process is away from the first of its ancestors that loaded the library: 0, and one more in each
//! forked child.
//!
//! A child is found out by a word in a page that the kernel wipes in it, when it first asks: no handler of
//! `pthread_atfork` could be in time for those of libraries that were loaded earlier, and `_Fork` and the system call
//! run none.

use core::ptr::{self, null_mut};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicPtr, AtomicU32};
use libc::{MADV_WIPEONFORK, MAP_ANONYMOUS, MAP_FAILED, MAP_PRIVATE, PROT_READ, PROT_WRITE};

/// On a cache line of its own: calls under `mcs` and `ticket` read it.
#[repr(align(128))]
struct Page(AtomicPtr<AtomicU32>);

/// The word that the kernel wipes: the generation + 1, or 0 in a child that has not asked yet. Null: not made yet, so
/// generation 0.
static PAGE: Page = Page(AtomicPtr::new(null_mut()));

/// At least the generation of this process; children count on from here.
static LAST: AtomicU32 = AtomicU32::new(0);

/// The generation of this process. It stays the same until the process ends.
#[inline]
pub(crate) fn current() -> u32 {
    let page = PAGE.0.load(Relaxed);
    if page.is_null() {
        return 0;
    }
    // SAFETY: `watch` made the page, and nobody unmaps it. Relaxed: the word stands for itself.
    let word = unsafe { &*page };
    match word.load(Relaxed) {
        0 => begin(word),
        known => known - 1,
    }
}

/// In a child. Its threads may race here: one number wins, and `LAST` is no less before anybody can see it, so a fork
/// from here on counts on from a number that is no less either.
#[cold]
fn begin(word: &AtomicU32) -> u32 {
    let mine = LAST.fetch_add(1, Relaxed) + 1;
    match word.compare_exchange(0, mine + 1, Relaxed, Relaxed) {
        Ok(_) => mine,
        Err(found) => found - 1,
    }
}

/// Makes the page, when the library is loaded. Without it (kernels before 4.14) children are not found out.
pub(crate) fn watch() {
    let bytes = size_of::<AtomicU32>(); // the kernel rounds up
    // SAFETY: a new mapping, wherever the system likes.
    let memory = unsafe { libc::mmap(null_mut(), bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) };
    if memory == MAP_FAILED {
        return;
    }
    let page: *mut AtomicU32 = memory.cast();
    // SAFETY: the mapping is ours; zero bytes are a valid word.
    unsafe {
        if libc::madvise(memory, bytes, MADV_WIPEONFORK) != 0 {
            libc::munmap(memory, bytes);
            return;
        }
        ptr::write(page, AtomicU32::new(1));
    }
    // Relaxed: a thread that sees the page, and not yet its word, finds that by the exchange in `begin`.
    PAGE.0.store(page, Relaxed);
}
