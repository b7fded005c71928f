//! Construction of a readers-writer lock.

use super::RawRwSem;
use crate::events::Counters;
#[cfg(feature = "spin")]
use crate::osq::Osq;
use crate::platform::{ConstPlatform, Platform, Word};

impl RawRwSem {
    /// Creates an unlocked lock.
    #[must_use]
    pub const fn new() -> Self {
        Self::const_new_in()
    }
}

impl<P: ConstPlatform> RawRwSem<P> {
    /// Creates an unlocked lock on any platform that uses core's atomics; usable in constants and statics.
    #[must_use]
    pub const fn const_new_in() -> Self {
        RawRwSem {
            word: core::sync::atomic::AtomicU32::new(0),
            #[cfg(feature = "spin")]
            owner: core::sync::atomic::AtomicU32::new(0),
            #[cfg(feature = "spin")]
            spinners: Osq::const_new_in(),
            counters: Counters::new(),
        }
    }
}

impl Default for RawRwSem {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Platform> RawRwSem<P> {
    /// Creates an unlocked lock on any platform.
    #[must_use]
    pub fn new_in() -> Self {
        RawRwSem {
            word: P::U32::new(0),
            #[cfg(feature = "spin")]
            owner: P::U32::new(0),
            #[cfg(feature = "spin")]
            spinners: Osq::new_in(),
            counters: Counters::new(),
        }
    }
}
