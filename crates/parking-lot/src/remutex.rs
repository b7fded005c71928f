//! A mutex that its owner may lock again.

use crate::mutex::RawMutex;
use core::num::NonZeroUsize;
use lock_api::{GetThreadId, RawMutex as _};

/// A mutex that its owner may lock again. A guard gives shared access only.
pub type ReentrantMutex<T> = lock_api::ReentrantMutex<RawMutex, RawThreadId, T>;
/// A guard of a [`ReentrantMutex`].
pub type ReentrantMutexGuard<'a, T> = lock_api::ReentrantMutexGuard<'a, RawMutex, RawThreadId, T>;
/// A guard of part of a [`ReentrantMutex`]'s data.
pub type MappedReentrantMutexGuard<'a, T> = lock_api::MappedReentrantMutexGuard<'a, RawMutex, RawThreadId, T>;

/// Creates an unlocked mutex.
pub const fn const_reentrant_mutex<T>(value: T) -> ReentrantMutex<T> {
    ReentrantMutex::const_new(RawMutex::INIT, RawThreadId, value)
}

/// What tells threads apart.
pub struct RawThreadId;

// SAFETY: two threads that live at the same time have different thread-local variables; a variable's address is not 0.
unsafe impl GetThreadId for RawThreadId {
    const INIT: RawThreadId = RawThreadId;

    fn nonzero_thread_id(&self) -> NonZeroUsize {
        thread_local!(static HERE: u8 = const { 0 });
        HERE.with(|here| NonZeroUsize::new(core::ptr::from_ref(here).addr()).expect("a variable's address is not 0"))
    }
}
