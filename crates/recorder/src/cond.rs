//! Wraps condition variables. A wait releases the mutex and reacquires it inside the next library; it is recorded
//! before and after that, by functions that `c/wait.c` calls.

use crate::acquire;
use crate::detail::{self, HoldClass, Limit};
use crate::events::Events;
use crate::mapping::add;
use crate::notes::HoldInfo;
use crate::state::{State, enter};
use crate::{clock, memory};
use core::ffi::c_void;
use core::sync::atomic::Ordering::Relaxed;
use libc::c_int;
use turnwise_recording::{Class, Entry, Op};

/// `struct wait` of `c/wait.c`.
#[repr(C)]
pub(crate) struct Wait {
    cond: u64,
    mutex: u64,
    site: u64,
    began: u64,
    /// `None` is null.
    entry: Option<&'static Entry>,
    /// The mutex's state, before it was released.
    before: Events,
}

/// `CANCELLED` of `c/wait.c`.
const CANCELLED: c_int = -1;

/// Notes that a wait begins.
pub(crate) extern "C" fn begin(wait: &mut Wait) {
    let Some(state) = enter() else { return };
    wait.entry = state.entry(Class::Condition, wait.cond, Op::Wait.at(wait.site));
    if let Some(entry) = wait.entry {
        add(&entry.acquisitions, 1);
        entry.mutex_or_under.store(wait.mutex, Relaxed);
        // The thread has the mutex from a wait on the same variable and waits again: it found nothing to do.
        if state.woken_by(wait.mutex) == wait.cond {
            add(&entry.for_nothing, 1);
        }
    }
    state.watch_wait(wait.mutex);
    if let Some(pending) = state.take_out(wait.mutex) {
        pending.count(&state.writer);
    }
    state.go_on();
    wait.before = Events::look(Class::Mutex, wait.mutex, false);
    wait.began = clock::ticks();
}

/// Notes that a wait has ended, which [`begin`] has seen.
pub(crate) extern "C" fn end(wait: &Wait, result: c_int) {
    let now = clock::ticks();
    let Some(state) = enter() else { return };
    let Some(entry) = wait.entry else { return };
    memory::keeping_errno(|| {
        state.steps.awaited(&state.writer, now);
        if result == libc::ETIMEDOUT {
            add(&entry.timed_out_or_stolen, 1);
        }
        if let Some(detail) = detail::of(&state.writer, &entry.detail, Limit::Waits) {
            add(&detail.contended, 1);
            detail::waited_for(detail, now.saturating_sub(wait.began));
        }
        if acquire::has(result) || result == libc::ETIMEDOUT || result == CANCELLED {
            again(&state, wait, result == 0, now);
        }
    });
}

/// Records that the thread holds the mutex again.
fn again(state: &State, wait: &Wait, woken: bool, now: u64) {
    let Some(entry) = state.entry(Class::Mutex, wait.mutex, Op::AfterWait.at(wait.site)) else {
        state.process().mapping.unattributed();
        return;
    };
    let woken_by = if woken { wait.cond } else { 0 };
    wait.before.until_now(Class::Mutex, wait.mutex).count_at(&state.writer, entry);
    let info = HoldInfo { measured: Some(HoldClass::Single), episode: None, woken_by, wait: None };
    state.push_after_wait(entry, now, info);
}

/// Records a signal or a broadcast.
pub(crate) fn signalled(cond: *const c_void, site: u64, op: Op) {
    let Some(state) = enter() else { return };
    if let Some(entry) = state.entry(Class::Condition, cond as u64, op.at(site)) {
        add(&entry.acquisitions, 1);
    }
}
