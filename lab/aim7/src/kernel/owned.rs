//! Simulated memory, owned.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use turnwise_simbench::Simulated;
use turnwise_vfs::Host;

/// A value in simulated memory, whose words lie on the lines of its layout.
pub struct Owned<T: 'static>(NonNull<T>);

impl<T> Owned<T> {
    /// Allocates memory for a value.
    pub fn new(value: T) -> Self {
        Owned(Simulated::allocate(value))
    }
}

impl<T> Deref for Owned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: allocated in `new`, freed in `drop`.
        unsafe { self.0.as_ref() }
    }
}

impl<T> DerefMut for Owned<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: allocated in `new`, freed in `drop`; the exclusive borrow shows that nothing else refers to it.
        unsafe { self.0.as_mut() }
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: from `allocate`; the owner is dropped, so that it is no longer in use.
        unsafe { Simulated::free(self.0) };
    }
}
