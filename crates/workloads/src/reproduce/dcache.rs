//! `dcache`: AIM7's high_systime under a system-wide profiler, whose events for executable mappings call `d_path`.

use super::Context;
use super::aim7_runs::{self, Constants, Run};
use super::fit::{Unknown, distance, fit};
use super::published::{self, Dcache};
use super::report::{Bar, Bound, DocumentReport, Fitted, Listing, Row, Simulated, Table, figure as digits};
use crate::aim7::{Comm, Outcome};
use anyhow::Result;
use std::sync::Arc;
use turnwise_sim::spec::Machine;

const NAME: &str = "dcache";
/// The document's two kernels, what became of the patches, and today's locks.
const LOCKS: [&str; 4] = ["linux-3.10", "linux-3.10-dcache", "linux-3.12", "today"];
const USERS: u32 = 1000;
const COMPUTE: Unknown =
    Unknown { name: "compute, ns", low: 100_000.0, high: 10_000_000.0, start: 1_000_000.0, whole: false };

fn constants(compute_ns: f64, profiler: bool) -> Constants {
    Constants { compute_ns, tax: 0.17, orphan_ns: 0.0, journal: false, profiler }
}

fn plan(context: &Context<'_>, machine: &Arc<Machine>, locks: &'static str, constants: Constants) -> Run {
    Run {
        machine: Arc::clone(machine),
        workfile: "high_systime",
        locks,
        nodes: 8,
        users: if context.least { 100 } else { USERS },
        constants,
        seed: context.seed,
        warm_up_ns: if context.least { 500_000 } else { context.choose(3_000_000, 6_000_000) },
        measured_ns: if context.least { 1_000_000 } else { context.choose(4_000_000, 10_000_000) },
    }
}

/// Functions that take, wait for and release a spin lock or the rename lock, in the kernels and today.
const SPIN_LOCKS: &[&str] = &[
    "KernelTicketLock",
    "RenameLock",
    "OneWord::lock",
    "OneWord::wait",
    "OneWord::leave",
    "RawSpinLock",
    "Exponential",
    "SeqRwLock",
    "LockRef::lock",
    "LockRef::spin",
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

/// Per cent of the busy time in spin locks, waiting included.
fn spin_percent(outcome: &Outcome) -> f64 {
    outcome.busy_share(SPIN_LOCKS) * 100.0
}

/// Of that, the part of a command: of `ls` and `true` what their mappings' paths take, of `reaim` the rest, which is
/// its own calls.
fn percent_of(outcome: &Outcome, command: &str) -> f64 {
    let busy_ns = outcome.busy * f64::from(outcome.cpus) * outcome.seconds * 1e9;
    let of = |comm| outcome.meters.of(comm).paths_ns as f64 / busy_ns.max(1.0) * 100.0;
    let (ls, script) = (of(Comm::Ls), of(Comm::True));
    match command {
        "ls" => ls,
        "true" => script,
        "reaim" => (spin_percent(outcome) - ls - script).max(0.0),
        _ => spin_percent(outcome),
    }
}

/// The document.
///
/// # Errors
/// A run got stuck, or the file system refused something.
pub(super) fn run(context: &Context<'_>) -> Result<DocumentReport> {
    let machine = aim7_runs::machine()?;
    let published: Dcache = published::typed(NAME)?;
    let wanted = published.raw_spin_lock_percent.last().map_or(0.0, |row| row.percent[0]);
    let found = fit(&[COMPUTE], context.rounds(6, 14), |values| {
        let run = plan(context, &machine, LOCKS[0], constants(values[0], true));
        let outcomes = context.pool.map("dcache: fit", &[run], Run::run)?;
        Ok(distance(&[(spin_percent(&outcomes[0]), wanted)]))
    })?;
    let compute_ns = found.values[0];
    let mut runs: Vec<Run> = LOCKS.map(|locks| plan(context, &machine, locks, constants(compute_ns, true))).to_vec();
    runs.extend(LOCKS.map(|locks| plan(context, &machine, locks, constants(compute_ns, false))));
    let outcomes = context.pool.map("dcache: kernels", &runs, Run::run)?;
    let (profiled, plain) = outcomes.split_at(LOCKS.len());
    let key = format!("{NAME}.raw_spin_lock_percent[3].percent[0]");
    Ok(DocumentReport {
        name: NAME.to_owned(),
        title: published::title(NAME),
        published_on: published::text(NAME, "machine").unwrap_or_default(),
        machine: Simulated::of(&machine),
        workload: published::text(NAME, "workload").unwrap_or_default(),
        facts: facts(),
        fitted: vec![Fitted {
            what: "what a job computes".to_owned(),
            value: compute_ns / 1e6,
            unit: "ms".to_owned(),
            on: key,
        }],
        tables: tables(&published, profiled)?,
        bars: bars(&published, profiled, plain),
        listings: vec![kernels(profiled, plain)],
        plots: Vec::new(),
        notes: notes(spin_percent(&profiled[0]), wanted),
        left_out: context.choose(vec!["half of the simulated time and of the fit".to_owned()], Vec::new()),
    })
}

fn facts() -> Vec<String> {
    [
        "high_systime: 528 forks and 128 execs of each user, which are `reaim`, `ls` and the script `true` \
            (docs/aim7.md)",
        "each exec reports 6 executable mappings (counted for sh and ls: 4 to 9), each by a reference to the root, the \
         path, and the reference given back",
        "before: both references under d_lock, and the path under rename_lock as a writer; patched: compare-exchange, \
         and a blocking read",
        "the memory tax is that of 17% on two nodes, from the other document on this machine; 1000 users stand for all",
    ]
    .map(str::to_owned)
    .to_vec()
}

fn notes(ours: f64, wanted: f64) -> Vec<String> {
    let mut notes: Vec<String> = vec![
        "Shares by command: of `ls` and `true` what the paths of their mappings take, of `reaim` the rest of the \
             time in spin locks. The split between the three calls is that of all callers."
            .to_owned(),
        "`find`, `cat /proc/*/maps` and `git diff` need a mount (`turnwise mount`); they are not run here.".to_owned(),
    ];
    if (ours / wanted - 1.0).abs() > 0.05 {
        notes.push(format!(
            "The fit does not reach its figure: {ours:.1}% of {wanted:.1}%. Probably execs are too rare in so short a \
             window of scaled-down jobs. As long as that is so, the other rows say little about the document."
        ));
    }
    notes
}

fn tables(published: &Dcache, profiled: &[Outcome]) -> Result<Vec<Table>> {
    let mut rows = Vec::new();
    for (n, row) in published.raw_spin_lock_percent.iter().enumerate() {
        for (column, variant) in ["baseline", "patched"].into_iter().enumerate() {
            let key = format!("{NAME}.raw_spin_lock_percent[{n}].percent[{column}]");
            let label = format!("{}, {variant}", row.command);
            let ours = percent_of(&profiled[column], &row.command);
            let fitted = column == 0 && row.command == "total";
            let row = Row::of(key, label)?.ours(ours).today(percent_of(&profiled[3], &row.command));
            rows.push(row.within(Bound::Share(0.25)).fitted_if(fitted));
        }
    }
    let today = Some("the locks of turnwise throughout".to_owned());
    let spin = Table { title: "Time in spin locks".to_owned(), unit: "% of busy time".to_owned(), today, rows };
    // What the document's split leaves out is other callers' of the spin lock.
    let said = &published.baseline_split_of_reaim;
    let sum: f64 = said.values().sum();
    let of_all: f64 = said.keys().map(|name| profiled[0].scope_share(name, SPIN_LOCKS)).sum();
    let mut rows = Vec::new();
    for name in said.keys() {
        let row = Row::of(format!("{NAME}.baseline_split_of_reaim.{name}"), format!("reaim, {name}"))?;
        let share = profiled[0].scope_share(name, SPIN_LOCKS) / of_all.max(f64::MIN_POSITIVE);
        rows.push(row.ours(share * sum).within(Bound::Points(10.0)));
    }
    let title = format!("Who waits there, of the {sum:.1}% that these three are together");
    let split = Table { title, unit: "%".to_owned(), today: None, rows };
    let neutral = (0..published.neutral.len())
        .map(|n| Ok(Row::of(format!("{NAME}.neutral[{n}]"), "neutral")?.remark("not run here: see the notes")));
    let rows = neutral.collect::<Result<_>>()?;
    Ok(vec![spin, split, Table { title: "In words".to_owned(), unit: String::new(), today: None, rows }])
}

fn bars(published: &Dcache, profiled: &[Outcome], plain: &[Outcome]) -> Vec<Bar> {
    let [before, after] = [0, 1].map(|n| spin_percent(&profiled[n]));
    let wanted = published.raw_spin_lock_percent.last().map_or([0.0; 2], |row| row.percent);
    let off = spin_percent(&plain[0]);
    vec![
        Bar::new(
            &format!("total spin-lock time {:.1}% -> {:.1}%, the second within 25%", wanted[0], wanted[1]),
            format!("{before:.1}% -> {after:.1}%"),
            (after / wanted[1] - 1.0).abs() <= 0.25,
            "what remains of the spin locks' time is that of other locks than the dentry's: see the table of kernels",
        ),
        Bar::new(
            "without the profiler next to nothing (below 5%)",
            format!("{off:.1}%"),
            off < 5.0,
            "other spin locks of the workload: pid table, pages, signals",
        ),
    ]
}

fn kernels(profiled: &[Outcome], plain: &[Outcome]) -> Listing {
    let mut listing = Listing::new(
        "Every kernel, with and without the profiler",
        &[
            "locks",
            "spin locks, %",
            "counts by exchange, %",
            "thousand jobs/min",
            "without a profiler: spin locks, %",
            "counts by exchange, %",
            "thousand jobs/min",
        ],
    );
    for (n, locks) in LOCKS.into_iter().enumerate() {
        let both = [&profiled[n], &plain[n]].map(|outcome| {
            [spin_percent(outcome), outcome.busy_share(EXCHANGES) * 100.0, outcome.jpm / 1e3].map(digits)
        });
        listing.rows.push([locks.to_owned()].into_iter().chain(both.into_iter().flatten()).collect());
    }
    listing
}
