//! `dcache`: AIM7's high_systime under a system-wide profiler, whose events for mapped files call `d_path`.

use super::aim7_runs::{self, Sample};
use super::bracket::{self, Nearest, Tried, nearest};
use super::numbers::Numbers;
use super::{Context, Simulated};
use anyhow::{Context as _, Result};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use turnwise_aim7::kernel::QUIET;
use turnwise_aim7::meter::COMMS;
use turnwise_aim7::{Comm, Length, Outcome, Plan, Setup};
use turnwise_bench::published::{self, Dcache};
use turnwise_sim::spec::Machine;

/// The paper's two kernels, the first patch alone; today's locks, and the merged form of the patches.
const LOCKS: [&str; 5] = ["linux-3.10", "linux-3.10-dcache", "linux-3.10-dcache-1", "today", "linux-3.12"];
/// The bracket that the fit starts with: with the lower bound the queue is always there, with the upper one never.
const BRACKET_NS: [f64; 2] = [1_000_000.0, 4_000_000.0];

/// The workload without what is fitted.
struct Model {
    machine: Arc<Machine>,
    users: u32,
    disks: u32,
    /// Jobs are this part of AIM7's: then every CPU has seen many of them before the window begins, and the queue at
    /// the root, which takes tens of milliseconds to form with whole ones, is either there or not.
    scale: u32,
    /// Users are forked one after the other over this time: a thousand at once would begin in a queue.
    ramp_ns: u64,
}

impl Model {
    fn of(numbers: &Numbers<'_>) -> Result<Model> {
        Ok(Model {
            machine: numbers.machine(aim7_runs::MACHINE)?,
            users: numbers.count("users")?,
            disks: numbers.count("disks")?,
            scale: numbers.count("scale")?,
            ramp_ns: numbers.times("ramp_ms", 1_000_000)?,
        })
    }

    fn plan(&self, context: &Context<'_>, locks: &'static str, compute_ns: f64, profiler: bool) -> Plan {
        let users = if context.least { 100 } else { self.users };
        let plan = aim7_runs::plan(&self.machine, "high_systime", locks, (8, users));
        let scale = if context.least { 50 } else { self.scale };
        let (directories, file_systems) = (self.disks, self.disks);
        Plan {
            setup: Setup {
                directories,
                file_systems,
                compute_ns: compute_ns as u32,
                scale,
                profiler,
                seed: context.seed,
                ..plan.setup
            },
            ramp_ns: if context.least { 0 } else { self.ramp_ns },
            length: Length::Window {
                warm_up_ns: if context.least { 500_000 } else { context.choose(9_000_000, 16_000_000) },
                measured_ns: if context.least { 1_000_000 } else { context.choose(5_000_000, 16_000_000) },
            },
            ..plan
        }
    }
}

/// Returns the seeds of each kernel under the profiler, in the fit as in the tables: a mean of both states needs them.
fn runs(context: &Context<'_>) -> u64 {
    context.seeds(2, 5)
}

/// A set of locks, with all seeds.
impl Sample {
    /// Returns the part of the time within a function of the kernel, all commands that the paper lists together.
    fn split(&self, function: &str) -> f64 {
        let share = |outcome: &Outcome, comm: Comm| outcome.command_share(comm.name(), Some(function), SPIN_LOCKS);
        self.mean(|outcome| LISTED.map(|comm| share(outcome, comm)).iter().sum())
    }

    /// Programs started and paths made in all windows.
    fn counts(&self) -> [u64; 2] {
        let meters = |outcome: &Outcome| COMMS.map(|comm| outcome.meters.of(comm));
        let all = || self.0.iter().flat_map(meters);
        [all().map(|meter| meter.execs).sum(), all().map(|meter| meter.paths).sum()]
    }
}

/// Returns the percentage of busy time that a command spends in taking spin locks, waiting included, except for those
/// that the kernel takes with interrupts off; `total`: those that the paper lists, whose sum its total is.
fn spin_percent(outcome: &Outcome, command: &str) -> f64 {
    let spent = |comm: &str, scope| outcome.command_share(comm, scope, SPIN_LOCKS) * 100.0;
    let share = |comm: &str| spent(comm, None) - spent(comm, Some(QUIET));
    let percent = match command {
        "total" => LISTED.map(|comm| share(comm.name())).iter().sum(),
        _ => share(command),
    };
    percent + 0.0 // a sum of nothing is -0
}

/// The commands that the paper lists.
const LISTED: [Comm; 3] = [Comm::Reaim, Comm::Ls, Comm::True];

/// Functions that take and wait for a spin lock or the rename lock, in the kernels and today.
const SPIN_LOCKS: &[&str] = &[
    "KernelTicketLock::lock",
    "KernelTicketLock::wait",
    "OneWord::lock",
    "OneWord::wait",
    "RawSpinLock::take",
    "RawSpinLock::lock",
    "Exponential",
    "RawSeqRwLock::lock",
    "LockRef::lock",
    "LockRef::take",
    "LockRef::seize",
];
/// Functions that count references without a lock.
const EXCHANGES: &[&str] = &[
    "TwoWords::add_by_exchange",
    "TwoWords::take_by_exchange",
    "OneWord::get",
    "OneWord::put_with",
    "LockRef::get",
    "LockRef::put",
    "LockRef::change",
];

/// What the report is made of.
#[derive(Serialize)]
struct Ours {
    compute_ms: f64,
    /// What was tried, and the same as rows of a listing.
    tried: Vec<Tried>,
    tried_rows: Vec<[String; 4]>,
    /// For each of [`LOCKS`].
    profiled: Vec<Kernel>,
    /// The same without the profiler.
    plain: Vec<Kernel>,
    /// For each function of the published split, the first kernel's part of what they take together.
    split: BTreeMap<String, f64>,
}

/// What the windows of a kernel showed, shares in per cent of busy time.
#[derive(Serialize)]
struct Kernel {
    locks: &'static str,
    /// The time in spin locks with each seed, by command; `total`: of those that the paper lists.
    spin: BTreeMap<&'static str, Vec<f64>>,
    /// The mean time in counts by exchange.
    exchanges: f64,
    kilojobs: f64,
    /// Programs started and paths made in all windows.
    counts: [u64; 2],
}

fn kernels(samples: &[Sample]) -> Vec<Kernel> {
    let kernel = |(locks, sample): (&'static str, &Sample)| Kernel {
        locks,
        spin: (COMMS.map(|comm| comm.name()).into_iter().chain(["total"]))
            .map(|command| (command, sample.each(|outcome| spin_percent(outcome, command))))
            .collect(),
        exchanges: sample.mean(|outcome| outcome.busy_share(EXCHANGES) * 100.0) + 0.0,
        kilojobs: sample.mean(|outcome| outcome.jpm / 1e3),
        counts: sample.counts(),
    };
    LOCKS.into_iter().zip(samples).map(kernel).collect()
}

/// Runs what the paper's report is made of.
pub(super) fn run(context: &Context<'_>, numbers: &Numbers<'_>) -> Result<Simulated> {
    let model = Model::of(numbers)?;
    let published: Dcache = published::typed("dcache")?;
    let wanted = published.raw_spin_lock_percent.last().map_or(0.0, |row| row.percent[0]);
    let Nearest { value: compute_ns, outcome: kernel, tried } = fit(context, &model, wanted)?;
    let plans = |profiler, seeds| LOCKS.map(|locks| (model.plan(context, locks, compute_ns, profiler), seeds));
    let mut profiled = vec![kernel];
    let others = plans(true, runs(context));
    profiled.extend(Sample::run_all(context, "dcache: kernels", &context.judged(&others, 3)[1..])?);
    let plain = Sample::run_all(context, "dcache: without a profiler", context.judged(&plans(false, 1), 1))?;
    let split = published.baseline_split_of_reaim.keys().map(|name| (name.clone(), profiled[0].split(name)));
    let split: BTreeMap<String, f64> = split.collect();
    let of_all = split.values().sum::<f64>().max(f64::MIN_POSITIVE);
    let ours = Ours {
        compute_ms: compute_ns / 1e6,
        tried_rows: bracket::rows(1e6, &tried),
        tried,
        profiled: kernels(&profiled),
        plain: kernels(&plain),
        split: split.into_iter().map(|(name, part)| (name, part / of_all)).collect(),
    };
    Ok(Simulated::new(&model.machine, ours))
}

/// Finds the one constant, what a job computes: one that computes longer comes to the locks less often, so the figure
/// falls as it grows; and where the queue at the root forms, it falls at once. Returns the first kernel with it, too.
fn fit(context: &Context<'_>, model: &Model, wanted: f64) -> Result<Nearest<Sample>> {
    nearest(BRACKET_NS, context.rounds(3, 6), wanted, |compute_ns| {
        let run = model.plan(context, LOCKS[0], compute_ns, true);
        let mut kernels = Sample::run_all(context, "dcache: fit", &[(run, runs(context))])?;
        let kernel = kernels.pop().context("one for each run")?;
        let figures = kernel.each(|outcome| spin_percent(outcome, "total"));
        Ok((kernel, figures))
    })
}
