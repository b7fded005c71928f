//! Threads and processes that end where they should not, that fork, and whose handlers lock.

use super::{Fault, fault};
use crate::run::Tally;
use crate::session::Session;
use anyhow::Result;

pub(super) const FAULTS: &[Fault] = &[
    fault("cancelled", |session| session.itself("cancelled", "cancel")),
    fault("owner-exits", |session| session.itself("robust", "exit")),
    fault("sharer-killed", |session| session.itself("killed", "kill")),
    fault("waiter-killed", |session| session.itself("waiter", "kill-waiter")),
    fault("forks", forks),
    fault("signals", |session| session.itself("handlers", "storm")),
];

/// The states in which children found the lock, as `victims/deeds.c` numbers them.
const STATES: [&str; 6] =
    ["free", "held by the child", "the same, spinners", "the same, sleepers", "the same, reserved", "held by another"];

fn forks(session: &mut Session) -> Result<Tally> {
    let mut tally = session.itself("forking", "fork")?;
    // With few forks one may be missing by chance.
    let enough = tally.tries > 200;
    for (state, number) in STATES.iter().zip(tally.states) {
        if number == 0 && enough {
            tally.trouble.push(format!("no child found the lock in this state: {state}"));
        }
    }
    Ok(tally)
}
