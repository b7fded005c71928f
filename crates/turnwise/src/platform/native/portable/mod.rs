//! Any system that has std: waits sleep in our own queues, and information that only Linux provides is unknown.
//!
//! | file | contents |
//! |---|---|
//! | `table.rs` | the queues of sleeping threads: the equivalent of Linux's futexes with lanes |
//! | `system.rs` | the interface of these queues to a system, so that models can implement it |
//! | `parking.rs` | the table of this process, whose threads sleep on std's condition variables |
//! | `exit.rs` | detects that a thread exits, and returns its slot |
//! | `owner.rs` | "does the owner run?", which cannot be answered here |
//!
//! Compared with Linux: a lock operation may change `errno`; a thread's first wait may allocate (for the thread-local
//! variable that detects its exit), so a memory allocator cannot be built on these locks; a signal handler must not use
//! one; and a forked child must not use one for which its parent's threads contend. See `docs/design/systems.md`.

mod exit;
mod owner;
mod parking;
mod system;
mod table;

use super::{spin, thread_address};
use crate::platform::{Clock, Deadline, Lane, Parked, Word};
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;
use core::time::Duration;
use std::sync::OnceLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
extern crate std;

pub(super) use exit::{are_exits_noticed, notice_exit};
pub(super) use owner::{Area, Spinner, is_registered, on_cpu_at};
pub(super) use parking::{park, wake};

/// Implements [`crate::platform::Platform::has_lanes`].
pub(super) fn has_lanes() -> bool {
    true
}

/// Implements [`crate::platform::Platform::requeue`]: the caller wakes all waiters.
pub(super) fn requeue(_from: &AtomicU32, _expected: u32, _to: *const AtomicU32) -> Option<u32> {
    None
}

/// Implements [`crate::platform::Platform::now`].
pub(super) fn now() -> u64 {
    /// The time at the first call: locks subtract from times, which is valid only if the clock does not start at 0.
    const BEGIN_NS: u64 = 1 << 42;
    static BEGIN: OnceLock<Instant> = OnceLock::new();
    BEGIN_NS + ns(BEGIN.get_or_init(Instant::now).elapsed())
}

/// Implements [`crate::platform::Platform::wall`].
pub(super) fn wall() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, ns)
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Implements [`crate::platform::Pause::Nap`].
pub(super) fn nap(ns: u32) {
    std::thread::sleep(Duration::from_nanos(ns.into()));
}

/// Implements [`crate::platform::Pause::Yield`].
pub(super) fn yield_now() {
    std::thread::yield_now();
}

// Which thread benefits from a yield is not known: all are alike.
pub(super) use self::{yield_now as give_way, yield_now as yield_bounded};

/// The number of CPUs that threads may run on; 0 until the first query.
static CPUS: AtomicU32 = AtomicU32::new(0);

/// Implements [`crate::platform::Hint::Cpus`].
#[inline]
pub(super) fn cpus() -> u32 {
    match CPUS.load(Relaxed) {
        0 => start(),
        cpus => cpus,
    }
}

/// Measures the machine. Linux's constructor does this before `main`; here the first thread that needs to decide
/// whether to spin does it.
#[cold]
fn start() -> u32 {
    spin::start();
    let cpus = std::thread::available_parallelism();
    let cpus = cpus.map_or(1, |cpus| u32::try_from(cpus.get()).unwrap_or(u32::MAX));
    CPUS.store(cpus, Relaxed);
    cpus
}

/// Implements [`crate::platform::Hint::Cpu`]: a fixed number for each thread that spreads threads over the CPUs.
#[inline]
pub(super) fn cpu() -> u32 {
    table::hash(thread_address()) % cpus()
}

/// Implements [`crate::platform::Hint::Node`].
#[inline]
pub(super) fn node() -> u32 {
    0
}

/// Returns the generation of this process, [`crate::platform::Platform::generation`]: forks are not noticed.
#[inline]
#[must_use]
pub fn generation() -> u32 {
    0
}

/// Returns the kernel's number of the calling thread, which is not needed here.
pub(super) fn tid() -> u32 {
    0
}
