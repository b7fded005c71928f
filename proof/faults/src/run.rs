//! One victim under one injector: started, watched, ended, and counted.

use crate::board::{Board, Shared};
use crate::inject::Injector;
use anyhow::{Context, Result};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::fs;
use std::io::{Read, Seek};
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// The outcome.
#[derive(Default, Clone)]
pub(crate) struct Tally {
    /// Faults that were injected.
    pub(crate) tries: u64,
    /// Updates that threads made.
    pub(crate) updates: u64,
    /// Updates lost, exclusion broken, wrong answers.
    pub(crate) lost: u64,
    pub(crate) hangs: u64,
    /// The longest time without any update.
    pub(crate) stall: Duration,
    /// As the victim counted them.
    pub(crate) states: [u64; 8],
    /// Notes on what went wrong.
    pub(crate) trouble: Vec<String>,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Tally) {
        self.tries += other.tries;
        self.updates += other.updates;
        self.lost += other.lost;
        self.hangs += other.hangs;
        self.stall = self.stall.max(other.stall);
        self.states.iter_mut().zip(other.states).for_each(|(sum, more)| *sum += more);
        self.trouble.extend(other.trouble);
    }
}

/// For how long, and when it is a hang.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) length: Duration,
    /// Nothing happens for longer.
    pub(crate) patience: Duration,
    /// How much longer it continues where no fault has come yet.
    pub(crate) search: Duration,
}

impl Limits {
    /// Returns the usual ones: on a busy CPU a thread is seldom seen where it is to be hit.
    pub(crate) const fn of(length: Duration) -> Self {
        Limits { length, patience: Duration::from_secs(20), search: Duration::from_secs(60) }
    }

    /// Returns whether a run has lasted long enough: also until there was a fault, unless there seem to be none.
    fn is_enough(self, time: Duration, tries: u64) -> bool {
        time > self.length && (tries > 0 || time > self.length * 4 + self.search)
    }
}

/// How a victim ended.
pub(crate) struct Run {
    pub(crate) tally: Tally,
    /// It came to its end, and reported the pair.
    pub(crate) finished: bool,
    pub(crate) ended: WaitStatus,
    /// On standard error.
    pub(crate) said: String,
}

impl Run {
    /// Returns whether only a proper end without output is right.
    fn is_silent_success(&self) -> bool {
        self.finished && matches!(self.ended, WaitStatus::Exited(_, 0)) && self.said.trim().is_empty()
    }

    /// Returns the tally of a victim that should have come to its end.
    pub(crate) fn into_tally(mut self) -> Tally {
        if self.is_silent_success() || self.tally.hangs > 0 && self.said.trim().is_empty() {
            return self.tally;
        }
        self.tally.lost += u64::from(!self.finished && self.tally.hangs == 0);
        self.tally.trouble.push(format!("ended as {:?}; it said: {}", self.ended, self.said.trim()));
        self.tally
    }
}

/// When updates were last seen.
struct Progress {
    said: u64,
    at: Instant,
    stall: Duration,
}

impl Progress {
    /// Returns for how long nothing has happened. `excused`: the victim could not.
    fn look(&mut self, board: &Board, excused: bool) -> Duration {
        let (said, now) = (board.said(), Instant::now());
        let silent = now - self.at;
        if said != self.said || excused {
            // Before the first update it starts, which is not a stall.
            if self.said != 0 && !excused {
                self.stall = self.stall.max(silent);
            }
            (self.said, self.at) = (said, now);
        }
        silent
    }
}

/// Runs `command`, which gets the board by its descriptor, for a while.
pub(crate) fn watch(board: &Shared, mut command: Command, injector: &mut dyn Injector, limits: Limits) -> Result<Run> {
    let mut errors = tempfile::tempfile().context("cannot make a file for what the victim says")?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors.try_clone()?);
    injector.prepare(&mut command);
    let child = command.spawn().with_context(|| format!("cannot start {}", command.get_program().display()))?;
    let pid = Pid::from_raw(child.id() as i32);
    injector.started(pid, board);
    let begun = Instant::now();
    let mut progress = Progress { said: 0, at: begun, stall: Duration::ZERO };
    let mut hang = None;
    let ended = loop {
        injector.step(board)?;
        if let Some(ended) = reap(pid, injector, board)? {
            break ended;
        }
        let silent = progress.look(board, injector.stands_still());
        let stops = board.stop.load(Relaxed) != 0;
        if !stops && progress.said > 0 && limits.is_enough(begun.elapsed(), board.tries.load(Relaxed)) {
            injector.finish()?;
            board.stop.store(1, Relaxed);
            progress.at = Instant::now();
        }
        if silent > limits.patience && hang.is_none() {
            hang = Some(stacks(pid));
            injector.finish()?;
            // With all that it started, if it leads a group.
            kill(pid, Signal::SIGKILL).context("cannot end the victim")?;
        }
    };
    let mut said = String::new();
    errors.rewind()?;
    errors.read_to_string(&mut said).unwrap_or_default();
    let finished = board.finished.load(Relaxed) == 1;
    let tally = Tally {
        tries: board.tries.load(Relaxed),
        updates: board.said(),
        lost: if finished { board.lost() } else { board.broken.load(Relaxed) },
        hangs: u64::from(hang.is_some()) + u64::from(board.hangs.load(Relaxed)),
        stall: progress.stall,
        states: std::array::from_fn(|state| board.states[state].load(Relaxed)),
        trouble: hang.iter().map(|stacks| format!("hangs:\n{stacks}")).collect(),
    };
    Ok(Run { tally, finished, ended, said })
}

/// Reports to the injector what happened; returns how the victim ended, when it has.
fn reap(pid: Pid, injector: &mut dyn Injector, board: &Board) -> Result<Option<WaitStatus>> {
    // Bounded: a victim that never rests must be polled in between.
    for _ in 0..1000 {
        let status = waitpid(None, Some(WaitPidFlag::WNOHANG | WaitPidFlag::__WALL)).context("cannot wait")?;
        if status == WaitStatus::StillAlive {
            std::thread::sleep(Duration::from_micros(100));
            break;
        }
        injector.changed(status, board)?;
        let over = matches!(status, WaitStatus::Exited(..) | WaitStatus::Signaled(..));
        if over && status.pid() == Some(pid) {
            return Ok(Some(status));
        }
    }
    Ok(None)
}

/// Returns where the threads of a process are: by gdb if there is one, otherwise according to the kernel.
fn stacks(pid: Pid) -> String {
    let gdb = Command::new("timeout")
        .args(["20", "gdb", "-batch", "-ex", "thread apply all bt 12", "-p", &pid.to_string()])
        .stdin(Stdio::null())
        .output();
    let text = gdb.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    if text.contains("#0") { text } else { as_the_kernel_says(pid) }
}

fn as_the_kernel_says(pid: Pid) -> String {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let one = |thread: fs::DirEntry| {
        let read = |file: &str| fs::read_to_string(thread.path().join(file)).unwrap_or_default();
        let name = thread.file_name().display().to_string();
        format!("  thread {name}: waits in {}, system call {}", read("wchan"), read("syscall").trim())
    };
    threads.map(one).collect::<Vec<_>>().join("\n")
}
