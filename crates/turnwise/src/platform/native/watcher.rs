//! The watcher of this process: feature `live`.

use crate::live::Watcher;
use core::ptr::null_mut;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{Acquire, Release};

static WATCHER: AtomicPtr<Watcher> = AtomicPtr::new(null_mut());

/// Installs a watcher in place of the previous one.
pub(crate) fn watch(watcher: &'static Watcher) {
    // ORDERING watcher.place: Release pairs with the Acquire in `watcher`: its fields are seen with it.
    WATCHER.store(core::ptr::from_ref(watcher).cast_mut(), Release);
}

/// Returns the watcher, if there is one.
#[inline]
pub(crate) fn watcher() -> Option<&'static Watcher> {
    // ORDERING watcher.place: Acquire pairs with the Release in `watch`.
    let watcher = WATCHER.load(Acquire);
    // SAFETY: the pointer is null, or `watch` derived it from a reference that lives as long as the process.
    unsafe { watcher.as_ref() }
}
