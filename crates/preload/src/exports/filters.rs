//! `prctl` and `syscall`: from just before a program installs a filter of system calls, or prepares that, the locks
//! avoid calls that the C library's own would not make.

use crate::real;
use turnwise::platform::native::assume_filtered;
use turnwise_interpose::Filtering;

fn before(_: Filtering) {
    assume_filtered();
}

turnwise_interpose::filters! { before, real::prctl::ADDRESS, real::syscall::ADDRESS }
