//! The watcher of this process: feature `live`.

use crate::live::Watcher;
use core::ptr::null_mut;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{Acquire, Release};

static WATCHER: AtomicPtr<Watcher> = AtomicPtr::new(null_mut());

/// Puts a watcher in place of the one before.
pub(crate) fn watch(watcher: &'static Watcher) {
    // ORDERING watcher.place: Release pairs with the Acquire in `watcher`: who sees it sees what it is made of.
    WATCHER.store(core::ptr::from_ref(watcher).cast_mut(), Release);
}

/// Returns the watcher, if there is one.
#[inline]
pub(super) fn watcher() -> Option<&'static Watcher> {
    // ORDERING watcher.place: Acquire pairs with the Release in `watch`.
    let watcher = WATCHER.load(Acquire);
    // SAFETY: the pointer is null, or `watch` made it of a reference that lives as long as the process.
    unsafe { watcher.as_ref() }
}
