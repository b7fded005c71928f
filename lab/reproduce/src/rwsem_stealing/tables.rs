//! The published rows beside ours; other locks, machines and hold times; the same workload here.

use super::load::{ForkTest, Shape};
use super::model::{FIFO, LOCKS, MUTEX, Model, Run, STEALING, Shown, TODAY, XADD_FAST};
use super::{CPUS, NAME};
use crate::Context;
use crate::here::{here, voluntary};
use crate::locks::{WithLock, with_lock};
use crate::report::{Bar, Bound, Claim, Listing, Plot, Row, Series, Table, Verdict, figure as digits};
use crate::scaling::{self, COUNTS, Scaling};
use anyhow::Result;
use std::sync::Arc;
use turnwise::RawLock;
use turnwise::platform::Native;
use turnwise_bench::environment::Environment;
use turnwise_bench::published::RwsemStealing;

/// What all locks showed on one machine.
pub(super) struct Found {
    compute_ns: f64,
    shown: Vec<(&'static str, Shown)>,
}

/// From `before` to `after`, per cent.
fn change(before: f64, after: f64) -> f64 {
    (after / before - 1.0) * 100.0
}

impl Found {
    pub(super) fn run(context: &Context<'_>, model: &Model) -> Result<Found> {
        let runs: Vec<Run> = LOCKS.iter().map(|&lock| model.run(context, lock)).collect();
        let shown = context.pool.map("rwsem_stealing: locks", &runs, Run::run)?;
        Ok(Found { compute_ns: model.compute_ns, shown: LOCKS.into_iter().zip(shown).collect() })
    }

    fn of(&self, lock: &str) -> Shown {
        self.shown.iter().find(|(other, _)| *other == lock).expect("all of them ran").1
    }

    /// Forks of the whole run, if the lock granted in order is to have as many switches as published.
    pub(super) fn forks(&self, published: &RwsemStealing) -> f64 {
        (published.voluntary_context_switches[0] / self.of(FIFO).switches).round()
    }

    fn speedup(&self) -> f64 {
        self.of(STEALING).forks_per_s / self.of(FIFO).forks_per_s
    }

    fn fewer_switches(&self) -> f64 {
        self.of(FIFO).switches / self.of(STEALING).switches
    }

    fn loss(&self) -> f64 {
        change(self.of(MUTEX).forks_per_s, self.of(FIFO).forks_per_s)
    }

    pub(super) fn tables(&self, published: &RwsemStealing) -> Result<Vec<Table>> {
        let (fifo, stealing, today) = (self.of(FIFO), self.of(STEALING), self.of(TODAY));
        let forks = self.forks(published);
        let share = Bound::Share(0.25);
        let cpu = |n: usize, what: &str| Row::of(format!("{NAME}.cpu_percent[{n}]"), format!("CPU, {what}"));
        let switches = |n: usize, what: &str| {
            Row::of(format!("{NAME}.voluntary_context_switches[{n}]"), format!("switches, {what}"))
        };
        let ratio = published.voluntary_context_switches[0] / published.voluntary_context_switches[1];
        let rows = vec![
            cpu(0, "granted in order, %")?.ours(fifo.cpu_percent).today(today.cpu_percent).fitted_if(true),
            cpu(1, "stealing, %")?.ours(stealing.cpu_percent).today(today.cpu_percent).within(share),
            Row::derived("cpu_percent[1] / [0]", "CPU, ratio", published.cpu_percent[1] / published.cpu_percent[0])
                .ours(stealing.cpu_percent / fifo.cpu_percent)
                .today(today.cpu_percent / fifo.cpu_percent)
                .within(share)
                .unjudged("follows from the rows above, of which one was fitted"),
            switches(0, "granted in order")?.ours((fifo.switches * forks).round()).fitted_if(true),
            switches(1, "stealing")?
                .ours((stealing.switches * forks).round())
                .within(share)
                .unjudged("follows from the ratio below and a fitted number"),
            Row::derived("voluntary_context_switches[0] / [1]", "switches, ratio", ratio)
                .ours(self.fewer_switches())
                .today(fifo.switches / today.switches)
                .within(Bound::Share(0.15)),
            Row::of(format!("{NAME}.throughput_ratio"), "throughput, ratio")?
                .ours(self.speedup())
                .today(today.forks_per_s / fifo.forks_per_s)
                .within(share),
            Row::derived("before", "throughput, mutex to rwsem granted in order, %", -50.0)
                .ours(self.loss())
                .within(Bound::Points(10.0))
                .unjudged("of another commit (ce6711f3)"),
        ];
        let measured = Table {
            title: "fork_test".to_owned(),
            unit: "as named".to_owned(),
            today: Some("turnwise RwSem".to_owned()),
            rows,
        };
        let recovered = change(self.of(MUTEX).forks_per_s, stealing.forks_per_s);
        let words = format!("mutex to rwsem granted in order {:+.0}%, to stealing {recovered:+.0}%", self.loss());
        let claim = Row::of(format!("{NAME}.before"), "claim")?.remark(words);
        Ok(vec![measured, Table { title: "In words".to_owned(), unit: String::new(), today: None, rows: vec![claim] }])
    }

    pub(super) fn claims(&self, published: &RwsemStealing) -> Vec<Claim> {
        let ratio = |[before, after]: [f64; 2]| after / before;
        let cpu = self.of(STEALING).cpu_percent / self.of(FIFO).cpu_percent;
        let (said_cpu, said_sleeps) = (ratio(published.cpu_percent), 1.0 / ratio(published.voluntary_context_switches));
        let near = |said: f64, ours: f64, share: f64| Bound::Share(share).holds(said, ours);
        let times = |ratio: f64| format!("{ratio:.2} times");
        vec![
            Claim::new(
                "writers that steal the lock double throughput",
                times(published.throughput_ratio),
                times(self.speedup()),
                Verdict::of(near(published.throughput_ratio, self.speedup(), 0.25), self.speedup() > 1.05),
            ),
            Claim::new(
                "they keep more CPUs busy",
                times(said_cpu),
                times(cpu),
                Verdict::of(near(said_cpu, cpu, 0.25), cpu > 1.05),
            ),
            Claim::new(
                "they sleep less often",
                format!("a {said_sleeps:.1}th"),
                format!("a {:.1}th", self.fewer_switches()),
                Verdict::of(near(said_sleeps, self.fewer_switches(), 0.15), self.fewer_switches() > 1.05),
            ),
        ]
    }

    pub(super) fn bars(&self) -> Vec<Bar> {
        let ratio = self.fewer_switches();
        vec![
            Bar::new(
                "context-switch ratio 4.06 within 15%",
                digits(ratio),
                (ratio / 4.06 - 1.0).abs() <= 0.15,
                "docs/reproduction/rwsem_stealing.md: it depends on how late a woken writer runs",
            ),
            Bar::new(
                "throughput doubles, within 25%",
                format!("{:.2} times", self.speedup()),
                (self.speedup() / 2.0 - 1.0).abs() <= 0.25,
                "",
            ),
        ]
    }

    pub(super) fn listing(&self) -> Listing {
        let title = format!("All versions of the lock on {CPUS} CPUs");
        let mut listing = Listing::new(&title, &["lock", "forks/s", "CPU, %", "switches for a fork"]);
        for (lock, shown) in &self.shown {
            let figures = [shown.forks_per_s.round(), shown.cpu_percent, shown.switches].map(digits);
            listing.rows.push([(*lock).to_owned()].into_iter().chain(figures).collect());
        }
        listing
    }

    pub(super) fn plot(&self) -> Plot {
        let series = self.shown.iter().map(|(lock, shown)| Series {
            name: (*lock).to_owned(),
            published: false,
            points: vec![(shown.cpu_percent, shown.forks_per_s)],
        });
        Plot {
            title: format!("fork_test on {CPUS} CPUs: throughput over CPU time"),
            x: "CPU, %".to_owned(),
            y: "forks/s".to_owned(),
            series: series.collect(),
        }
    }

    fn row(&self, name: String) -> Vec<String> {
        let figures = [
            self.compute_ns / 1e3,
            self.of(FIFO).cpu_percent,
            self.of(STEALING).cpu_percent,
            self.fewer_switches(),
            self.speedup(),
        ];
        [name].into_iter().chain(figures.map(digits)).chain([format!("{:+.0}%", self.loss())]).collect()
    }
}

const COLUMNS: [&str; 6] =
    ["compute, us", "CPU, in order, %", "CPU, stealing, %", "switches, ratio", "throughput, ratio", "mutex to rwsem"];

fn predictions(title: &str, first: &str) -> Listing {
    let mut listing = Listing::new(title, &[first]);
    listing.columns.extend(COLUMNS.map(str::to_owned));
    listing
}

/// Predicts for machines of other sizes, each with its own fit.
pub(super) fn robustness(context: &Context<'_>, main: &Found, wanted: f64) -> Result<Listing> {
    let mut listing =
        predictions("The machine is not known: predictions for other numbers of CPUs, each fitted anew", "CPUs");
    let others: &[u32] = context.choose(&[8], &[6, 8, 32, 64]);
    for &cpus in others {
        let model = Model::fitted(context, cpus, Model::HOLD_NS, wanted)?;
        listing.rows.push(Found::run(context, &model)?.row(cpus.to_string()));
    }
    listing.rows.push(main.row(CPUS.to_string()));
    listing.rows.sort_by_key(|row| row[0].parse::<u32>().unwrap_or(0));
    Ok(listing)
}

/// Predicts for other hold times, each with its own fit.
pub(super) fn by_hold(context: &Context<'_>, wanted: f64) -> Result<Listing> {
    let title = format!("The hold time is guessed: predictions for others, {CPUS} CPUs, each fitted anew");
    let mut listing = predictions(&title, "held, ns");
    for hold_ns in [150, 300, 500, 1000] {
        let model = Model::fitted(context, CPUS, hold_ns, wanted)?;
        listing.rows.push(Found::run(context, &model)?.row(hold_ns.to_string()));
    }
    Ok(listing)
}

/// The same workload on a machine of 1024 CPUs, a user for each.
pub(super) fn to_1024(context: &Context<'_>, model: &Model) -> Result<Scaling> {
    const SOME: [&str; 4] = [FIFO, STEALING, XADD_FAST, TODAY];
    const END_NS: u64 = 25_000_000;
    let machine = scaling::machine_of_a_kernel()?;
    let run = |lock, cpus| Run {
        machine: Arc::clone(&machine),
        lock,
        cpus,
        shape: model.shape(cpus, END_NS),
        seed: context.seed,
    };
    let runs: Vec<Run> = SOME.iter().flat_map(|&lock| COUNTS.map(|cpus| run(lock, cpus))).collect();
    let shown = context.pool.map("rwsem_stealing: 1024 CPUs", &runs, Run::run)?;
    let mut scaling = Scaling::new("forks, a user for each CPU", "thousand/s", "CPUs");
    for (lock, row) in SOME.iter().zip(shown.chunks(COUNTS.len())) {
        scaling.push(lock, row.iter().map(|shown| shown.forks_per_s / 1e3));
    }
    Ok(scaling)
}

/// The same workload on this machine's CPUs.
pub(super) fn metal(context: &Context<'_>, model: &Model) -> Result<Listing> {
    const USERS: u32 = 8;
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let title = format!("The workload on metal here, {USERS} users on {cpus} CPUs");
    let mut listing = Listing::new(&title, &["lock", "forks/s", "switches for a fork"]);
    let shape = model.shape(USERS, context.choose(100_000_000, 500_000_000));
    for lock in LOCKS {
        let (forks, switches) = with_lock::<Native, _>(lock, &shape);
        let per_s = forks * 1e9 / shape.end_ns as f64;
        let each = switches as f64 / forks.max(1.0);
        listing.rows.push(vec![lock.to_owned(), digits(per_s.round()), digits(each)]);
    }
    Ok(listing)
}

impl WithLock<Native> for &Shape {
    type Out = (f64, u64);

    fn with<L: RawLock>(self) -> (f64, u64) {
        let before = voluntary();
        let group = ForkTest::<Native, L>::new(*self, (), <Native as Environment>::stamp());
        here(&group);
        (group.forks(), voluntary() - before)
    }
}
