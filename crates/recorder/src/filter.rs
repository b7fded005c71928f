//! Filters of system calls (seccomp), which may end the process for any call that the program's own locks would not make.
//! From just before the program installs one, threads that are recorded go on with the memory that they have; no thread,
//! process or part of the file is added.

use crate::process;
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;
use turnwise_recording as file;

/// It stays set in forked children, which inherit the filter.
static ANNOUNCED: AtomicBool = AtomicBool::new(false);

/// Notes that the program is about to install a filter.
pub(crate) fn announce() {
    ANNOUNCED.store(true, Relaxed);
}

/// Returns whether system calls may be made here, as far as the program's own calls tell; if not, the report says so.
pub(crate) fn allows_calls() -> bool {
    let allows = !ANNOUNCED.load(Relaxed);
    if !allows && let Some(process) = process::get_if_ready() {
        process.mapping.is_full(file::WHY_FILTER);
    }
    allows
}

/// Returns the same, for a call without which what is recorded is still right.
pub(crate) fn allows_more() -> bool {
    !ANNOUNCED.load(Relaxed)
}
