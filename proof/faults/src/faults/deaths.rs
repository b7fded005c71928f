//! Threads and processes that end where they should not, that fork, and whose handlers lock.

use super::{Fault, fault};
use crate::run::Tally;
use crate::session::Session;
use anyhow::Result;

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "cancelled",
        "threads cancelled one after the other: in condition waits, inside of the section (a handler ends it), on \
         their way to a lock",
        |session| session.itself("cancelled", "cancel"),
    ),
    fault("owner-exits", "threads that end with a robust mutex locked, in the middle of an update", |session| {
        session.itself("robust", "exit")
    }),
    fault(
        "sharer-killed",
        "processes that share a robust mutex killed, while they have it, wait for it or anything else",
        |session| session.itself("killed", "kill"),
    ),
    fault("waiter-killed", "a process killed that waits for a shared mutex which is not robust", |session| {
        session.itself("waiter", "kill-waiter")
    }),
    fault(
        "forks",
        "children forked while the lock is free, the forking thread's (also with spinners, with sleepers, handed \
         off to one), or another thread's; they use it, or find that they cannot",
        forks,
    ),
    fault(
        "signals",
        "a storm of signals: the handler tries the lock, takes another, and posts a semaphore",
        |session| session.itself("handlers", "storm"),
    ),
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
