//! Profiles of programs that are started for it on our locks, by the recorder inside those: they keep their speed.

use super::log::Log;
use super::{Look, PERIOD_NS, STEP, Seen, follow, maker, others};
use crate::preload::Library;
use crate::profile::futex::{about, ending};
use crate::profile::record::{exit_code, monotonic_ns, spawn, wait_beside};
use crate::program::check_interposable;
use crate::target::Target;
use crate::variant::Variant;
use anyhow::{Context, Result};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};
use turnwise_futex_trace::Living;
use turnwise_live::{Channel, Error, Lost, Snapshot};
use turnwise_profile::model::Profile;

/// How often it is looked whether the program has a live view.
const LOOK: Duration = Duration::from_millis(2);

/// Runs a program on these locks, and records its waits until it ends; returns the profile and the exit status.
pub(in crate::profile) fn run(locks: &Variant, target: &Target) -> Result<(Profile, ExitCode)> {
    check_interposable(&target.path).context("--waits")?;
    let mut command = target.start();
    locks.apply(&Library::install()?, &mut command);
    let (started, started_ns) = (SystemTime::now(), monotonic_ns());
    let (seen, status) = wait_beside(|| spawn(command, target), |pid, is_over| recorded(pid, started_ns, is_over))?;
    let seen = seen.context("--waits")?;
    let words = target.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut program = about(words, started, ending(status));
    program.policy.clone_from(&locks.name);
    Ok((maker::profile(&seen, program), exit_code(status)))
}

/// Records the waits of a process from its start until that is over. Of several programs that it becomes (`exec`), the
/// first counts whose threads wait for a lock.
fn recorded(pid: u32, started_ns: u64, is_over: impl Fn() -> bool) -> Result<Seen, Error> {
    let nothing = |at_ns| Look::nothing(pid, at_ns);
    let (mut log, mut living) = (Log::new(started_ns, pid), Living::of(u32::MAX));
    let Some(channel) = view(pid, &is_over) else {
        let (first, last) = (nothing(started_ns), nothing(monotonic_ns()));
        return Ok(Seen { first, last, log, living, losses: (0, 0), others: Vec::new() });
    };
    let mut losses = (0, 0);
    // It may have ended by now: then what was counted is all.
    if channel.is_alive() {
        living = Living::of(pid);
        let mut recorder = channel.record()?;
        recorder.ask(PERIOD_NS)?;
        follow(&channel, &mut recorder, &mut log, &mut living, &is_over)?;
        losses = recorder.losses()?;
    }
    let last = Look::at(&channel)?;
    while !is_over() {
        std::thread::sleep(STEP);
    }
    log.unwind(&mut living);
    Ok(Seen { first: nothing(started_ns), last, log, living, losses, others: others(&channel) })
}

/// Waits for the live view of a process; `None`: it ended without one.
fn view(pid: u32, is_over: impl Fn() -> bool) -> Option<Channel> {
    loop {
        // Asked before the look: a view that was made in between is seen.
        let ends = is_over();
        let found = Channel::of(pid).ok();
        let gone = || Channel::list_gone().into_iter().find(|channel| channel.pid() == pid);
        match found {
            None if ends => return gone(),
            None => std::thread::sleep(LOOK),
            found => return found,
        }
    }
}

impl Look {
    /// Of a process before its first wait.
    fn nothing(pid: u32, at_ns: u64) -> Look {
        let snapshot = Snapshot {
            pid,
            start: 0,
            name: String::new(),
            alive: true,
            taken_ns: at_ns,
            locks: Vec::new(),
            threads: Vec::new(),
            lost: Lost::default(),
            is_exact: true,
            rules: Vec::new(),
        };
        Look { snapshot, sums: Vec::new() }
    }
}
