//! One run of the program: started, watched, and accounted for.

use crate::preload::run_probe::{RunProbe, Seen};
use crate::preload::{Library, Watch};
use crate::target::Target;
use crate::variant::Variant;
use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use serde::Serialize;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use turnwise_present::limits;

/// The interval at which a waiting turnwise checks whether it should stop.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
/// The maximum output, which is kept in memory; more is a mistake.
const OUTPUT_LIMIT_BYTES: u64 = 256 << 20;

/// The resources charged by the kernel, for the program and the children that it waited for.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Usage {
    /// The time from just before the start to the end, in seconds.
    pub(crate) wall_s: f64,
    pub(crate) user_s: f64,
    pub(crate) system_s: f64,
    /// The number of context switches because a thread slept or waited.
    pub(crate) voluntary_switches: u64,
    /// The number of context switches because a thread's time slice ended.
    pub(crate) involuntary_switches: u64,
    /// The largest resident set; never below turnwise's own, from which the program was started.
    pub(crate) max_rss_bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It ended by itself, or by a signal from elsewhere.
    Ended(ExitStatus),
    /// We killed it: it took longer than allowed.
    TimedOut,
    /// We killed it: it printed more than [`OUTPUT_LIMIT_BYTES`].
    TooMuchOutput,
    /// We killed it: the user wanted to stop.
    Interrupted,
}

impl End {
    /// Describes it for a sentence that starts with "the program".
    pub(crate) fn describe(self, timeout: Duration) -> String {
        match self {
            End::Ended(status) => match (status.code(), status.signal()) {
                (Some(code), _) => format!("exited with status {code}"),
                (_, Some(signal)) => format!("was killed by signal {signal} ({})", signal_name(signal)),
                _ => format!("ended with {status}"),
            },
            End::TimedOut => format!("was still running after {} s (--timeout) and was killed", timeout.as_secs_f64()),
            End::TooMuchOutput => format!("printed more than {} MiB and was killed", OUTPUT_LIMIT_BYTES >> 20),
            End::Interrupted => "was interrupted".to_owned(),
        }
    }
}

fn signal_name(signal: i32) -> &'static str {
    signal_hook::low_level::signal_name(signal).unwrap_or("unknown")
}

/// One run.
pub(crate) struct Outcome {
    pub(crate) end: End,
    pub(crate) usage: Usage,
    /// Standard output and standard error, in the order of output.
    pub(crate) output: String,
    /// Whether the loader took our library; `None`: not requested, or unknown.
    pub(crate) library_loaded: Option<bool>,
    /// The library's observations of the locks; `None`: it was not loaded, or unknown.
    pub(crate) seen: Option<Seen>,
}

/// The data common to all runs.
pub(crate) struct Runner<'a> {
    pub(crate) target: &'a Target,
    /// The library; `None` if no contender needs it.
    pub(crate) library: Option<&'a Library>,
    pub(crate) watch: Option<Watch>,
    pub(crate) probe: Option<RunProbe>,
    pub(crate) timeout: Duration,
    /// Set by a signal handler when the user wants to stop.
    pub(crate) stop: &'a AtomicBool,
}

impl Runner<'_> {
    /// Runs the program once under `variant`; fails if it cannot be started or watched.
    pub(crate) fn run(&self, variant: &Variant) -> Result<Outcome> {
        let mut command = variant.start(self.target, self.library);
        if let Some(watch) = &self.watch {
            watch.opened();
        }
        let asked = variant.is_interposed();
        let probe = self.probe.as_ref().filter(|_| asked);
        if let Some(probe) = probe {
            probe.ask(&mut command);
        }
        let outcome = Bounds { timeout: self.timeout, stop: self.stop }.run(command, true)?;
        let library_loaded = self.watch.as_ref().filter(|_| asked).map(Watch::opened);
        Ok(Outcome { library_loaded, seen: probe.and_then(RunProbe::seen), ..outcome })
    }
}

/// The limits on a program's run.
#[derive(Clone, Copy)]
pub(crate) struct Bounds<'a> {
    pub(crate) timeout: Duration,
    /// Set by a signal handler when the user wants to stop.
    pub(crate) stop: &'a AtomicBool,
}

impl Bounds<'_> {
    /// Runs `command` once: without input, its output kept, in its own process group, of which no process is left
    /// afterwards. `errors`: what it writes to standard error is part of the output.
    pub(crate) fn run(&self, mut command: Command, errors: bool) -> Result<Outcome> {
        let (mut output, end) = Output::new().context("cannot make a file for the program's output")?;
        if errors {
            command.stderr(end.try_clone()?);
        }
        command.stdin(Stdio::null()).stdout(end).process_group(0);
        // SAFETY: the closure only makes a system call, and allocates nothing, as is required between fork and exec.
        unsafe {
            command.pre_exec(|| Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?));
        }
        let start = Instant::now();
        let child = command.spawn().with_context(|| format!("cannot start {}", command.get_program().display()))?;
        drop(command); // with its end of a pipe
        let group = Group(Pid::from_child(&child));
        let pidfd =
            pidfd_open(group.0, PidfdFlags::empty()).context("cannot watch the program (Linux 5.3 is needed)")?;
        let ours = self.wait(&pidfd, start, &mut output)?;
        let wall_s = start.elapsed().as_secs_f64();
        group.kill();
        let (status, usage) = group.reap()?;
        Ok(Outcome {
            end: ours.unwrap_or(End::Ended(status)),
            usage: Usage { wall_s, ..usage },
            output: output.text().context("cannot read the program's output")?,
            library_loaded: None,
            seen: None,
        })
    }

    /// Waits for the end, and returns `None`, or until there is a reason to kill the program.
    fn wait(&self, pidfd: &OwnedFd, start: Instant, output: &mut Output) -> Result<Option<End>> {
        loop {
            let left = self.timeout.saturating_sub(start.elapsed());
            let patience = Timespec::try_from(left).map_or(TICK, |left| left.min(TICK));
            let mut events = vec![PollFd::new(pidfd, PollFlags::IN)];
            events.extend(output.pipe.iter().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
            match poll(&mut events, Some(&patience)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) if !events[0].revents().is_empty() => return Ok(None),
                Ok(_) => output.take().context("cannot read the program's output")?,
                Err(error) => return Err(error).context("cannot wait for the program"),
            }
            if self.stop.load(Ordering::Relaxed) {
                return Ok(Some(End::Interrupted));
            }
            if start.elapsed() >= self.timeout {
                return Ok(Some(End::TimedOut));
            }
            if output.length()? > OUTPUT_LIMIT_BYTES {
                return Ok(Some(End::TooMuchOutput));
            }
        }
    }
}

/// The destination of a program's output: memory, so that a program that prints much does not wait for a disk.
#[derive(Default)]
struct Output {
    /// `None`: there is a limit on the size of files, which would kill a program that prints more than that. A pipe
    /// takes its output.
    file: Option<File>,
    /// `None`: its other end was closed, or it is not needed.
    pipe: Option<File>,
    /// What came from the pipe.
    bytes: Vec<u8>,
}

impl Output {
    /// Creates it, with the program's end.
    fn new() -> Result<(Output, OwnedFd)> {
        use rustix::pipe::{PipeFlags, pipe_with};
        if limits::limit(libc::RLIMIT_FSIZE).is_none() {
            let file = File::from(rustix::fs::memfd_create("output", rustix::fs::MemfdFlags::CLOEXEC)?);
            let end = file.try_clone()?.into();
            return Ok((Output { file: Some(file), ..Output::default() }, end));
        }
        let (pipe, end) = pipe_with(PipeFlags::CLOEXEC)?;
        rustix::io::ioctl_fionbio(&pipe, true)?;
        Ok((Output { pipe: Some(pipe.into()), ..Output::default() }, end))
    }

    fn take(&mut self) -> std::io::Result<()> {
        let Some(open) = &mut self.pipe else { return Ok(()) };
        let left = (OUTPUT_LIMIT_BYTES + 1).saturating_sub(self.bytes.len() as u64);
        match open.take(left).read_to_end(&mut self.bytes) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
            Ok(_) => self.pipe = None,
        }
        Ok(())
    }

    fn length(&self) -> std::io::Result<u64> {
        self.file.as_ref().map_or(Ok(self.bytes.len() as u64), |file| Ok(file.metadata()?.len()))
    }

    fn text(mut self) -> std::io::Result<String> {
        self.take()?;
        if let Some(mut file) = self.file {
            file.seek(SeekFrom::Start(0))?;
            file.take(OUTPUT_LIMIT_BYTES).read_to_end(&mut self.bytes)?;
        }
        Ok(String::from_utf8_lossy(&self.bytes).into_owned())
    }
}

/// The process group of a run; killed when dropped.
struct Group(Pid);

impl Group {
    /// Kills the group. The number is its own until [`Group::reap`]: the leader, even dead, keeps it.
    fn kill(&self) {
        // An error means that all have ended.
        let _ = kill_process_group(self.0, Signal::KILL);
    }

    /// Waits for the leader and takes its resource usage, which lacks the wall time.
    fn reap(self) -> Result<(ExitStatus, Usage)> {
        let mut status = 0;
        let mut bill = MaybeUninit::<libc::rusage>::zeroed();
        loop {
            // SAFETY: both results are writable.
            let pid = unsafe { libc::wait4(self.0.as_raw_pid(), &raw mut status, 0, bill.as_mut_ptr()) };
            match std::io::Error::last_os_error() {
                _ if pid > 0 => break,
                error if error.kind() == std::io::ErrorKind::Interrupted => {}
                error => return Err(error).context("cannot learn how the program ended"),
            }
        }
        // From here on the number may belong to another process group.
        std::mem::forget(self);
        // SAFETY: all zeros are a valid rusage, and the kernel has filled it.
        Ok((ExitStatus::from_raw(status), usage_of(unsafe { bill.assume_init() })))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

fn usage_of(bill: libc::rusage) -> Usage {
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    Usage {
        wall_s: 0.0,
        user_s: seconds(bill.ru_utime),
        system_s: seconds(bill.ru_stime),
        voluntary_switches: bill.ru_nvcsw as u64,
        involuntary_switches: bill.ru_nivcsw as u64,
        max_rss_bytes: bill.ru_maxrss as u64 * 1024,
    }
}

/// The number of lines of the program's output in an error message.
pub(crate) const EXCERPT_LINES: usize = 10;

/// Returns the end of a program's output, for a message.
pub(crate) fn last_lines(output: &str) -> String {
    let mut last: Vec<&str> = output.lines().rev().take(EXCERPT_LINES).collect();
    last.reverse();
    excerpt("last", last.into_iter())
}

/// Returns lines of a program's output, indented, for a message.
pub(crate) fn excerpt<'a>(which: &str, lines: impl Iterator<Item = &'a str>) -> String {
    let lines: Vec<_> = lines.map(|line| format!("  {line}")).collect();
    if lines.is_empty() { "it printed nothing".to_owned() } else { format!("its {which} lines:\n{}", lines.join("\n")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnwise_present::others::own_seconds;

    #[test]
    fn those_that_nobody_waits_for_are_on_our_account() {
        let script = "(i=0; while [ $i -lt 1000000000 ]; do i=$((i + 1)); done) & sleep 1";
        let target = Target::find(&["sh", "-c", script].map(Into::into)).unwrap();
        let bounds = Bounds { timeout: Duration::from_secs(60), stop: &AtomicBool::new(false) };
        let before = own_seconds();
        let outcome = bounds.run(target.start(), true).unwrap();
        assert!(matches!(outcome.end, End::Ended(status) if status.success()), "{:?}", outcome.end);
        let (of_program, all) = (outcome.usage.user_s + outcome.usage.system_s, own_seconds() - before);
        assert!(all > of_program + 0.1, "{all} s, of which {of_program} s are the program's");
    }
}
