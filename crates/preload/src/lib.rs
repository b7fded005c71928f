//! `LD_PRELOAD` library for pthread locks.
