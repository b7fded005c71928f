//! What is known of other threads: that they exit, by the destructor of a thread-local variable, which returns the
//! thread's slot; but not whether they run. The destructors of other such variables may lock after that; the thread is
//! anonymous then.

use super::super::{thread, tls};
use crate::platform::{OnCpu, Token};
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

/// Returns whether threads have areas that show their CPUs.
pub(crate) fn is_registered() -> bool {
    false
}

/// Implements [`crate::platform::Platform::on_cpu`].
pub(crate) fn on_cpu(_token: Token) -> OnCpu {
    OnCpu::Unknown
}

/// Returns whether a thread runs.
pub(crate) fn on_cpu_at(_token: Token, _now: impl FnOnce() -> u64) -> OnCpu {
    OnCpu::Unknown
}

/// The calling thread as a spinner, invisible to other threads.
pub(crate) struct Spinner;

impl Spinner {
    pub(crate) fn new() -> Self {
        Spinner
    }

    pub(crate) fn refresh(&self, _now: u64) {}
}

/// The state that a thread publishes to others: none.
pub(crate) struct Area;

impl Area {
    pub(crate) const fn new() -> Self {
        Area
    }

    pub(crate) fn enter(&self) {}

    pub(crate) fn leave(&self) {}
}
