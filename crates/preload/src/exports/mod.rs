//! The functions that programs see, and no others. The linker adds the C library's symbol versions
//! (`crates/interpose/build.rs`).

mod cond;
mod creation;
pub(crate) mod exec;
mod filters;
mod keys;
mod leaving;
mod loader;
mod mutex;
#[cfg(target_arch = "x86_64")]
mod old_cond;
pub(crate) mod rwlock;
mod spin;
mod threads;
