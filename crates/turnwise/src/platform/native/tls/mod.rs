//! Thread-local words, such as the thread's token: `asm.rs` on Linux, on processors it supports, else `local.rs`.

use super::super::Token;

#[cfg_attr(
    all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"), not(any(miri, turnwise_portable))),
    path = "asm.rs"
)]
#[cfg_attr(
    any(miri, turnwise_portable, not(target_os = "linux"), not(any(target_arch = "x86_64", target_arch = "aarch64"))),
    path = "local.rs"
)]
mod own;

#[cfg(feature = "thread-events")]
pub(super) use own::counts;
pub(super) use own::{token, words};

/// The words of a thread.
#[repr(C)]
pub(super) struct ThreadWords {
    pub(super) token: u32,
    pub(super) stage: u32,
}
