//! Records for `turnwise compare` whether a program used a lock, and whether any thread encountered contention. Both
//! are kept in a page of a file, which forked children share and programs that they start open again.
//!
//! None of this is on a frequent path: the first lock call, which determines the policy, records the use; the paths of
//! contended locks record contention (`turnwise::events::here`).

use crate::file;
use core::ptr::null_mut;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32};
use rustix::fs::OFlags;
use rustix::mm::{MapFlags, ProtFlags};
use turnwise::events::here;
use turnwise_interpose::variable;
use turnwise_preload_abi::environment;
use turnwise_preload_abi::run_probe::{CONTENDED, LOADED, USED, WORDS};

type Page = [AtomicU32; WORDS];

/// The page that all processes of the run share; null: this run is not probed.
static PAGE: AtomicPtr<Page> = AtomicPtr::new(null_mut());
/// Whether a lock was used, perhaps before the page was found.
static IS_USED: AtomicBool = AtomicBool::new(false);

/// Maps the page, if there is one, when the library is loaded.
pub(crate) fn open() {
    let Some(page) = map() else { return };
    page[LOADED].store(1, Relaxed);
    here::report_contention(&page[CONTENDED]);
    PAGE.store(core::ptr::from_ref(page).cast_mut(), Relaxed);
    // No other thread is known to run before the constructors; a use that came too early for both is lost.
    if IS_USED.load(Relaxed) {
        page[USED].store(1, Relaxed);
    }
}

/// Records that the program uses a lock.
#[cold]
pub(crate) fn used() {
    IS_USED.store(true, Relaxed);
    // SAFETY: the pointer is null, or to a page that is never unmapped.
    if let Some(page) = unsafe { PAGE.load(Relaxed).as_ref() } {
        page[USED].store(1, Relaxed);
    }
}

/// Maps the page's file if the run is probed.
fn map() -> Option<&'static Page> {
    let path = variable(environment::RUN_PROBE)?;
    let bytes = file::map(path, OFlags::RDWR, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED).ok()?;
    // SAFETY: the mapping is as large as a page of words, and its pages are aligned.
    (bytes.len() >= size_of::<Page>()).then(|| unsafe { &*bytes.cast::<Page>() })
}
