//! What the preload library tells of a run: a page that all processes of the run share. `turnwise compare` makes it,
//! tells its path in [`environment::RUN_PROBE`](crate::environment::RUN_PROBE), and reads it when the run is over.
//!
//! | word | is 1 when |
//! |---|---|
//! | [`LOADED`] | a process has loaded the library and found the page |
//! | [`USED`] | a program has made or taken a lock through the library, whoever's it was in the end |
//! | [`CONTENDED`] | a thread did not get one of our locks at once |
//!
//! Words are only ever set, and once set not written again.

/// How many words there are.
pub const WORDS: usize = 3;
/// The number of a word.
pub const LOADED: usize = 0;
/// The number of a word.
pub const USED: usize = 1;
/// The number of a word.
pub const CONTENDED: usize = 2;
