//! The symbols that programs see, and nothing else. They carry no symbol version: the dynamic linker lets such a
//! definition satisfy references to any version, so old binaries find them, too.

mod cond;
mod mutex;
pub(crate) mod rwlock;
mod spin;
mod threads;
