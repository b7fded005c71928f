//! Other systems and processors: the words are std's thread-local variables, as fast as the system has them.
//!
//! None of them has a destructor, so they may be used as long as the thread runs, even in destructors of others. Where
//! std implements them by keys (as in `x86_64-pc-windows-gnu`), a thread's first use allocates, and such a destructor
//! may find new ones.

use super::{ThreadWords, Token};
use core::cell::Cell;
extern crate std;

std::thread_local! {
    static WORDS: ThreadWords = const {
        ThreadWords {
            token: Cell::new(Token::ANONYMOUS.get()),
            stage: Cell::new(0),
            #[cfg(feature = "thread-events")]
            counts: [const { core::sync::atomic::AtomicU32::new(0) }; crate::platform::native::THREAD_COUNTS],
        }
    };
}

/// Returns the calling thread's words. Callers use the reference at once, on that thread.
#[inline]
pub(crate) fn words() -> &'static ThreadWords {
    // SAFETY: the variable has no destructor: it lives as long as the thread.
    unsafe { &*WORDS.with(core::ptr::from_ref) }
}

/// Returns the calling thread's token.
#[inline]
pub(crate) fn token() -> Token {
    // SAFETY: `thread.rs` stores nothing but tokens there.
    unsafe { Token::new_unchecked(words().token.get()) }
}
