//! Locks that are wrong on purpose (`victims/kinds.c`): rows which show that the others can fail.

use super::{Expected, Fault, fault, need_answers};
use crate::inject::tracer::{Action, Tracer};
use crate::inject::{InTheLock, Injector};
use crate::run::{Limits, Tally};
use crate::session::{Session, Victim};
use anyhow::Result;
use nix::errno::Errno;
use rand::RngExt;
use std::time::Duration;

pub(super) const FAULTS: &[Fault] = &[
    Fault { expected: Expected::Loses, ..fault("broken-forgetful", |session| run(session, FORGETFUL, &mut InTheLock)) },
    Fault { expected: Expected::Loses, ..fault("broken-trusting", trusting) },
    fault("broken-unprovoked", |session| run(session, TRUSTING, &mut InTheLock)),
    Fault { expected: Expected::Hangs, ..fault("broken-late", |session| run(session, LATE, &mut InTheLock)) },
];

const FORGETFUL: &str = "pthreads adaptive broken-forgetful";
const TRUSTING: &str = "pthreads adaptive broken-trusting";
const LATE: &str = "pthreads adaptive broken-late";

/// Runs it. A hang is expected, or soon seen, and is not waited for long.
fn run(session: &mut Session, victim: &'static str, with: &mut dyn Injector) -> Result<Tally> {
    let (length, patience) = (session.length.max(Duration::from_secs(1)), Duration::from_secs(2));
    let limits = Limits { patience, ..Limits::of(length) };
    let tally = session.one(&Victim::new(victim), "none", with, limits)?;
    Ok(Tally { trouble: Vec::new(), ..tally })
}

fn trusting(session: &mut Session) -> Result<Tally> {
    need_answers()?;
    let interrupts = |_: &_, rng: &mut rand::rngs::SmallRng| match rng.random_ratio(1, 4) {
        true => Action::Answer(Some(Errno::EINTR)),
        false => Action::Pass,
    };
    let mut tracer = Tracer::answers(session.rng(), &[libc::SYS_futex], interrupts);
    run(session, TRUSTING, &mut tracer)
}
