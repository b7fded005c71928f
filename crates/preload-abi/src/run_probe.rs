//! The preload library's report about a run: a page that all processes of the run share. `turnwise compare` makes it,
//! passes its path in [`environment::RUN_PROBE`](crate::environment::RUN_PROBE), and reads it after the run.
//!
//! | word | is 1 when |
//! |---|---|
//! | [`LOADED`] | a process has loaded the library and found the page |
//! | [`USED`] | a program has made or taken a lock through the library, ours or the C library's |
//! | [`CONTENDED`] | a thread did not acquire one of our locks immediately |
//!
//! Words are only ever set, and are not written again once set.

/// The number of words.
pub const WORDS: usize = 3;
/// The number of the word that records that the library was loaded.
pub const LOADED: usize = 0;
/// The number of the word that records that a lock was used.
pub const USED: usize = 1;
/// The number of the word that records that there was contention.
pub const CONTENDED: usize = 2;
