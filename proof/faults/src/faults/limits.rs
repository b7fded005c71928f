//! What a program may have runs out: memory, descriptors, threads.
//!
//! Not the program on our locks alone, the tools around it too. A run is right if the program comes to its end with
//! every update counted, whatever the tool then says of its own troubles, or if it is refused: an exit status other
//! than 0 and a reason, no panic and no signal but Rust's own abort, which says so. Calls of the dynamic loader pass:
//! what it does without memory (often a crash) is the C library's.

use super::{Fault, Outcome, fault};
use crate::board::Shared;
use crate::inject::InTheLock;
use crate::inject::tracer::{ANSWERS, Action, Call, Tracer};
use crate::run::{Limits, Run, Tally, watch};
use crate::session::{Session, Victim};
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
    fault(
        "no-memory",
        "ENOMEM for one allocation from the kernel (mmap, mremap, brk), or for all from that one on: of a program on \
         the preload library, of `turnwise run`, of `turnwise profile`",
        |session| runs_out(session, MEMORY, Errno::ENOMEM),
    ),
    fault(
        "no-descriptors",
        "EMFILE for one file that is opened, or for all from that one on: of the same",
        |session| runs_out(session, FILES, Errno::EMFILE),
    ),
    fault("no-threads", "EAGAIN for half of the 16 threads that a program starts, as by RLIMIT_NPROC", no_threads),
    fault("5000-threads", "more threads than there are slots for their names (4,096)", many_threads),
];

const MEMORY: &[libc::c_long] = &[libc::SYS_mmap, libc::SYS_mremap, libc::SYS_brk];
const FILES: &[libc::c_long] = &[libc::SYS_openat, libc::SYS_openat2, libc::SYS_memfd_create];

const VICTIM: Victim = Victim::posix("adaptive", "mutex");
/// What is put in front of the program.
const TOOLS: [&[&str]; 3] = [&[], &["run", "--"], &["profile", "--"]];

fn runs_out(session: &mut Session, calls: &'static [libc::c_long], error: Errno) -> Result<Outcome> {
    if !ANSWERS {
        return Ok(Outcome::Skipped("system calls can be answered on x86-64 alone".into()));
    }
    let mut sum = Tally::default();
    for tool in TOOLS {
        let all = Rc::new(Cell::new(0));
        let whole = once(session, tool, calls, counting(&all, u64::MAX, false, error))?;
        ensure!(whole.finished, "`turnwise {}` fails without a fault: {}", tool.join(" "), whole.said);
        for nth in which(session, all.get()) {
            let from_then_on = nth % 2 == 1;
            let run = once(session, tool, calls, counting(&Rc::default(), nth, from_then_on, error))?;
            let place = format!("call {nth} of {} under `turnwise {}`", all.get(), tool.join(" "));
            sum.add(judge(run, &place));
        }
    }
    Ok(Outcome::Ran(sum))
}

/// The calls that fail: each in the long form, otherwise a few.
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

fn once(
    session: &mut Session,
    tool: &[&str],
    calls: &[libc::c_long],
    decide: impl FnMut(&Call, &mut SmallRng) -> Action + 'static,
) -> Result<Run> {
    let board = Shared::new()?;
    let program = session.command(&VICTIM, "none", &board)?;
    let command = if tool.is_empty() {
        program
    } else {
        let mut command = Command::new(session.tool("turnwise")?);
        command.args(tool).arg(program.get_program()).args(program.get_args());
        command
    };
    let limits = Limits { length: Duration::from_millis(20), patience: session.patience };
    watch(&board, command, &mut Tracer::answers(session.rng(), calls, decide), limits)
}

/// Right, or refused with a reason.
fn judge(run: Run, place: &str) -> Tally {
    let Run { mut tally, finished, ended, said } = run;
    // Rust's runtime wants a stack for the signals of each thread, and ends the process if there is none.
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

fn no_threads(session: &mut Session) -> Result<Outcome> {
    if !ANSWERS {
        return Ok(Outcome::Skipped("system calls can be answered on x86-64 alone".into()));
    }
    let half = |_: &Call, rng: &mut SmallRng| match rng.random() {
        true => Action::Answer(Some(Errno::EAGAIN)),
        false => Action::Pass,
    };
    let victims = [VICTIM.threads(16), Victim::own("mutex").threads(16), Victim::own("rwsem").threads(16)];
    let calls = [libc::SYS_clone, libc::SYS_clone3];
    session.each(&victims, "none", |rng| Ok(Tracer::answers(rng, &calls, half))).map(Outcome::Ran)
}

fn many_threads(session: &mut Session) -> Result<Outcome> {
    const MANY: usize = 5000;
    let victims = [VICTIM.threads(MANY), Victim::own("mutex").threads(MANY), Victim::own("rwsem").threads(MANY)];
    let mut tally = session.each(&victims[..if session.wide { 3 } else { 1 }], "none", |_| Ok(InTheLock))?;
    tally.tries *= MANY as u64;
    Ok(Outcome::Ran(tally))
}
