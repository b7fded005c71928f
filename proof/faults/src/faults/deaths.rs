//! Threads and processes that end where they should not, that fork, and whose handlers lock.

use super::{Fault, Outcome, fault};
use crate::inject::Nothing;
use crate::session::{Session, Victim};
use anyhow::Result;

pub(super) const FAULTS: &[Fault] = &[
    fault(
        "cancelled",
        "threads cancelled one after the other: in condition waits, inside of the section (a handler ends it), on \
         their way to a lock",
        |session| session.each(CANCELLED, "cancel", |_| Ok(Nothing)).map(Outcome::Ran),
    ),
    fault("owner-exits", "threads that end with a robust mutex locked, in the middle of an update", |session| {
        session.each(ROBUST, "exit", |_| Ok(Nothing)).map(Outcome::Ran)
    }),
    fault(
        "sharer-killed",
        "processes that share a robust mutex killed, while they have it, wait for it or anything else",
        |session| session.each(KILLED, "kill", |_| Ok(Nothing)).map(Outcome::Ran),
    ),
    fault("waiter-killed", "a process killed that waits for a shared mutex which is not robust", |session| {
        session.each(WAITER, "kill-waiter", |_| Ok(Nothing)).map(Outcome::Ran)
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
        |session| session.each(HANDLERS, "storm", |_| Ok(Nothing)).map(Outcome::Ran),
    ),
];

const CANCELLED: &[Victim] = &[
    Victim::posix("adaptive", "mutex"),
    Victim::posix("adaptive", "cond"),
    Victim::posix("adaptive", "rwlock"),
    Victim::posix("queued", "cond"),
    Victim::posix("adaptive", "timed").long(),
    Victim::posix("queued", "mutex").long(),
    Victim::posix("ticket", "cond").long(),
    Victim::posix("ttas", "cond").long(),
];
const ROBUST: &[Victim] = &[Victim::posix("adaptive", "robust"), Victim::posix("queued", "robust").long()];
/// Two: of three, one may sleep for ever if another that an unlock has woken is killed, while the third takes the lock
/// and sees no waiter. Robust or not, it is the C library's mutex, and does so without the preload library, too.
const KILLED: &[Victim] = &[Victim::shared("robust").threads(2)];
/// One alongside the parent, for the same reason.
const WAITER: &[Victim] = &[Victim::shared("shared").threads(1)];
/// Writers alone: a child may inherit half of a reader's step (docs/design/rwsem.md).
const FORKING: &[Victim] = &[
    Victim::posix("adaptive", "mutex"),
    Victim::posix("adaptive", "wrlock"),
    Victim::posix("queued", "mutex"),
    Victim::posix("ticket", "mutex"),
    Victim::posix("ttas", "mutex").long(),
    Victim::posix("adaptive", "timed").long(),
    Victim::posix("adaptive", "spin").long(),
];
const HANDLERS: &[Victim] = &[
    Victim::posix("adaptive", "mutex"),
    Victim::posix("adaptive", "rwlock"),
    Victim::posix("queued", "mutex"),
    Victim::posix("adaptive", "cond"),
    Victim::posix("adaptive", "timed").long(),
    Victim::posix("adaptive", "spin").long(),
    Victim::posix("ticket", "mutex").long(),
    Victim::posix("ttas", "mutex").long(),
];

/// The states in which children found the lock, as `victims/deeds.c` numbers them.
const STATES: [&str; 6] =
    ["free", "held by the child", "the same, spinners", "the same, sleepers", "the same, reserved", "held by another"];

fn forks(session: &mut Session) -> Result<Outcome> {
    let mut tally = session.each(FORKING, "fork", |_| Ok(Nothing))?;
    // With few forks one may be missing by chance.
    let enough = tally.tries > 200;
    for (state, number) in STATES.iter().zip(tally.states) {
        if number == 0 && enough {
            tally.trouble.push(format!("no child found the lock in this state: {state}"));
        }
    }
    Ok(Outcome::Ran(tally))
}
