//! Filters of system calls (seccomp) that check the number of a call and its arguments: the author of a filter allows
//! the calls that a program makes with the C library's locks, so the preload library may call nothing else.
//!
//! A filter is put on a program before it starts, or on all threads at once while they fight. It ends the program, by a
//! signal that names the call, or answers EPERM, upon which nothing may hang. The victim installs it itself
//! (`victims/filters.c`), repeatedly in a new process: the moment is chance.

use super::{Fault, fault};
use crate::inject::Nothing;
use crate::run::{Limits, Tally};
use crate::session::{Session, victims};
use anyhow::Result;
use std::time::{Duration, Instant};

pub(super) const FAULTS: &[Fault] = &[
    fault("filter-clocks", |session| filtered(session, "clock", WHENEVER)),
    fault("filter-futex", |session| filtered(session, "futex", WHENEVER)),
    fault("filter-membarrier", |session| filtered(session, "membarrier", WHENEVER)),
    fault("filter-yield", |session| filtered(session, "yield", WHENEVER)),
    fault("filter-gettid", |session| filtered(session, "gettid", WHENEVER)),
    fault("filter-rest", |session| filtered(session, "rest", &["tsync"])),
];

const WHENEVER: &[&str] = &["tsync", "exec"];
const ANSWERS: &[&str] = &["kill", "trap", "refuse"];

/// How long a process continues under its filter, if all of them get their turn.
const RUN: Duration = Duration::from_millis(30);

/// Runs each victim under each form of the filter, for as long as the row has, and once at least.
fn filtered(session: &mut Session, what: &str, when: &[&str]) -> Result<Tally> {
    let begun = Instant::now();
    let limits = Limits::of(RUN);
    let mut sum = Tally::default();
    while sum.tries == 0 || begun.elapsed() < session.length {
        for victim in victims("filtered").iter().filter(|victim| session.wide || !victim.wide) {
            for (how, when) in ANSWERS.iter().flat_map(|how| when.iter().map(move |when| (how, when))) {
                let deed = format!("deny:{what}:{how}:{when}");
                let mut tally = session.one(victim, &deed, &mut Nothing, limits)?;
                tally.trouble.iter_mut().for_each(|trouble| trouble.insert_str(0, &format!("{deed}, ")));
                sum.add(tally);
            }
        }
        if sum.lost + sum.hangs > 0 {
            break;
        }
    }
    Ok(sum)
}
