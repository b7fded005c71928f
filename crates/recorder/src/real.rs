//! The next library's functions: the C library's, or those of `libturnwise_preload.so`. Looked up by the constructor,
//! or at first use before it: no later call enters the loader, whose lock a thread that waits for us may hold.

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;
use libc::c_int;
use turnwise_interpose::{c, find, next_function, real};
use turnwise_preload_abi::libraries::{PRELOAD, is_library};

/// The result of a try by the preload library for a lock that was acquired past sleepers.
pub(crate) const PAST_SLEEPERS: c_int = -1;

real! {
    pthread_mutex_trylock,
    pthread_rwlock_trywrlock,
    pthread_spin_destroy,
    pthread_spin_unlock,
}

/// The preload library's counters of the calling thread.
pub(crate) mod events {
    turnwise_interpose::real_functions! { turnwise_thread_events, }
}

/// Looks up everything here, for the constructor, so that no call enters the loader.
pub(crate) fn look_up_all() {
    look_up();
    if next_is_preload() {
        events::look_up();
        // Its tries that report sleepers; and what it has under a version only, which `dlsym` passes over.
        for (name, address) in [
            (c"turnwise_mutex_trylock", &pthread_mutex_trylock::ADDRESS),
            (c"turnwise_rwlock_trywrlock", &pthread_rwlock_trywrlock::ADDRESS),
            (c"turnwise_prctl", &prctl::ADDRESS),
            (c"turnwise_syscall", &syscall::ADDRESS),
        ] {
            let found = next_function("plain", name);
            if !found.is_null() {
                address.store(found, Relaxed);
            }
        }
    }
    // SAFETY: takes the error that the look-up of a missing function left for the program to read.
    unsafe { libc::dlerror() };
}

/// Returns whether the next library is `libturnwise_preload.so`. The first call, by the constructor, uses the loader.
pub(crate) fn next_is_preload() -> bool {
    const NO: u32 = 1;
    const YES: u32 = 2;
    static KNOWN: AtomicU32 = AtomicU32::new(0);
    match KNOWN.load(Relaxed) {
        NO => false,
        YES => true,
        _ => {
            let is = looks_like_preload();
            KNOWN.store(if is { YES } else { NO }, Relaxed);
            is
        }
    }
}

#[cold]
fn looks_like_preload() -> bool {
    let function = pthread_mutex_lock::address();
    // SAFETY: the next library stays loaded, since it was loaded before the program.
    find(function.addr()).is_some_and(|library| is_library(unsafe { library.name() }.to_bytes(), PRELOAD))
}
