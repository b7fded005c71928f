//! Thread-local words, such as the thread's token: `asm.rs` on Linux, on processors it supports, else `local.rs`.

use super::super::Token;
#[cfg(feature = "thread-events")]
use super::THREAD_COUNTS;
use core::cell::Cell;
#[cfg(feature = "thread-events")]
use core::sync::atomic::AtomicU32;

#[cfg_attr(
    all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(any(miri, turnwise_portable))),
    path = "asm.rs"
)]
#[cfg_attr(
    any(miri, turnwise_portable, not(target_os = "linux"), not(any(target_arch = "x86_64", target_arch = "aarch64"))),
    path = "local.rs"
)]
mod own;

pub(super) use own::{token, words};

/// The words of a thread.
#[repr(C)]
pub(super) struct ThreadWords {
    pub(super) token: Cell<u32>,
    pub(super) stage: Cell<u32>,
    /// The counters of `events::here`.
    #[cfg(feature = "thread-events")]
    pub(super) counts: [AtomicU32; THREAD_COUNTS],
}
