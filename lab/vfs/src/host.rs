//! Where a file system lives: its memory, how memory is freed while others may still access it, and the cost of the
//! file system's own code.
//!
//! Objects that a reader may find without a lock (dentries, places, inodes) are never freed at once but retired: their
//! memory stays until every [`Host::Pin`] that existed at that moment is gone (K. Fraser, "Practical lock-freedom",
//! 2004, epochs; on metal the crate `crossbeam-epoch`).

use core::ptr::NonNull;
use turnwise::platform::{Native, Platform};

/// What a piece of the file system's own code did, for [`Host::charge`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Work {
    /// Entered an operation, as a system call.
    Call,
    /// Hashed, found and compared one component of a path.
    Component,
    /// Read, added or removed one entry of a directory's own store.
    DirectoryEntry,
    /// Copied this many KiB.
    Kib(u32),
    /// Work whose cost the caller knows.
    Exactly {
        /// In nanoseconds.
        ns: u32,
    },
}

/// A world to live in.
pub trait Host: Send + Sync + 'static {
    /// The machine whose words are shared.
    type Platform: Platform;

    /// A pin: while one lives, what others retire stays.
    type Pin;

    /// Returns a pin. Cheap; may be nested.
    fn pin() -> Self::Pin;

    /// Returns memory for a value; in a simulator on simulated lines, according to the value's layout.
    fn allocate<T: 'static>(value: T) -> NonNull<T>;

    /// Returns memory for `count` values side by side.
    fn allocate_many<T: 'static>(count: usize, make: impl FnMut(usize) -> T) -> NonNull<[T]>;

    /// Drops the values and frees their memory.
    ///
    /// # Safety
    /// `at` comes from [`Host::allocate_many`], and is no longer in use.
    unsafe fn free_many<T: 'static>(at: NonNull<[T]>);

    /// Drops and frees it once every pin that exists now is gone, perhaps on another thread, perhaps after the file
    /// system itself: dropping a `T` touches nothing but itself.
    ///
    /// # Safety
    /// `at` comes from [`Host::allocate`], a `T` may be dropped by any thread, and no later pin can find it.
    unsafe fn retire<T: 'static>(pin: &Self::Pin, at: NonNull<T>);

    /// Charges this much work of the file system's own code: nothing on metal, time in a simulator.
    fn charge(work: Work);

    /// Runs `f` on behalf of the kernel's function of this name: a simulator's profile attributes a lock's time to it.
    /// The innermost name counts.
    #[inline(always)]
    fn within<R>(_name: &'static str, f: impl FnOnce() -> R) -> R {
        f()
    }
}

/// This machine: its own memory, and epochs.
#[derive(Clone, Copy, Debug)]
pub struct Metal;

impl Host for Metal {
    type Platform = Native;
    type Pin = crossbeam_epoch::Guard;

    #[inline]
    fn pin() -> Self::Pin {
        crossbeam_epoch::pin()
    }

    #[inline]
    fn allocate<T: 'static>(value: T) -> NonNull<T> {
        NonNull::from(Box::leak(Box::new(value)))
    }

    fn allocate_many<T: 'static>(count: usize, make: impl FnMut(usize) -> T) -> NonNull<[T]> {
        NonNull::from(Box::leak((0..count).map(make).collect::<Box<[T]>>()))
    }

    unsafe fn free_many<T: 'static>(at: NonNull<[T]>) {
        // SAFETY: guaranteed by the caller: from `allocate_many`, which leaked a box, and no longer in use.
        drop(unsafe { Box::from_raw(at.as_ptr()) });
    }

    #[inline]
    unsafe fn retire<T: 'static>(pin: &Self::Pin, at: NonNull<T>) {
        // SAFETY: guaranteed by the caller: no later pin finds it, and any thread may drop it; the closure runs when no
        // pin is left that could have found it, and it is the only one that frees it.
        unsafe { pin.defer_unchecked(move || drop(Box::from_raw(at.as_ptr()))) };
    }

    #[inline(always)]
    fn charge(_work: Work) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn what_is_retired_stays_while_pinned_and_goes_later() {
        let value = Arc::new(7);
        let pin = Metal::pin();
        let at = Metal::allocate(Arc::clone(&value));
        // SAFETY: from `allocate`; no other thread knows it.
        unsafe { Metal::retire(&pin, at) };
        // SAFETY: pinned since before it was retired.
        assert_eq!(**unsafe { at.as_ref() }, 7);
        drop(pin);
        let gone = (0..10_000).any(|_| {
            Metal::pin().flush();
            Arc::strong_count(&value) == 1
        });
        assert!(gone, "the collector never ran");
    }

    #[test]
    fn many_lie_side_by_side_in_order() {
        let at = Metal::allocate_many(5, |number| number * 10);
        // SAFETY: allocated above, ours alone.
        assert_eq!(unsafe { at.as_ref() }, [0, 10, 20, 30, 40]);
        // SAFETY: from `allocate_many`, and not used after this.
        unsafe { Metal::free_many(at) };
    }
}
