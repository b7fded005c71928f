//! Functions that change the process, and are no locks.

use crate::real;
use turnwise::platform::native::assume_filtered;
use turnwise_interpose::Filtering;
use turnwise_live::locks::me;
use turnwise_live::writer::unloading;

// A program that cannot load this library does not get it.
turnwise_interpose::exec! {}

// From just before a program installs a filter of system calls, or prepares that, the locks avoid calls that the C
// library's own would not make.
turnwise_interpose::filters! { before, real::prctl, real::syscall::ADDRESS, super::sleep::FUTEX }

// After these calls the process may be unable to create its live view: it is created before them.
turnwise_interpose::leaving! { crate::real, crate::live::make_now }

turnwise_interpose::exports! {
    // A module loaded afterwards may land where the plug-in was.
    dlclose(handle) => unloading(me, || real::dlclose(handle));
}

fn before(_: Filtering) {
    assume_filtered();
}
