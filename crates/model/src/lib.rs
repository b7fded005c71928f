//! Loom models of every lock, one file per lock.
