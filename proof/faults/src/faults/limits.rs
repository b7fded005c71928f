//! Resources of a program that run out: memory, descriptors, threads.
//!
//! This concerns not only the program on our locks, but also the tools around it. A run is right if the program comes
//! to its end with every update counted, whatever the tool then reports about its own troubles, or if it is refused: an
//! exit status other than 0 and a reason, no panic and no signal but Rust's own abort, with its message. Calls of the
//! dynamic loader pass: what it does without memory (often a crash) is the C library's.

use super::{Fault, fault, need, need_answers};
use crate::board::Shared;
use crate::inject::rlimit::Limited;
use crate::inject::tracer::{Action, Call, Tracer};
use crate::inject::{InTheLock, Injector};
use crate::run::{Limits, Run, Tally, watch};
use crate::session::{Session, Victim, victims};
use anyhow::{Result, ensure};
use nix::errno::Errno;
use nix::sys::signal::Signal;
use nix::sys::wait::WaitStatus;
use rand::RngExt;
use rand::rngs::SmallRng;
use std::cell::Cell;
use std::process::Command;
use std::rc::Rc;
use std::time::Duration;

pub(super) const FAULTS: &[Fault] = &[
    fault("no-memory", |session| runs_out(session, MEMORY, Errno::ENOMEM)),
    fault("no-descriptors", |session| runs_out(session, FILES, Errno::EMFILE)),
    fault("few-descriptors", few_descriptors),
    fault("no-threads", no_threads),
    fault("few-processes", few_processes),
    fault("5000-threads", many_threads),
];

const MEMORY: &[libc::c_long] = &[libc::SYS_mmap, libc::SYS_mremap, libc::SYS_brk];
const FILES: &[libc::c_long] = &[libc::SYS_openat, libc::SYS_openat2, libc::SYS_memfd_create];

/// What is put in front of the program.
const TOOLS: [&[&str]; 3] = [&[], &["run", "--"], &["profile", "--"]];

fn runs_out(session: &mut Session, calls: &'static [libc::c_long], error: Errno) -> Result<Tally> {
    need_answers()?;
    let mut sum = Tally::default();
    for tool in TOOLS {
        let all = Rc::new(Cell::new(0));
        let whole = traced(session, tool, calls, counting(&all, u64::MAX, false, error))?;
        ensure!(whole.finished, "`turnwise {}` fails without a fault: {}", tool.join(" "), whole.said);
        for nth in which(session, all.get()) {
            let from_then_on = nth % 2 == 1;
            let run = traced(session, tool, calls, counting(&Rc::default(), nth, from_then_on, error))?;
            let place = format!("call {nth} of {} under `turnwise {}`", all.get(), tool.join(" "));
            sum.add(judge(run, &place));
        }
    }
    Ok(sum)
}

/// Returns the calls that fail: each in the long form, otherwise a few.
fn which(session: &mut Session, all: u64) -> Vec<u64> {
    if session.wide {
        return (0..all).collect();
    }
    let mut rng = session.rng();
    (0..5).map(|_| rng.random_range(0..all.max(1))).collect()
}

/// Counts calls, and lets one fail, or also those after it.
fn counting(
    count: &Rc<Cell<u64>>,
    nth: u64,
    from_then_on: bool,
    error: Errno,
) -> impl FnMut(&Call, &mut SmallRng) -> Action + 'static {
    let count = Rc::clone(count);
    move |call, _| {
        if call.is_the_loaders() {
            return Action::Pass;
        }
        let number = count.replace(count.get() + 1);
        let fails = number == nth || from_then_on && number > nth;
        if fails { Action::Answer(Some(error)) } else { Action::Pass }
    }
}

fn traced(
    session: &mut Session,
    tool: &[&str],
    calls: &[libc::c_long],
    decide: impl FnMut(&Call, &mut SmallRng) -> Action + 'static,
) -> Result<Run> {
    let mut tracer = Tracer::answers(session.rng(), calls, decide);
    once(session, tool, &victims("limited")[0], &mut tracer)
}

/// Runs the program for a short time of the program, alone or by a tool.
fn once(session: &Session, tool: &[&str], victim: &Victim, with: &mut dyn Injector) -> Result<Run> {
    let board = Shared::new()?;
    let program = session.command(victim, "none", &board)?;
    let command = if tool.is_empty() {
        program
    } else {
        let mut command = Command::new(session.tool("turnwise")?);
        command.args(tool).arg(program.get_program()).args(program.get_args());
        command
    };
    // There need not be any fault.
    let limits = Limits { search: Duration::from_secs(5), ..Limits::of(Duration::from_millis(20)) };
    watch(&board, command, with, limits)
}

/// Runs with each limit from `least` to 40, or with some of them.
fn limited(session: &mut Session, victim: &Victim, least: u64, limit: impl Fn(u64) -> Limited) -> Result<Tally> {
    const MOST: u64 = 40;
    let mut sum = Tally::default();
    for tool in TOOLS {
        let enough = once(session, tool, victim, &mut limit(1000))?;
        ensure!(enough.finished, "`turnwise {}` fails with a limit of 1000: {}", tool.join(" "), enough.said);
        for most in which(session, MOST - least).into_iter().map(|more| least + more) {
            let run = once(session, tool, victim, &mut limit(most))?;
            sum.add(judge(run, &format!("a limit of {most} under `turnwise {}`", tool.join(" "))));
        }
    }
    Ok(sum)
}

fn few_descriptors(session: &mut Session) -> Result<Tally> {
    let limit = |most| Limited { resource: libc::RLIMIT_NOFILE, most, by: None };
    limited(session, &victims("limited")[0], 3, limit)
}

/// Runs as another user, one without other processes, since root has no such limit.
fn few_processes(session: &mut Session) -> Result<Tally> {
    need(nix::unistd::geteuid().is_root(), "only root can run programs as a user who runs nothing else")?;
    let somebody = session.somebody()?;
    let may_run = somebody.may_run(&session.tool("turnwise")?);
    need(may_run, "other users may not run the programs of this folder")?;
    let limit = |most| Limited { resource: libc::RLIMIT_NPROC, most, by: Some(somebody.clone()) };
    limited(session, &victims("limited")[1], 1, limit)
}

/// Judges whether a run is right, or refused with a reason.
fn judge(run: Run, place: &str) -> Tally {
    let Run { mut tally, finished, ended, said } = run;
    // Rust's runtime needs a stack for the signals of each thread, and ends the process if there is none.
    let by_runtime = said.contains("failed to allocate an alternative stack");
    let aborts = by_runtime || said.contains("memory allocation of");
    let refused = match ended {
        WaitStatus::Exited(_, code) => code != 0 && !said.trim().is_empty(),
        WaitStatus::Signaled(_, Signal::SIGABRT, _) => aborts,
        _ => false,
    };
    if said.contains("panicked") && !by_runtime || !finished && !refused {
        tally.lost += u64::from(tally.hangs == 0);
        tally.trouble.push(format!("{place}: {ended:?}; it said: {}", said.trim()));
    }
    tally
}

fn no_threads(session: &mut Session) -> Result<Tally> {
    need_answers()?;
    let half = |_: &Call, rng: &mut SmallRng| match rng.random() {
        true => Action::Answer(Some(Errno::EAGAIN)),
        false => Action::Pass,
    };
    let calls = [libc::SYS_clone, libc::SYS_clone3];
    session.each(&victims("sixteen"), "none", |rng| Ok(Tracer::answers(rng, &calls, half)))
}

fn many_threads(session: &mut Session) -> Result<Tally> {
    let crowd = victims("crowd");
    let mut tally = session.each(&crowd, "none", |_| Ok(InTheLock))?;
    tally.tries *= crowd[0].threads as u64;
    Ok(tally)
}
