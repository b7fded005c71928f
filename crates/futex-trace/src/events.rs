//! The perf events: one for each tracepoint, thread and CPU, with a ring buffer for each CPU.

use crate::records::{self, Event, REGISTERS, Source};
use crate::tracefs::Tracepoint;
use anyhow::{Context, Result, anyhow, bail};
use perf_event::events::Tracepoint as OfId;
use perf_event::{Builder, Clock, Counter, ReadFormat, SampleFlag, Sampler};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// The number of bytes of a thread's stack that are copied at each call.
const STACK_BYTES: u32 = 4096;
/// The size of all ring buffers together, and the bounds of one.
const ROOM_BYTES: usize = 64 << 20;
const MOST_BYTES: usize = 16 << 20;
const LEAST_BYTES: usize = 128 << 10;

/// Open events.
pub(crate) struct Rings {
    samplers: Vec<Sampler>,
    /// Events that write into the samplers' rings.
    counters: Vec<Counter>,
    sources: HashMap<u64, Source>,
}

impl Rings {
    /// Opens the events for these threads, and all threads that they create; `None`: for those of all programs that
    /// this thread starts from now on. An error states what to do.
    pub(crate) fn open(tracepoints: &[Tracepoint], running: Option<&[u32]>) -> Result<Rings> {
        let cpus = cpus();
        let threads = running.map_or_else(|| vec![None], |threads| threads.iter().copied().map(Some).collect());
        let tracepoints = affordable(tracepoints, threads.len() * cpus.len())?;
        let mut rings = Rings { samplers: Vec::new(), counters: Vec::new(), sources: HashMap::new() };
        let bytes = (ROOM_BYTES / cpus.len().max(1)).clamp(LEAST_BYTES, MOST_BYTES);
        for cpu in cpus {
            rings.open_on(cpu, tracepoints, &threads, bytes)?;
        }
        if rings.samplers.is_empty() {
            bail!("the process ended meanwhile");
        }
        if running.is_some() {
            for counter in rings.samplers.iter_mut().map(|sampler| &mut **sampler).chain(&mut rings.counters) {
                // The thread may have ended.
                let _ = counter.enable();
            }
        }
        Ok(rings)
    }

    /// Opens the events of one CPU; the first of them owns the ring.
    fn open_on(&mut self, cpu: usize, points: &[Tracepoint], threads: &[Option<u32>], bytes: usize) -> Result<()> {
        let mut first: Option<usize> = None;
        for thread in threads {
            for (place, tracepoint) in points.iter().enumerate() {
                let builder = builder(tracepoint, *thread, cpu, place == 0, bytes);
                let counter = match builder.build() {
                    Ok(counter) => counter,
                    // The thread has ended, or the CPU is offline.
                    Err(error) if [Some(libc::ESRCH), Some(libc::ENODEV)].contains(&error.raw_os_error()) => break,
                    Err(error) => return Err(explain(&error)),
                };
                let source = Source { config: counter.config().clone(), tracepoint: tracepoint.clone() };
                self.sources.insert(counter.id(), source);
                if let Some(first) = first {
                    redirect(&counter, &self.samplers[first])?;
                    self.counters.push(counter);
                } else {
                    first = Some(self.samplers.len());
                    self.samplers.push(mapped(counter, &builder, bytes)?);
                }
            }
        }
        Ok(())
    }

    pub(crate) fn wait(&self, timeout: Duration) {
        // SAFETY: the samplers own their descriptors and outlive this call.
        let fds = self.samplers.iter().map(|sampler| unsafe { BorrowedFd::borrow_raw(sampler.as_raw_fd()) });
        let fds: Vec<BorrowedFd> = fds.collect();
        let mut fds: Vec<PollFd> = fds.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        let timeout = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: i64::from(timeout.subsec_nanos()) };
        let hung_up = poll(&mut fds, Some(&timeout)).is_ok_and(|ready| ready > 0)
            && fds.iter().any(|fd| fd.revents().contains(PollFlags::HUP));
        if hung_up {
            // Its first thread has ended; others may continue, but their end is not reported.
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Passes on the events up to a time; later ones may remain for the next round.
    pub(crate) fn read(&mut self, until_ns: u64, mut to: impl FnMut(Event)) {
        for sampler in &mut self.samplers {
            while let Some(record) = sampler.next_record() {
                let event = records::read(record.ty(), record.misc(), &record.to_contiguous(), &self.sources);
                let late = event.as_ref().is_some_and(|event| event.at_ns > until_ns);
                event.into_iter().for_each(&mut to);
                if late {
                    break;
                }
            }
        }
    }
}

fn builder(tracepoint: &Tracepoint, thread: Option<u32>, cpu: usize, is_first: bool, ring: usize) -> Builder<'static> {
    let mut builder = Builder::new(OfId::with_id(tracepoint.id));
    match thread {
        Some(tid) => builder.observe_pid(tid as libc::pid_t),
        None => builder.observe_self().enable_on_exec(true),
    };
    builder
        .one_cpu(cpu)
        .inherit(true)
        .exclude_kernel(false)
        .exclude_hv(false)
        .read_format(ReadFormat::empty())
        .sample_period(1)
        .sample(SampleFlag::IDENTIFIER | SampleFlag::TID | SampleFlag::TIME | SampleFlag::RAW)
        .sample_id_all(true)
        .clockid(Clock::MONOTONIC)
        .wakeup_watermark(ring / 16);
    if tracepoint.is_entry {
        builder.sample(SampleFlag::REGS_USER | SampleFlag::STACK_USER);
        builder.sample_regs_user(REGISTERS).sample_stack_user(STACK_BYTES);
    }
    if is_first {
        builder.mmap(true).mmap2(true).comm(true).comm_exec(true).task(true);
    }
    builder
}

/// Gives an event its own ring: of fewer bytes, if that many may not be locked.
fn mapped(counter: Counter, builder: &Builder, most: usize) -> Result<Sampler> {
    let mut bytes = most.next_power_of_two();
    let mut counter = Some(counter);
    loop {
        let unmapped = match counter.take() {
            Some(counter) => counter,
            None => builder.build().map_err(|error| explain(&error))?,
        };
        match unmapped.sampled(bytes) {
            Ok(sampler) => return Ok(sampler),
            Err(_) if bytes > LEAST_BYTES => bytes /= 2,
            Err(error) => {
                return Err(anyhow::Error::new(error).context(
                    "the kernel refuses memory for the trace; raise `ulimit -l` or \
                     /proc/sys/kernel/perf_event_mlock_kb, or run as root",
                ));
            }
        }
    }
}

/// Makes an event write into another's ring.
fn redirect(counter: &Counter, to: &Sampler) -> Result<()> {
    // SAFETY: both are open perf events, and the call accesses no memory.
    let done = unsafe { perf_event_open_sys::ioctls::SET_OUTPUT(counter.as_raw_fd(), to.as_raw_fd()) };
    if done < 0 {
        return Err(io::Error::last_os_error()).context("the kernel does not let perf events share a ring");
    }
    Ok(())
}

/// Returns the CPUs that may exist.
fn cpus() -> Vec<usize> {
    // SAFETY: it only returns a number.
    let number = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) };
    (0..usize::try_from(number).unwrap_or(1).max(1)).collect()
}

/// Returns as many of the tracepoints as there are file descriptors for: `futex` alone, if necessary.
fn affordable(tracepoints: &[Tracepoint], each: usize) -> Result<&[Tracepoint]> {
    /// Reserved for other open files.
    const OTHERS: usize = 64;
    if each * tracepoints.len() + OTHERS > 1024 {
        let limit = getrlimit(Resource::Nofile);
        // Without it, the limit stays as it is.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    }
    let room = getrlimit(Resource::Nofile).current.map_or(usize::MAX, |most| most as usize).saturating_sub(OTHERS);
    [tracepoints, &tracepoints[..2.min(tracepoints.len())]]
        .into_iter()
        .find(|some| each * some.len() <= room)
        .with_context(|| {
            format!(
                "{} events (threads times CPUs times 2) need more files than may be open; raise `ulimit -n`",
                2 * each
            )
        })
}

fn explain(error: &io::Error) -> anyhow::Error {
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    let paranoid = paranoid.trim();
    match (error.kind(), error.raw_os_error()) {
        (ErrorKind::PermissionDenied, _) => anyhow!(
            "the kernel forbids perf events on its futex calls ({error}; kernel.perf_event_paranoid is {paranoid}): \
             run turnwise as root, or give it the capability: setcap cap_perfmon,cap_sys_ptrace=ep on its file. In a \
             container, perf_event_open must be allowed (--cap-add PERFMON, or another seccomp profile)"
        ),
        (_, Some(libc::EMFILE | libc::ENFILE)) => {
            anyhow!("too many files are open for an event for each thread and CPU; raise `ulimit -n`")
        }
        (_, Some(libc::ENOSYS)) => anyhow!("this kernel, or the container's seccomp profile, has no perf_event_open"),
        _ => anyhow!("perf events on the futex calls cannot be opened: {error}"),
    }
}
