//! How one thread sleeps and is woken: two functions, implemented for each system.
//!
//! `wait(word, expected, ns)` sleeps while the word is `expected`, for `ns` nanoseconds at most, and may return
//! spuriously. `wake(word)` ends the sleep of the one thread that sleeps on this address; it uses only the address,
//! since the word may be gone. A thread that changes the word and then calls `wake` misses no sleeper.

#[cfg(any(target_vendor = "apple", not(any(target_os = "freebsd", all(windows, not(target_vendor = "win7"))))))]
mod anywhere;
#[cfg(target_vendor = "apple")]
mod apple;
#[cfg(target_os = "freebsd")]
mod freebsd;
#[cfg(all(windows, not(target_vendor = "win7")))]
mod windows;

#[cfg(not(any(target_vendor = "apple", target_os = "freebsd", all(windows, not(target_vendor = "win7")))))]
use anywhere as system;
#[cfg(target_vendor = "apple")]
use apple as system;
#[cfg(target_os = "freebsd")]
use freebsd as system;
#[cfg(all(windows, not(target_vendor = "win7")))]
use windows as system;

pub(super) use system::{wait, wake};
