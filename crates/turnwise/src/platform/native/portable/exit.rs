//! Detects that a thread exits, by the destructor of a thread-local variable, which returns the thread's slot.
//!
//! The destructors of other such variables may lock after that; the thread is anonymous then.

use super::super::{thread, tls};
use crate::platform::Token;
use core::cell::Cell;
extern crate std;

/// The token whose slot a thread returns.
struct Exit(Cell<Token>);

impl Drop for Exit {
    fn drop(&mut self) {
        thread::exits(self.0.get());
    }
}

std::thread_local! {
    static EXIT: Exit = const { Exit(Cell::new(Token::ANONYMOUS)) };
}

/// Returns whether exits are detected.
pub(crate) fn are_exits_noticed() -> bool {
    true
}

/// Runs `enter`, which assigns the calling thread a token, if the thread's exit is detected from now on.
pub(crate) fn notice_exit(enter: impl FnOnce()) -> bool {
    let noticed = EXIT.try_with(|exit| {
        enter();
        // A thread that had forgotten its token (`tls/local.rs` says when) briefly has two slots.
        thread::give_back(exit.0.replace(tls::token()));
    });
    noticed.is_ok()
}
