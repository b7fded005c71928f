//! Threads and processes that stop for a while, and continue.

use super::{Fault, fault};
use crate::inject::bursts::Bursts;
use crate::inject::tracer::{Tracer, Whom};
use crate::run::Tally;
use crate::session::{Session, victims};
use anyhow::Result;

pub(super) const FAULTS: &[Fault] = &[
    fault("holder-stopped", |session| stopped(session, Whom::Holder)),
    fault("waiter-stopped", |session| stopped(session, Whom::Other)),
    fault("process-stopped", |session| session.each(&victims("all"), "none", |rng| Ok(Bursts::new(rng)))),
    fault("sharer-stopped", |session| session.itself("sharers", "stop")),
];

fn stopped(session: &mut Session, whom: Whom) -> Result<Tally> {
    session.each(&victims("all"), "none", |rng| Ok(Tracer::stops(rng, whom)))
}
