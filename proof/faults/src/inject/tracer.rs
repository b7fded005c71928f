//! The driver as the victim's debugger: it stops single threads, and answers system calls in the kernel's place.

use super::Injector;
use crate::board::Board;
use anyhow::{Context, Result};
use libc::{BPF_ABS, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, sock_filter, sock_fprog};
use nix::errno::Errno;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::Signal;
use nix::sys::wait::WaitStatus;
use nix::unistd::Pid;
use rand::RngExt;
use rand::rngs::SmallRng;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// A system call that is about to happen.
pub(crate) struct Call {
    pub(crate) number: libc::c_long,
    pub(crate) operation: i32,
    /// The thread that makes it.
    pub(crate) thread: Pid,
    /// The place in the thread's code.
    pub(crate) at: u64,
}

impl Call {
    /// Returns whether the dynamic loader makes it.
    pub(crate) fn is_the_loaders(&self) -> bool {
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", self.thread)).unwrap_or_default();
        let holds = |range: &str| {
            let ends = range.split_once('-').map(|(low, high)| [low, high].map(|end| u64::from_str_radix(end, 16)));
            matches!(ends, Some([Ok(low), Ok(high)]) if (low..high).contains(&self.at))
        };
        let line = maps.lines().find(|line| line.split(' ').next().is_some_and(holds));
        line.is_some_and(|line| line.contains("/ld-linux"))
    }
}

/// What happens to it.
pub(crate) enum Action {
    Pass,
    /// It does not happen; the program gets this error, or success.
    Answer(Option<Errno>),
    /// It happens, later.
    Late(Duration),
}

/// Decides about each call that is shown.
pub(crate) type Decide = Box<dyn FnMut(&Call, &mut SmallRng) -> Action>;

/// Which threads are stopped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whom {
    Nobody,
    /// The thread that has the lock.
    Holder,
    /// A thread that does not have it: waits, spins, is first in the queue, was handed the lock, or is in between.
    Other,
}

/// The longest stop of a thread.
const LONGEST: Duration = Duration::from_millis(40);

pub(crate) struct Tracer {
    rng: SmallRng,
    shown: Vec<libc::c_long>,
    decide: Decide,
    whom: Whom,
    pid: Pid,
    begun: bool,
    over: bool,
    /// The target of a stop.
    aimed: Option<Pid>,
    held: Vec<(Pid, Instant)>,
    next: Instant,
}

impl Tracer {
    /// Stops single threads.
    pub(crate) fn stops(rng: SmallRng, whom: Whom) -> Self {
        Tracer { whom, ..Self::answers(rng, &[], |_, _| Action::Pass) }
    }

    /// Decides about each of these calls.
    pub(crate) fn answers(
        rng: SmallRng,
        shown: &[libc::c_long],
        decide: impl FnMut(&Call, &mut SmallRng) -> Action + 'static,
    ) -> Self {
        Tracer {
            rng,
            shown: shown.to_vec(),
            decide: Box::new(decide),
            whom: Whom::Nobody,
            pid: Pid::from_raw(0),
            begun: false,
            over: false,
            aimed: None,
            held: Vec::new(),
            next: Instant::now(),
        }
    }

    /// Sends a stop to a single thread: a stop of a process which is not traced would stop all.
    fn aim(&mut self, board: &Board) {
        let holder = board.holder.load(Relaxed);
        let tid = match self.whom {
            Whom::Nobody => return,
            Whom::Holder => holder,
            Whom::Other => board.line[self.rng.random_range(0..4)].tid.load(Relaxed),
        };
        if tid == 0 || self.whom == Whom::Other && tid == holder {
            return;
        }
        // SAFETY: plain numbers. The thread may be gone, which is an error that changes nothing.
        let sent = unsafe { libc::syscall(libc::SYS_tgkill, self.pid.as_raw(), tid, libc::SIGSTOP) };
        if sent == 0 {
            self.aimed = Some(Pid::from_raw(tid as i32));
        }
    }

    /// Handles the arrival of the stop: is it where it was aimed at?
    fn hit(&mut self, pid: Pid, board: &Board) -> Result<()> {
        self.aimed = None;
        let is_holder = board.holder.load(Relaxed) == pid.as_raw() as u32;
        if self.over || is_holder != (self.whom == Whom::Holder) {
            return go_on(pid, None);
        }
        board.tried();
        // Mostly short ones, so that many come.
        let time = LONGEST.mul_f64(self.rng.random::<f64>().powi(3));
        self.hold(pid, time);
        Ok(())
    }

    fn hold(&mut self, pid: Pid, time: Duration) {
        self.held.push((pid, Instant::now() + time));
    }

    fn shown(&mut self, pid: Pid, board: &Board) -> Result<()> {
        if self.over {
            return go_on(pid, None);
        }
        let Some(call) = registers::call(pid)? else { return Ok(()) };
        match (self.decide)(&call, &mut self.rng) {
            Action::Pass => go_on(pid, None),
            Action::Answer(error) => {
                board.tried();
                registers::answer(pid, error)?;
                go_on(pid, None)
            }
            Action::Late(time) => {
                board.tried();
                self.hold(pid, time);
                Ok(())
            }
        }
    }

    fn release(&mut self, now: Option<Instant>) -> Result<()> {
        let due = |until: Instant| now.is_none_or(|now| until <= now);
        for (pid, _) in self.held.extract_if(.., |(_, until)| due(*until)) {
            go_on(pid, None)?;
        }
        Ok(())
    }
}

/// Lets a thread run. It may have been killed meanwhile.
fn go_on(pid: Pid, signal: Option<Signal>) -> Result<()> {
    gone_is_fine(ptrace::cont(pid, signal)).map(drop).with_context(|| format!("cannot let thread {pid} continue"))
}

/// Turns the error of a thread that is gone into `None`.
fn gone_is_fine<T>(result: nix::Result<T>) -> nix::Result<Option<T>> {
    match result {
        Err(Errno::ESRCH) => Ok(None),
        other => other.map(Some),
    }
}

impl Injector for Tracer {
    fn prepare(&mut self, command: &mut Command) {
        let filter = (!self.shown.is_empty()).then(|| Filter::shows(&self.shown));
        let prepare = move || {
            ptrace::traceme()?;
            filter.as_ref().map_or(Ok(()), Filter::install)
        };
        // SAFETY: two or three system calls, and nothing that allocates or locks.
        unsafe { command.pre_exec(prepare) };
    }

    fn started(&mut self, pid: Pid, _: &Board) {
        self.pid = pid;
    }

    fn step(&mut self, board: &Board) -> Result<()> {
        let now = Instant::now();
        self.release(Some(now))?;
        if self.begun && !self.over && self.aimed.is_none() && now >= self.next {
            self.next = now + Duration::from_micros(self.rng.random_range(50..500));
            self.aim(board);
        }
        Ok(())
    }

    fn changed(&mut self, status: WaitStatus, board: &Board) -> Result<()> {
        match status {
            WaitStatus::Stopped(pid, Signal::SIGTRAP) if pid == self.pid && !self.begun => {
                self.begun = true;
                let all = Options::PTRACE_O_TRACECLONE | Options::PTRACE_O_TRACEFORK | Options::PTRACE_O_TRACEVFORK;
                let also = Options::PTRACE_O_TRACEEXEC | Options::PTRACE_O_TRACESECCOMP | Options::PTRACE_O_EXITKILL;
                ptrace::setoptions(pid, all | also).context("cannot trace the victim")?;
                go_on(pid, None)
            }
            WaitStatus::Stopped(pid, Signal::SIGSTOP) if self.aimed == Some(pid) => self.hit(pid, board),
            WaitStatus::Stopped(pid, Signal::SIGSTOP) => go_on(pid, None), // a new thread begins like this
            WaitStatus::Stopped(pid, signal) => go_on(pid, Some(signal)),
            WaitStatus::PtraceEvent(pid, _, event) if event == libc::PTRACE_EVENT_SECCOMP => self.shown(pid, board),
            WaitStatus::PtraceEvent(pid, ..) => go_on(pid, None),
            WaitStatus::Exited(pid, _) | WaitStatus::Signaled(pid, ..) => {
                self.held.retain(|(held, _)| *held != pid);
                self.aimed = self.aimed.filter(|aimed| *aimed != pid);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn finish(&mut self) -> Result<()> {
        self.over = true;
        self.release(None)
    }
}

/// A filter that shows chosen system calls to the tracer before the kernel sees them: a program of the packet filter.
#[derive(Clone)]
struct Filter(Vec<sock_filter>);

fn op(code: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code: code as u16, jt, jf, k }
}

impl Filter {
    /// Shows the tracer these calls, and lets all others pass. The number of a call is the first word of what the
    /// filter sees.
    fn shows(calls: &[libc::c_long]) -> Self {
        let mut program = vec![op(BPF_LD | BPF_W | BPF_ABS, 0, 0, 0)];
        for (before, call) in calls.iter().enumerate() {
            let to_trace = (calls.len() - before) as u8;
            program.push(op(BPF_JMP | BPF_JEQ | BPF_K, *call as u32, to_trace, 0));
        }
        program.push(op(BPF_RET | BPF_K, libc::SECCOMP_RET_ALLOW, 0, 0));
        program.push(op(BPF_RET | BPF_K, libc::SECCOMP_RET_TRACE, 0, 0));
        Filter(program)
    }

    /// Puts it in force for this thread and all its descendants. Allocates nothing: it runs between fork and exec.
    fn install(&self) -> io::Result<()> {
        let program = sock_fprog { len: self.0.len() as u16, filter: self.0.as_ptr().cast_mut() };
        let program = std::ptr::from_ref(&program);
        // SAFETY: prctl reads the program, which outlives the calls, and writes nothing.
        let refused = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
                || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, program) != 0
        };
        if refused { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// What differs between architectures.
#[cfg(target_arch = "x86_64")]
mod registers {
    use super::{Call, end_of_heap, gone_is_fine};
    use anyhow::{Context, Result};
    use nix::errno::Errno;
    use nix::sys::ptrace;
    use nix::unistd::Pid;

    /// Returns the call that a stopped thread is about to make; `None`: the thread is gone.
    pub(super) fn call(pid: Pid) -> Result<Option<Call>> {
        let registers = gone_is_fine(ptrace::getregs(pid)).context("cannot read a thread's registers")?;
        Ok(registers.map(|r| Call {
            number: r.orig_rax as libc::c_long,
            operation: r.rsi as i32,
            thread: pid,
            at: r.rip,
        }))
    }

    /// Puts an answer in the call's place: a call of number -1 does not happen. A refused `brk` answers with the end of
    /// the heap, and no error. (One of 0 would do so, but the program expects to find its argument again.)
    pub(super) fn answer(pid: Pid, error: Option<Errno>) -> Result<()> {
        let Some(mut r) = gone_is_fine(ptrace::getregs(pid)).context("cannot read a thread's registers")? else {
            return Ok(());
        };
        r.rax = match error {
            Some(_) if r.orig_rax == libc::SYS_brk as u64 => end_of_heap(pid).context("a process without a heap")?,
            Some(error) => -(error as i64) as u64,
            None => 0,
        };
        r.orig_rax = u64::MAX;
        gone_is_fine(ptrace::setregs(pid, r)).map(drop).context("cannot write a thread's registers")
    }
}

/// Returns where the heap of a process ends, or would begin.
#[cfg(target_arch = "x86_64")]
fn end_of_heap(pid: Pid) -> Option<u64> {
    let read = |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).ok();
    let (maps, stat) = (read("maps")?, read("stat")?);
    if let Some(heap) = maps.lines().find(|line| line.ends_with("[heap]")) {
        let (_, end) = heap.split(' ').next()?.split_once('-')?;
        return u64::from_str_radix(end, 16).ok();
    }
    // Fields are counted behind the name, which is the second and may contain anything: the 47th is `start_brk`.
    stat.rsplit_once(')')?.1.split_whitespace().nth(47 - 3)?.parse().ok()
}

#[cfg(not(target_arch = "x86_64"))]
mod registers {
    use super::Call;
    use anyhow::{Result, bail};
    use nix::errno::Errno;
    use nix::unistd::Pid;

    pub(super) fn call(_: Pid) -> Result<Option<Call>> {
        bail!("system calls can be answered on x86-64 alone")
    }

    pub(super) fn answer(_: Pid, _: Option<Errno>) -> Result<()> {
        bail!("system calls can be answered on x86-64 alone")
    }
}

/// Whether this program can answer system calls here.
pub(crate) const ANSWERS: bool = cfg!(target_arch = "x86_64");
