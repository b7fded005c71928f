//! Linux: futexes, vDSO clocks, the restartable-sequence area for the CPU number, detection of exits and forks.
//!
//! | file | contents |
//! |---|---|
//! | `clock.rs` | the clocks, also where another library fakes them |
//! | `exit.rs` | detects that a thread exits, and returns its slot |
//! | `rseq.rs` | the area in which the kernel stores the CPU on which a thread runs |
//! | `area.rs` | that of a thread, for others to read |
//! | `cpus.rs` | the number of CPUs that the process may use |
//! | `on_cpu.rs` | layer 1 of "does the owner run?": the same-CPU test and published spinners |
//! | `filter.rs` | whether a filter may vet system calls |
//! | `generation.rs` | the number of this forked child |
//! | `bounded_yield.rs` | yields, and the CPU time that they give away |
//! | `sys.rs` | the system calls |
//! | `tid.rs` | the kernel's number of the thread |

mod area;
mod bounded_yield;
mod clock;
mod cpus;
mod exit;
mod filter;
mod generation;
mod on_cpu;
mod rseq;
mod sys;
mod tid;

use super::{spin, thread, tls};
use crate::platform::{IntWord, Platform, Word};
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;

pub use clock::is_clock_faked;
pub use exit::{end_exit_key, is_alien_key};
pub use filter::{assume_filtered, find_filter, may_be_filtered};
pub use generation::generation;
pub use tid::tid;

pub(super) use bounded_yield::{give_way, yield_bounded, yield_now};
pub(super) use cpus::cpus;
pub(super) use exit::{are_noticed as are_exits_noticed, notice as notice_exit};
pub(super) use on_cpu::{Spinner, on_cpu_at};
pub(super) use rseq::{Area, cpu, is_registered, node};
pub(super) use sys::{has_lanes, nap, now, park, requeue, wake, wall};

/// The constructor. It runs before `main`, or when the library is loaded: everything that needs the loader or may
/// allocate happens here, never on a lock path.
pub(super) extern "C" fn start() {
    generation::start();
    cpus::start();
    rseq::start();
    tid::start();
    clock::start();
    spin::start();
    exit::start();
    // Miri has no fork.
    if !cfg!(miri) {
        // SAFETY: registers a handler that touches statics only.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    }
}

/// Forgets the parent's other threads, as a handler in a forked child: they are gone, and their memory may be, too.
/// Their slots stay taken: an inherited queue may still name them.
extern "C" fn in_child() {
    generation::in_child();
    let own = thread::entry(tls::token());
    for entry in thread::taken() {
        let is_own = own.is_some_and(|own| ptr::eq(own, entry));
        entry.area.forget_others(is_own);
        entry.tid.store(if is_own { tid() } else { 0 }, Relaxed);
    }
    exit::forget_others();
}

/// The destructor. It runs when the process ends by `exit`, or when the library that contains this is unloaded: then a
/// thread that exits later must not find our code. The loader unregisters `in_child` by itself.
pub(super) extern "C" fn end() {
    exit::end_exit_key();
}
