//! `prctl` and `syscall`: from just before a program installs a filter of system calls, nothing that needs a system
//! call is recorded.

use crate::{filter, real};
use turnwise_interpose::Filtering;

/// A process that gives up the chance of more rights may install no filter for long: what it does meanwhile is
/// recorded. A child of `vfork` installs its own, not that of the parent in whose memory it runs.
fn before(filtering: Filtering) {
    let is_first = filtering == Filtering::Installs && filter::allows_calls();
    if is_first && !turnwise_interpose::runs_in_memory_of_another() {
        filter::announce();
    }
}

turnwise_interpose::filters! { before, real::prctl::ADDRESS, real::syscall::ADDRESS }
