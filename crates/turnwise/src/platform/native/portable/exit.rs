//! Notices that a thread exits, by the destructor of a thread-local variable, which gives the thread's slot back.
//!
//! The destructors of other such variables may lock after that; the thread is anonymous then.

use super::super::{thread, tls};
use crate::platform::Token;
use core::cell::Cell;
extern crate std;

/// The token whose slot a thread gives back.
struct Exit(Cell<Token>);

impl Drop for Exit {
    fn drop(&mut self) {
        thread::exits(self.0.get());
    }
}

std::thread_local! {
    static EXIT: Exit = const { Exit(Cell::new(Token::ANONYMOUS)) };
}

/// Whether exits are noticed.
pub(crate) fn are_exits_noticed() -> bool {
    true
}

/// Runs `enter`, which gives the calling thread a token, if the thread's exit is noticed from now on.
pub(crate) fn notice_exit(enter: impl FnOnce()) -> bool {
    let noticed = EXIT.try_with(|exit| {
        enter();
        // A thread that had forgotten its token (`tls/local.rs` says when) has two slots for a moment.
        thread::give_back(exit.0.replace(tls::token()));
    });
    noticed.is_ok()
}
