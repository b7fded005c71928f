//! Memory of the host, owned.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use turnwise_vfs::Host;

/// A value in the host's memory; in the simulator its words lie on the lines of its layout.
pub struct Owned<H: Host, T: 'static> {
    at: NonNull<T>,
    /// It has a `T`.
    value: PhantomData<(H, T)>,
}

// SAFETY: as a box: its owner has the only way to the value.
unsafe impl<H: Host, T: Send> Send for Owned<H, T> {}
// SAFETY: as a box: a shared one lends shared references only.
unsafe impl<H: Host, T: Sync> Sync for Owned<H, T> {}

impl<H: Host, T> Owned<H, T> {
    /// Allocates memory for a value.
    pub fn new(value: T) -> Self {
        Owned { at: H::allocate(value), value: PhantomData }
    }
}

impl<H: Host, T> Deref for Owned<H, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: allocated in `new`, freed in `drop`.
        unsafe { self.at.as_ref() }
    }
}

impl<H: Host, T> DerefMut for Owned<H, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: allocated in `new`, freed in `drop`; the exclusive borrow shows that nothing else refers to it.
        unsafe { self.at.as_mut() }
    }
}

impl<H: Host, T> Drop for Owned<H, T> {
    fn drop(&mut self) {
        // SAFETY: from `allocate`; the owner is dropped, so that it is no longer in use.
        unsafe { H::free(self.at) };
    }
}
