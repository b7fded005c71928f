//! Threads and processes that stop for a while, and continue.

use super::{Fault, Outcome, fault};
use crate::inject::Nothing;
use crate::inject::bursts::Bursts;
use crate::inject::tracer::{Tracer, Whom};
use crate::session::{ALL, Session, Victim};
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
        session.each(ALL, "none", |rng| Ok(Bursts::new(rng, BURST))).map(Outcome::Ran)
    }),
    fault(
        "sharer-stopped",
        "one of four processes that share a mutex, robust or not, and a condition variable stopped for up to 20 ms, \
         with or without the mutex",
        |session| session.each(SHARERS, "stop", |_| Ok(Nothing)).map(Outcome::Ran),
    ),
];

const SHARERS: &[Victim] = &[
    Victim::shared("shared"),
    Victim::shared("robust"),
    Victim::shared("shared-cond").long(),
    Victim::shared("robust-cond"),
];

fn stopped(session: &mut Session, whom: Whom) -> Result<Outcome> {
    session.each(ALL, "none", |rng| Ok(Tracer::stops(rng, whom, STOP))).map(Outcome::Ran)
}
