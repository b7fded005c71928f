//! The raw traits of the lock_api crate.
