//! Other systems and processors: the words are std's thread-local variables, as fast as the system has them.
//!
//! None of them has a destructor, so they may be used as long as the thread runs, even in destructors of others. Where
//! std implements them by keys (as in `x86_64-pc-windows-gnu`), a thread's first use allocates, and such a destructor
//! may find new ones.

use super::{ThreadWords, Token};
use core::cell::UnsafeCell;
extern crate std;

std::thread_local! {
    static WORDS: UnsafeCell<ThreadWords> =
        const { UnsafeCell::new(ThreadWords { token: Token::ANONYMOUS.get(), stage: 0 }) };
}

/// Returns a pointer to the calling thread's words.
#[inline]
pub(crate) fn words() -> *mut ThreadWords {
    WORDS.with(UnsafeCell::get)
}

/// Returns the calling thread's token.
#[inline]
pub(crate) fn token() -> Token {
    // SAFETY: the words live as long as the thread and only it touches them; `thread.rs` stores nothing but
    // tokens in the first.
    unsafe { Token::new_unchecked((*words()).token) }
}

#[cfg(feature = "thread-events")]
mod counts {
    use crate::platform::native::THREAD_COUNTS;
    use core::sync::atomic::AtomicU32;
    extern crate std;

    std::thread_local! {
        static COUNTS: [AtomicU32; THREAD_COUNTS] = const { [const { AtomicU32::new(0) }; THREAD_COUNTS] };
    }

    /// Returns a pointer to the calling thread's event counters.
    pub(crate) fn counts() -> *const [AtomicU32; THREAD_COUNTS] {
        COUNTS.with(core::ptr::from_ref)
    }
}

#[cfg(feature = "thread-events")]
pub(crate) use counts::counts;
