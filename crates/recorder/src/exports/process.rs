//! Functions that change the process, and are no locks.

use crate::{filter, modules, process, real};
use turnwise_interpose::Filtering;

// A program that cannot load this library does not get it.
turnwise_interpose::exec! {}

// From just before a program installs a filter of system calls, nothing that needs a system call is recorded.
turnwise_interpose::filters! { before, real::prctl, real::syscall::ADDRESS, super::sleep::FUTEX }

// After these calls the process may be unable to create its recording: it is created before them.
turnwise_interpose::leaving! { crate::real, crate::process::open_now }

turnwise_interpose::exports! {
    // A module loaded afterwards may land where the plug-in was.
    dlclose(handle) => {
        let result = real::dlclose(handle);
        if let Some(process) = process::get_if_ready() {
            modules::unloaded(&process.mapping);
        }
        result
    };
}

/// A process that gives up the chance of more rights may install no filter for long: what it does meanwhile is
/// recorded. A child of `vfork` installs its own, not that of the parent in whose memory it runs.
fn before(filtering: Filtering) {
    let is_first = filtering == Filtering::Installs && filter::allows_calls();
    if is_first && !turnwise_interpose::runs_in_memory_of_another() {
        filter::announce();
    }
}
