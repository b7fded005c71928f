//! Threads and processes that stop for a while, and continue.

use super::{Fault, fault};
use crate::inject::bursts::Bursts;
use crate::inject::tracer::{Tracer, Whom};
use crate::run::Tally;
use crate::session::{Session, victims};
use anyhow::Result;
use std::time::Duration;

/// The longest stop of a single thread.
const STOP: Duration = Duration::from_millis(40);
/// The longest stop of a process.
const BURST: Duration = Duration::from_millis(200);

pub(super) const FAULTS: &[Fault] = &[
    fault("holder-stopped", "the thread that has the lock stopped for up to 40 ms, and continued", |session| {
        stopped(session, Whom::Holder)
    }),
    fault(
        "waiter-stopped",
        "another thread, wherever it is (asleep, spinning, first in the queue, handed the lock, on its way), stopped \
         for up to 40 ms, and continued",
        |session| stopped(session, Whom::Other),
    ),
    fault("process-stopped", "the whole process stopped for up to 200 ms, as by a suspended machine", |session| {
        session.each(&victims("all"), "none", |rng| Ok(Bursts::new(rng, BURST)))
    }),
    fault(
        "sharer-stopped",
        "one of four processes that share a mutex, robust or not, and a condition variable stopped for up to 20 ms, \
         with or without the mutex",
        |session| session.itself("sharers", "stop"),
    ),
];

fn stopped(session: &mut Session, whom: Whom) -> Result<Tally> {
    session.each(&victims("all"), "none", |rng| Ok(Tracer::stops(rng, whom, STOP)))
}
