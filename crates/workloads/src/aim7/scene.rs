//! What the jobs need of the world that they run in, beside the file system's [`Host`].

use crate::simulate::host::Simulated;
use crate::world::World;
use std::sync::LazyLock;
use std::time::Instant;
use turnwise_sim::Sim;
use turnwise_vfs::{Host, Metal};

/// A host whose processors can be told to compute.
pub trait Scene: Host<Platform: World> {
    /// A clock that costs nothing to read, in nanoseconds.
    fn time_ns() -> u64;

    /// The calling thread has done something: somebody gets on.
    fn progress();
}

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

impl Scene for Metal {
    fn time_ns() -> u64 {
        u64::try_from(START.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn progress() {}
}

impl Scene for Simulated {
    fn time_ns() -> u64 {
        Sim::time_ns()
    }

    fn progress() {
        Sim::progress();
    }
}
