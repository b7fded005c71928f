//! Filters of system calls (seccomp), which may end the process for any call that the program's own locks would not
//! make. From just before the program installs one, threads that are recorded go on with the memory that they have; no
//! thread, process or part of the file is added.

use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;

/// It stays set in forked children, which inherit the filter.
static ANNOUNCED: AtomicBool = AtomicBool::new(false);

/// Notes that the program is about to install a filter.
pub(crate) fn announce() {
    ANNOUNCED.store(true, Relaxed);
}

/// Returns whether system calls may be made, as far as the program's own calls tell.
pub(crate) fn allows_calls() -> bool {
    !ANNOUNCED.load(Relaxed)
}
