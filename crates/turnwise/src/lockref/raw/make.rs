//! Construction of a [`LockRef`].

use super::{COUNT_MAX, LockRef};
use crate::events::Counters;
use crate::order::Class;
use crate::platform::{ConstPlatform, Platform, Word};

impl LockRef {
    /// Creates an unlocked [`LockRef`] with `count` references.
    ///
    /// # Panics
    /// If `count` exceeds [`COUNT_MAX`].
    #[must_use]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub const fn new(count: u32) -> Self {
        Self::const_new_in(count)
    }
}

impl<P: ConstPlatform> LockRef<P> {
    /// Creates an unlocked [`LockRef`] with `count` references, on any platform that uses core's atomics; usable in
    /// constants and statics.
    ///
    /// # Panics
    /// If `count` exceeds [`COUNT_MAX`].
    #[must_use]
    #[cfg_attr(feature = "order-check", track_caller)]
    pub const fn const_new_in(count: u32) -> Self {
        let word = core::sync::atomic::AtomicU64::new(initial(count));
        LockRef { word, class: Class::new(), counters: Counters::new() }
    }
}

pub(super) const fn initial(count: u32) -> u64 {
    assert!(count <= COUNT_MAX, "more references than a LockRef can count");
    (count as u64) << 32
}

impl Default for LockRef {
    #[cfg_attr(feature = "order-check", track_caller)]
    fn default() -> Self {
        Self::new(0)
    }
}

impl<P: Platform> LockRef<P> {
    /// Creates an unlocked [`LockRef`] with `count` references, on any platform.
    ///
    /// # Panics
    /// If `count` exceeds [`COUNT_MAX`].
    #[cfg_attr(feature = "order-check", track_caller)]
    #[must_use]
    pub fn new_in(count: u32) -> Self {
        LockRef { word: P::U64::new(initial(count)), class: Class::new(), counters: Counters::new() }
    }
}
