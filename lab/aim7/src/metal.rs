//! AIM7 on this machine: a thread for each user.

use super::child::{Child, Site};
use super::meter::Meters;
use super::outcome::{Outcome, jti};
use super::setup::Setup;
use anyhow::{Context, Result, anyhow};
use std::sync::{Condvar, Mutex, PoisonError};
use turnwise::platform::Native;
use turnwise_bench::environment::Environment;
use turnwise_bench::work;
use turnwise_present::spent::Spent;
use turnwise_vfs::{LockSet, Metal};

/// Bytes of a user's stack.
const STACK_BYTES: usize = 256 << 10;

/// The result of a user.
struct Done {
    jobs: u32,
    /// From the start of all users to its own end.
    ns: u64,
    meters: Meters,
}

/// Runs this many users from start to end.
///
/// # Errors
/// The setup makes no sense, or the system has no threads left.
pub(super) fn run<L: LockSet<Native>>(setup: &Setup, users: u32) -> Result<Outcome> {
    let site = Site::<Metal, L>::new(setup, users)?;
    work::prepare();
    let gate = Gate::default();
    let (begin, start_ns, done) = std::thread::scope(|scope| {
        let spawn = |number| {
            let (site, gate) = (&site, &gate);
            let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
            thread.spawn_scoped(scope, move || user(site, gate, number))
        };
        for system in 0..site.files.journals() {
            let site = &site;
            // Without such a thread, a thread that fills a transaction commits it.
            let _ = std::thread::Builder::new().spawn_scoped(scope, move || site.files.commit_on(system));
        }
        let threads = (0..users).map(spawn).collect::<std::io::Result<Vec<_>>>();
        let threads = threads.with_context(|| format!("the system has no thread for each of {users} users"));
        if threads.is_ok() {
            gate.await_ready(users);
        }
        let begin = Spent::here();
        let start_ns = Native::stamp();
        gate.open(threads.is_ok());
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|_| Err(anyhow!("a user panicked")))
        };
        let done = threads.and_then(|threads| threads.into_iter().map(join).collect::<Result<Vec<Done>>>());
        site.files.dismiss();
        (begin, start_ns, done)
    });
    let (done, end) = (done?, Spent::here());
    let times: Vec<f64> = done.iter().map(|user| (user.ns - start_ns) as f64 / 1e9).collect();
    let seconds = times.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let jobs: u64 = done.iter().map(|user| u64::from(user.jobs)).sum();
    let of_aim7 = jobs as f64 / f64::from(setup.scale);
    let cpu_s = (end.cpu - begin.cpu).as_secs_f64();
    let cpus = std::thread::available_parallelism().map_or(1, usize::from) as u32;
    let mut meters = Meters::default();
    done.iter().for_each(|user| meters += user.meters);
    Ok(Outcome {
        users,
        cpus,
        jobs,
        seconds,
        jpm: 60.0 * of_aim7 / seconds,
        jti: Some(jti(&times)),
        voluntary: end.voluntary - begin.voluntary,
        involuntary: end.involuntary - begin.involuntary,
        cpu_ms_per_job: cpu_s * 1e3 / of_aim7,
        busy: cpu_s / (seconds * f64::from(cpus)),
        commits: site.files.commits(),
        meters,
        profile: Vec::new(),
        scopes: Vec::new(),
    })
}

fn user<L: LockSet<Native>>(site: &Site<Metal, L>, gate: &Gate, number: u32) -> Result<Done> {
    let child = Child::new(site, number);
    let go = gate.pass();
    let mut child = child?;
    let jobs = if go { child.run_all()? } else { 0 };
    let ns = Native::stamp();
    let meters = child.meters;
    child.exit()?;
    Ok(Done { jobs, ns, meters })
}

/// Where users wait until all of them are ready.
#[derive(Default)]
struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Default)]
struct GateState {
    ready: u32,
    /// Whether to run, once that is known.
    go: Option<bool>,
}

impl Gate {
    /// Waits for the start; returns whether there is one.
    fn pass(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.ready += 1;
        self.changed.notify_all();
        loop {
            if let Some(go) = state.go {
                return go;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn await_ready(&self, users: u32) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.changed.wait_while(state, |state| state.ready < users));
    }

    fn open(&self, go: bool) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).go = Some(go);
        self.changed.notify_all();
    }
}
