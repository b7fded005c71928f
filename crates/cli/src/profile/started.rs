//! A program that we started: it is waited for, and ended when its time is up (`--for`), as `timeout` does.

use crate::target::Target;
use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::origin::WithOrigin;
use signal_hook::low_level::siginfo::{Cause, Origin};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};
use turnwise_present::ending::CHECK_FAILED;

/// The exit statuses of `timeout`: the time was up, and the program did not end by SIGTERM.
const TIME_UP: u8 = 124;
const KILLED: u8 = 137;
/// The time that programs have to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(5);
/// The interval of checks for the end of a program whose time is limited.
const LOOK: Duration = Duration::from_millis(10);

pub(super) type Signals = SignalsInfo<WithOrigin>;

/// A program that runs.
pub(super) struct Started {
    child: Child,
    signals: Signals,
    /// How long it may run.
    time: Option<Duration>,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    /// We ended it: the exit status of `timeout` for that.
    pub(super) time_up: Option<u8>,
}

impl From<ExitStatus> for Ended {
    fn from(status: ExitStatus) -> Ended {
        Ended { status, time_up: None }
    }
}

impl Ended {
    /// Returns the exit status as in a shell.
    pub(super) fn code(self) -> u8 {
        let own = self.status.code().unwrap_or_else(|| 128 + self.status.signal().unwrap_or(0));
        self.time_up.unwrap_or_else(|| u8::try_from(own).unwrap_or(1))
    }

    /// Returns the exit status after a check, if there was one. A program that failed by itself keeps its own.
    pub(super) fn code_after(self, passed: Option<bool>) -> u8 {
        match passed.filter(|_| self.status.success() || self.time_up.is_some()) {
            Some(true) => 0,
            Some(false) => CHECK_FAILED,
            None => self.code(),
        }
    }
}

/// Starts a program, which may run for `time`. From here on Ctrl-C belongs to it: it shares our terminal.
pub(super) fn spawn(mut command: Command, target: &Target, time: Option<Duration>) -> Result<Started> {
    let signals = Signals::new([SIGINT, SIGQUIT, SIGTERM, SIGHUP])?;
    let child = command.spawn().with_context(|| format!("cannot execute {}", target.path.display()))?;
    Ok(Started { child, signals, time })
}

/// Starts a program, waits for it in a separate thread, and runs `meanwhile` in this one: with the program's number,
/// and a function that returns whether it has ended.
pub(super) fn wait_beside<T>(
    start: impl FnOnce() -> Result<Started>,
    meanwhile: impl FnOnce(u32, &dyn Fn() -> bool) -> T,
) -> Result<(T, Ended)> {
    let (hand, handed) = mpsc::channel::<Started>();
    let wait_for_it = move || handed.recv().context("the program did not start")?.wait();
    // Before the program: if no thread is available, it has not started yet.
    let waiter = thread::Builder::new().spawn(wait_for_it).context("no thread to wait for the program with")?;
    let started = start()?;
    let pid = started.child.id();
    hand.send(started).context("the thread that waits for the program has ended")?;
    let seen = meanwhile(pid, &|| waiter.is_finished());
    let ended = waiter.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    Ok((seen, ended))
}

impl Started {
    /// Waits for the end. The program itself gets signals from the terminal; signals sent only to us are passed on.
    pub(super) fn wait(mut self) -> Result<Ended> {
        let handle = self.signals.handle();
        let pid = Pid::from_child(&self.child);
        thread::scope(|scope| {
            let hand_on = || {
                for signal in self.signals.forever().filter_map(|origin| handed_on(&origin)) {
                    // It may have ended meanwhile.
                    let _ = kill_process(pid, signal);
                }
            };
            if let Err(error) = thread::Builder::new().spawn_scoped(scope, hand_on) {
                eprintln!("turnwise: no thread for signals ({error}): send them to the program itself, process {pid}");
            }
            let ended = match self.time {
                Some(time) => wait_for(&mut self.child, time),
                None => self.child.wait().map(Ended::from),
            };
            handle.close();
            ended.context("cannot wait for the program")
        })
    }
}

/// Returns the signal, if it did not come from the terminal.
fn handed_on(origin: &Origin) -> Option<Signal> {
    let of_a_process = matches!(origin.cause, Cause::Sent(_));
    match origin.signal {
        SIGTERM => Some(Signal::TERM),
        SIGHUP => Some(Signal::HUP),
        SIGINT if of_a_process => Some(Signal::INT),
        SIGQUIT if of_a_process => Some(Signal::QUIT),
        _ => None,
    }
}

/// Waits for a program for at most this time, and then ends it and all processes that it has started.
fn wait_for(child: &mut Child, time: Duration) -> io::Result<Ended> {
    let pid = Pid::from_child(child);
    if within(time, || Ok(child.try_wait()?.is_some()))? {
        return child.wait().map(Ended::from);
    }
    eprintln!("turnwise: the time of --for is up: SIGTERM ends the program");
    let mut all = family(pid);
    // One that is stopped obeys when it continues.
    [Signal::TERM, Signal::CONT].into_iter().for_each(|signal| send(&all, signal));
    if !within(GRACE, || Ok(child.try_wait()?.is_some() && !all.iter().any(Process::runs)))? {
        eprintln!("turnwise: SIGTERM did not end it within {} s: SIGKILL does", GRACE.as_secs());
        if child.try_wait()?.is_none() {
            // What it has started since.
            all.extend(family(pid));
        }
        send(&all, Signal::KILL);
    }
    let status = child.wait()?;
    let was_killed = status.signal() == Some(Signal::KILL.as_raw());
    Ok(Ended { status, time_up: Some(if was_killed { KILLED } else { TIME_UP }) })
}

fn within(time: Duration, mut is_met: impl FnMut() -> io::Result<bool>) -> io::Result<bool> {
    let began = Instant::now();
    loop {
        if is_met()? {
            return Ok(true);
        }
        let left = time.saturating_sub(began.elapsed());
        if left.is_zero() {
            return Ok(false);
        }
        thread::sleep(left.min(LOOK));
    }
}

/// A process. When it began tells it from a later one with its number.
#[derive(Clone, Copy)]
struct Process {
    pid: Pid,
    parent: u64,
    began: u64,
}

impl Process {
    /// Returns the process with this number; `None`: there is none, or it has ended.
    fn of(pid: Pid) -> Option<Process> {
        let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        // The program's name comes first, which may contain anything.
        let stat = String::from_utf8_lossy(&stat);
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |place: usize| fields.get(place)?.parse::<u64>().ok();
        let (parent, threads, began) = (number(1)?, number(17)?, number(19)?);
        // Its first thread may have ended before the others.
        let runs = threads > 1 || !["Z", "X"].contains(&fields[0]);
        runs.then_some(Process { pid, parent, began })
    }

    fn runs(&self) -> bool {
        Process::of(self.pid).is_some_and(|now| now.began == self.began)
    }
}

/// Returns a process and all that descend from it.
fn family(pid: Pid) -> Vec<Process> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter_map(Pid::from_raw);
    let all: Vec<Process> = pids.filter_map(Process::of).collect();
    let mut found: Vec<Process> = all.iter().copied().filter(|process| process.pid == pid).collect();
    let mut next = 0;
    while let Some(parent) = found.get(next).map(|process| process.pid.as_raw_pid().unsigned_abs()) {
        found.extend(all.iter().filter(|process| process.parent == u64::from(parent)));
        next += 1;
    }
    found
}

fn send(to: &[Process], signal: Signal) {
    for process in to.iter().filter(|process| process.runs()) {
        // It may have ended meanwhile, or be another user's.
        let _ = kill_process(process.pid, signal);
    }
}
