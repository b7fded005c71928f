//! The file in which a program's lock operations are recorded.
//!
//! The recorder (`crates/recorder`) maps the file into the program and keeps everything there, so that no data is lost
//! however the program ends; [`reader`] copies it out afterwards.
//!
//! | part | what |
//! |---|---|
//! | [`Header`], at 0 | what ran, the clock, and how much of each part is used |
//! | tables of the [`Region`]s | the places of the pieces, in which records are found by their numbers: |
//! | [`THREADS`] | one [`Thread`] each |
//! | [`MODULES`] | one [`Module`] each: which file is mapped where |
//! | [`LOCK_SLOTS`] | hash table by address: number of a lock plus 1, 0 is free |
//! | [`LOCKS`] | one [`Lock`] each; a lock initialised where another was is a different one |
//! | [`STACK_SLOTS`] | hash table of the stacks: hash in the upper half, [`Ref`] in the lower, 0 is free |
//! | [`CHUNKS`] | handed out by [`Header::used`], to threads and for those pieces, with a [`Chunk`] in front of each |
//!
//! Every word is an atomic of the machine's byte order. One thread writes each record, others of the process may read
//! it meanwhile; the reader runs after the program has ended, or takes what it finds.

pub mod fields;
mod kinds;
mod layout;
pub mod reader;
pub mod scale;
pub mod writer;

pub use kinds::{ChunkKind, Class, Op};
pub use layout::*;
pub use turnwise_preload_abi::counter as clock;
pub use zerocopy::FromZeros;
