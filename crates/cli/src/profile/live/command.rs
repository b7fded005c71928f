//! Profiles of programs started for it on our locks, by the recorder inside these: the programs keep their speed.

use super::log::Log;
use super::{Look, PERIOD_NS, STEP, Seen, maker, observed};
use crate::live::Modules;
use crate::preload::Library;
use crate::profile::futex::{about, ending};
use crate::profile::started::{Ended, spawn, wait_beside};
use crate::program::native_of;
use crate::target::Target;
use crate::variant::Variant;
use anyhow::{Context, Result};
use std::time::{Duration, SystemTime};
use turnwise_futex_trace::now_ns;
use turnwise_live::{Channel, Error, Snapshot, no_room, why_no_view};
use turnwise_profile::model::Profile;

/// The interval of checks for the program's live view.
const LOOK: Duration = Duration::from_millis(2);

/// Runs a program on these locks for at most this time, and records its waits; returns the profile and how it ended.
pub(in crate::profile) fn run(locks: &Variant, target: &Target, time: Option<Duration>) -> Result<(Profile, Ended)> {
    native_of(&target.path).context("--waits")?;
    let mut command = target.start();
    locks.apply(&Library::install()?, &mut command);
    let (started, started_ns) = (SystemTime::now(), now_ns());
    let start = || spawn(command, target, time);
    let (seen, ended) = wait_beside(start, |pid, is_over| recorded(pid, started_ns, is_over))?;
    let seen = seen.context("--waits")?;
    let words = target.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut program = about(words, started, ending(ended.status));
    program.policy.clone_from(&locks.name);
    Ok((maker::profile(&seen, program), ended))
}

/// Records the waits of a process from its start until it ends. If it executes several programs (`exec`), the first
/// whose threads wait for a lock counts.
fn recorded(pid: u32, started_ns: u64, is_over: impl Fn() -> bool) -> Result<Seen, Error> {
    let nothing = |at_ns| Look::nothing(pid, at_ns);
    let first = nothing(started_ns);
    let channel = match view(pid, &is_over) {
        Ok(channel) => channel,
        Err(missing) => {
            let (last, log, modules) = (nothing(now_ns()), Log::new(started_ns, pid), Modules::none());
            return Ok(Seen { first, last, log, modules, losses: (0, 0), others: Vec::new(), missing });
        }
    };
    let mut recorder = channel.is_alive().then(|| channel.record()).transpose()?;
    if let Some(recorder) = &mut recorder {
        recorder.ask(PERIOD_NS)?;
    }
    let seen = observed(&channel, recorder, first, &is_over)?;
    while !is_over() {
        std::thread::sleep(STEP);
    }
    Ok(seen)
}

/// Waits for the live view of a process; fails if it ended without one, with the reason if one was seen.
fn view(pid: u32, is_over: impl Fn() -> bool) -> Result<Channel, Option<String>> {
    /// The number of checks between two checks of the reason.
    const REASON: u32 = 32;
    // Limits on us also limit what we start.
    let mut why = no_room(std::process::id());
    for turn in 1.. {
        // Checked before the look: a view that is created in between is seen.
        let ends = is_over();
        let gone = || Channel::list_gone().into_iter().find(|channel| channel.pid() == pid);
        match Channel::of(pid).ok() {
            Some(found) => return Ok(found),
            None if ends => return gone().ok_or(why),
            None => std::thread::sleep(LOOK),
        }
        if turn % REASON == 0 {
            why = why_no_view(pid).or(why);
        }
    }
    Err(why)
}

impl Look {
    /// Returns the look at a process before its first wait.
    fn nothing(pid: u32, at_ns: u64) -> Look {
        let snapshot = Snapshot { pid, alive: true, taken_ns: at_ns, is_exact: true, ..Snapshot::default() };
        Look { snapshot, sums: Vec::new() }
    }
}
