//! The published rows next to ours; other locks, machines and hold times; the same workload here.

use super::NAME;
use super::load::{ForkTest, Shape};
use super::model::{FIFO, LOCKS, MUTEX, Model, Run, STEALING, Shown, TODAY, XADD_FAST};
use crate::Context;
use crate::here::here;
use crate::locks::{WithLock, with_lock};
use crate::mean::{Mean, change, mean};
use crate::report::{Bar, Bound, Claim, Listing, Plot, Row, Series, Table, Verdict, figure as digits};
use crate::scaling::{self, COUNTS, Scaling};
use anyhow::Result;
use std::sync::Arc;
use turnwise::RawLock;
use turnwise::platform::Native;
use turnwise_bench::environment::Environment;
use turnwise_bench::published::RwsemStealing;
use turnwise_present::spent::Spent;

/// What the locks showed on one machine, with each seed.
pub(super) struct Found {
    shown: Vec<(&'static str, Vec<Shown>)>,
}

impl Found {
    /// Runs all locks, those that rows are judged by with several seeds.
    pub(super) fn run(context: &Context<'_>, model: &Model) -> Result<Found> {
        let seeds = context.choose(1, 4);
        let of = |lock| if [FIFO, STEALING, MUTEX].contains(&lock) { seeds } else { 1 };
        Found::of_these(context, model, &LOCKS.map(|lock| (lock, of(lock))))
    }

    fn of_these(context: &Context<'_>, model: &Model, locks: &[(&'static str, u64)]) -> Result<Found> {
        let seeds = |&(lock, seeds): &(&'static str, u64)| (0..seeds).map(move |seed| model.run(context, lock, seed));
        let runs: Vec<Run> = locks.iter().flat_map(seeds).collect();
        let mut shown = context.pool.map("rwsem_stealing: locks", &runs, Run::run)?.into_iter();
        let shown = locks.iter().map(|&(lock, seeds)| (lock, shown.by_ref().take(seeds as usize).collect()));
        Ok(Found { shown: shown.collect() })
    }

    fn each(&self, lock: &str) -> &[Shown] {
        &self.shown.iter().find(|(other, _)| *other == lock).expect("it ran").1
    }

    /// Returns the mean over the seeds.
    fn of(&self, lock: &str) -> Shown {
        let of = |figure: fn(&Shown) -> f64| mean(self.each(lock).iter().map(figure)).0;
        Shown {
            forks_per_s: of(|shown| shown.forks_per_s),
            cpu_percent: of(|shown| shown.cpu_percent),
            switches: of(|shown| shown.switches),
        }
    }

    /// Returns the ratio of the stealing lock to the one granted in order, seed by seed.
    fn ratio(&self, figure: fn(&Shown) -> f64) -> Mean {
        let pairs = self.each(FIFO).iter().zip(self.each(STEALING));
        mean(pairs.map(|(fifo, stealing)| figure(stealing) / figure(fifo)))
    }

    /// Returns the forks of the whole run, if the lock granted in order is to have as many switches as published.
    pub(super) fn forks(&self, published: &RwsemStealing) -> f64 {
        (published.voluntary_context_switches[0] / self.of(FIFO).switches).round()
    }

    fn speedup(&self) -> Mean {
        self.ratio(|shown| shown.forks_per_s)
    }

    fn more_cpu(&self) -> Mean {
        self.ratio(|shown| shown.cpu_percent)
    }

    fn fewer_switches(&self) -> Mean {
        self.ratio(|shown| 1.0 / shown.switches)
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
        let with = |row: Row, (ours, error): Mean| row.ours(ours).give_or_take(error);
        let more_cpu = published.cpu_percent[1] / published.cpu_percent[0];
        let rows = vec![
            cpu(0, "granted in order, %")?.ours(fifo.cpu_percent).today(today.cpu_percent).within(share),
            cpu(1, "stealing, %")?
                .ours(stealing.cpu_percent)
                .today(today.cpu_percent)
                .within(share)
                .unjudged("follows from the rows above and below"),
            with(Row::derived("cpu_percent[1] / [0]", "CPU, ratio", more_cpu), self.more_cpu())
                .today(today.cpu_percent / fifo.cpu_percent)
                .within(share),
            switches(0, "granted in order")?.ours((fifo.switches * forks).round()).fitted_if(true),
            switches(1, "stealing")?
                .ours((stealing.switches * forks).round())
                .within(share)
                .unjudged("follows from the ratio below and a fitted number"),
            with(Row::derived("voluntary_context_switches[0] / [1]", "switches, ratio", ratio), self.fewer_switches())
                .today(fifo.switches / today.switches)
                .within(Bound::Share(0.15)),
            with(Row::of(format!("{NAME}.throughput_ratio"), "throughput, ratio")?, self.speedup())
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
        let [(speedup, _), (cpu, _), (fewer, _)] = [self.speedup(), self.more_cpu(), self.fewer_switches()];
        let (said_cpu, said_sleeps) = (ratio(published.cpu_percent), 1.0 / ratio(published.voluntary_context_switches));
        let near = |said: f64, ours: f64, share: f64| Bound::Share(share).holds(said, ours);
        let times = |ratio: f64| format!("{ratio:.2} times");
        vec![
            Claim::new(
                "writers that steal the lock double throughput",
                times(published.throughput_ratio),
                times(speedup),
                Verdict::of(near(published.throughput_ratio, speedup, 0.25), speedup > 1.05),
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
                format!("a {fewer:.1}th"),
                Verdict::of(near(said_sleeps, fewer, 0.15), fewer > 1.05),
            ),
        ]
    }

    pub(super) fn bars(&self, published: &RwsemStealing) -> Vec<Bar> {
        let (ratio, _) = self.fewer_switches();
        vec![
            Bar::new(
                "context-switch ratio 4.06 within 15%",
                digits(ratio),
                (ratio / 4.06 - 1.0).abs() <= 0.15,
                "docs/reproduction/rwsem_stealing.md: it depends on how late a woken writer runs",
            ),
            self.claims(published)[0].bar("throughput doubles, within 25%", ""),
        ]
    }

    pub(super) fn listing(&self) -> Listing {
        let title = format!("All versions of the lock on {} CPUs", Model::CPUS);
        let mut listing = Listing::new(&title, &["lock", "forks/s", "CPU, %", "switches for a fork"]);
        for (lock, _) in &self.shown {
            let shown = self.of(lock);
            let figures = [shown.forks_per_s.round(), shown.cpu_percent, shown.switches].map(digits);
            listing.rows.push([(*lock).to_owned()].into_iter().chain(figures).collect());
        }
        listing
    }

    pub(super) fn plot(&self) -> Plot {
        let series = self.shown.iter().map(|(lock, _)| {
            let shown = self.of(lock);
            let points = vec![(shown.cpu_percent, shown.forks_per_s)];
            Series { name: (*lock).to_owned(), published: false, points }
        });
        Plot {
            title: format!("fork_test on {} CPUs: throughput over CPU time", Model::CPUS),
            x: "CPU, %".to_owned(),
            y: "forks/s".to_owned(),
            series: series.collect(),
        }
    }

    fn row(&self, name: String) -> Vec<String> {
        let (fewer, speedup) = (self.fewer_switches().0, self.speedup().0);
        let figures = [self.of(FIFO).cpu_percent, self.of(STEALING).cpu_percent, fewer, speedup];
        [name].into_iter().chain(figures.map(digits)).chain([format!("{:+.0}%", self.loss())]).collect()
    }
}

const COLUMNS: [&str; 5] =
    ["CPU, in order, %", "CPU, stealing, %", "switches, ratio", "throughput, ratio", "mutex to rwsem"];
/// The locks of other predictions, and seeds.
const THREE: [(&str, u64); 3] = [(FIFO, 1), (STEALING, 1), (MUTEX, 1)];

fn predictions(title: &str, first: &str) -> Listing {
    let mut listing = Listing::new(title, &[first]);
    listing.columns.extend(COLUMNS.map(str::to_owned));
    listing
}

/// Predicts for other machines: the first CPUs of a larger one.
pub(super) fn robustness(context: &Context<'_>, main: &Found) -> Result<Listing> {
    const LARGER: &str = "westmere-ex-80";
    let title = "The machine is not known: predictions for others, with the same constants";
    let mut listing = predictions(title, "CPUs");
    listing.rows.push(main.row(format!("{} of {}", Model::CPUS, Model::MACHINE)));
    let others: &[u32] = context.choose(&[8], &[6, 8, 16, 32, 64]);
    for &cpus in others {
        let model = Model::on(LARGER, cpus, Model::HOLD_NS)?;
        listing.rows.push(Found::of_these(context, &model, &THREE)?.row(format!("{cpus} of {LARGER}")));
    }
    Ok(listing)
}

/// Predicts for other hold times.
pub(super) fn by_hold(context: &Context<'_>) -> Result<Listing> {
    let mut listing = predictions("The hold time is derived: predictions for others", "held, ns");
    for hold_ns in [150, 300, 500, 1000] {
        let model = Model::on(Model::MACHINE, Model::CPUS, hold_ns)?;
        listing.rows.push(Found::of_these(context, &model, &THREE)?.row(hold_ns.to_string()));
    }
    Ok(listing)
}

/// Runs the same workload on a machine of 1024 CPUs, a user for each.
pub(super) fn to_1024(context: &Context<'_>, model: &Model) -> Result<Scaling> {
    const SOME: [&str; 4] = [FIFO, STEALING, XADD_FAST, TODAY];
    const WARM_UP_NS: u64 = 20_000_000;
    const END_NS: u64 = 25_000_000;
    let machine = scaling::machine_of_a_kernel()?;
    let run = |lock, cpus| Run {
        machine: Arc::clone(&machine),
        lock,
        cpus,
        shape: model.shape(cpus, END_NS),
        warm_up_ns: WARM_UP_NS,
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

/// Runs the same workload on this machine's CPUs.
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
        let before = Spent::here().voluntary;
        let group = ForkTest::<Native, L>::new(*self, (), <Native as Environment>::stamp());
        here(&group);
        (group.forks(), Spent::here().voluntary - before)
    }
}
