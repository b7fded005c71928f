//! Construction of a [`LockRef`].

use super::{COUNT_MAX, LockRef};
use crate::events::Counters;
use crate::order::Class;

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

raw_constructors!(
    LockRef of count or "If `count` exceeds [`COUNT_MAX`].",
    "an unlocked [`LockRef`] with `count` references",
    { word: { U64 = initial(count) }, class: (Class::new()), counters: (Counters::new()), }
);

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
