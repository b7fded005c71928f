//! What the jobs need of the world that they run in, beside the file system's [`Host`].

use std::sync::LazyLock;
use std::time::{Duration, Instant};
use turnwise_bench::work;
use turnwise_bench::world::World;
use turnwise_sim::Sim;
use turnwise_simbench::host::Simulated;
use turnwise_vfs::{Host, Metal};

/// A host whose processors can be told to compute.
pub trait Scene: Host<Platform: World> {
    /// A clock that costs nothing to read, in nanoseconds.
    fn time_ns() -> u64;

    /// Computes for so long, and returns something that depends on `seed`.
    fn compute(seed: u64, ns: u64) -> u64;

    /// Runs a call into the kernel: a simulated one does not preempt itself.
    fn kernel<R>(call: impl FnOnce() -> R) -> R;

    /// The calling thread runs this program from now on: a simulator's profile keeps them apart.
    fn becomes(command: &'static str);

    /// The calling thread has done something: somebody gets on.
    fn progress();
}

/// Times of this length are measured, once, and others follow from them.
const MEASURED_NS: u64 = 100_000;
static STEPS: LazyLock<u32> = LazyLock::new(|| work::steps_for(Duration::from_nanos(MEASURED_NS)));

/// Measures what has to be measured, before anybody is in a hurry.
pub(super) fn prepare() {
    LazyLock::force(&STEPS);
    LazyLock::force(&START);
}

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

impl Scene for Metal {
    fn time_ns() -> u64 {
        u64::try_from(START.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn compute(seed: u64, ns: u64) -> u64 {
        let steps = ns.saturating_mul(u64::from(*STEPS)) / MEASURED_NS;
        work::work(seed, u32::try_from(steps).unwrap_or(u32::MAX))
    }

    #[inline]
    fn kernel<R>(call: impl FnOnce() -> R) -> R {
        call()
    }

    #[inline]
    fn becomes(_command: &'static str) {}

    fn progress() {}
}

impl Scene for Simulated {
    fn time_ns() -> u64 {
        Sim::time_ns()
    }

    #[track_caller]
    fn compute(seed: u64, ns: u64) -> u64 {
        Sim::compute(ns);
        seed
    }

    fn kernel<R>(call: impl FnOnce() -> R) -> R {
        Sim::in_kernel(call)
    }

    fn becomes(command: &'static str) {
        Sim::becomes(command);
    }

    fn progress() {
        Sim::progress();
    }
}
