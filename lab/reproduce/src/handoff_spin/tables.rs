//! The published rows next to ours; the other techniques; the same workload here.

use super::load::Shape;
use super::load::Shown;
use super::{CPUS, Curves, LOCKS, NAME, NO_SPIN, Run, SPIN, SPIN_LOCK, TODAY, all_rounds, shape};
use crate::Context;
use crate::locks::with_lock;
use crate::report::{Bar, Bound, Claim, Listing, Plot, Row, Series, Table, Verdict, figure as digits};
use crate::scaling::{self, COUNTS, Scaling};
use anyhow::Result;
use std::sync::Arc;
use turnwise::platform::Native;
use turnwise_bench::published::HandoffSpin;
use turnwise_present::figures;
use turnwise_sim::Sim;
use turnwise_sim::spec::{self, Machine};

impl Curves {
    pub(super) fn table(&self, published: &HandoffSpin) -> Result<Table> {
        let mut rows = Vec::new();
        for (n, row) in published.rows.iter().enumerate() {
            for (variant, lock) in [NO_SPIN, SPIN].into_iter().enumerate() {
                let key = format!("{NAME}.rows[{n}].ns[{variant}]");
                let shown = self.at(lock, row.threads);
                let words = format!("overlap {:.0}%, runs of {:.1}", shown.overlap * 100.0, shown.run_length);
                let row = Row::of(key, format!("{} threads, {}", row.threads, lock))?
                    .ours(shown.each_ns)
                    .today(self.at(TODAY, row.threads).each_ns);
                rows.push(row.within(Bound::Factor(1.5)).remark(words));
            }
        }
        let title = "Nanoseconds for an acquisition".to_owned();
        Ok(Table { title, unit: "ns".to_owned(), today: Some("turnwise Mutex".to_owned()), rows })
    }

    pub(super) fn unchanged(&self) -> Result<Table> {
        let pair = |threads| [NO_SPIN, SPIN].map(|lock| digits(self.at(lock, threads).each_ns));
        let words = |threads| {
            let [before, after] = pair(threads);
            format!("{before} ns without spinning, {after} ns with it")
        };
        let spin_lock = |threads| {
            let [ours, spin] = [SPIN, SPIN_LOCK].map(|lock| digits(self.at(lock, threads).each_ns));
            format!("{threads} threads: {ours} ns, a spin lock {spin} ns")
        };
        let rows = vec![
            Row::of(format!("{NAME}.unchanged[0]"), "unchanged")?.remark(words(1)),
            Row::of(format!("{NAME}.unchanged[1]"), "unchanged")?.remark(words(20)),
            Row::of(format!("{NAME}.claim"), "claim")?.remark(format!("{}; {}", spin_lock(2), spin_lock(4))),
        ];
        Ok(Table { title: "In words".to_owned(), unit: String::new(), today: None, rows })
    }

    pub(super) fn claims(&self, published: &HandoffSpin) -> Vec<Claim> {
        let pair = |threads| [NO_SPIN, SPIN].map(|lock| self.at(lock, threads).each_ns);
        let text = |[before, after]: [f64; 2]| format!("{} -> {} ns", digits(before), digits(after));
        let near = |said: f64, ours: f64| Bound::Factor(1.5).holds(said, ours);
        let mut claims: Vec<Claim> = published
            .rows
            .iter()
            .map(|row| {
                let ours = pair(row.threads);
                let size = near(row.ns[0], ours[0]) && near(row.ns[1], ours[1]);
                let what = format!("spinning while the owner runs speeds {} threads up", row.threads);
                Claim::new(&what, text(row.ns), text(ours), Verdict::of(size, ours[1] < ours[0] / 1.5))
            })
            .collect();
        let (many, one) = (pair(20), pair(1));
        claims.push(Claim::new(
            "with 20 threads on 4 CPUs it helps only now and then",
            "\"only sporadically\"",
            text(many),
            Verdict::of(many[1] > 0.8 * many[0], false),
        ));
        let unchanged = (one[1] / one[0] - 1.0).abs() < 0.02;
        claims.push(Claim::new(
            "and nothing without contention",
            "unchanged",
            text(one),
            Verdict::of(unchanged, false),
        ));
        claims
    }

    pub(super) fn bars(&self, published: &HandoffSpin) -> Vec<Bar> {
        let why = "docs/reproduction/handoff_spin.md, and the overlap and runs beside each row";
        let all = "the model's spinners gain with 20 threads as with 4: those that have a CPU at the time spin";
        let asked = [
            ("2 threads: 800 -> 33 ns within a factor 1.5", why),
            ("4 threads: 1800 -> 153 ns within a factor 1.5", why),
            ("20 threads: improve only sporadically", all),
            ("uncontended: unchanged", ""),
        ];
        self.claims(published).iter().zip(asked).map(|(claim, (asked, why))| claim.bar(asked, why)).collect()
    }

    pub(super) fn techniques(&self) -> Vec<Listing> {
        let columns = ["lock", "1 thread", "2 threads", "4 threads", "20 threads"];
        let mut times = Listing::new("All techniques of the issue behind it: nanoseconds for an acquisition", &columns);
        let mut runs = Listing::new("Overlap of the threads, and acquisitions in a row by one thread", &columns);
        for (lock, row) in &self.0 {
            let name = || [(*lock).to_owned()].into_iter();
            times.rows.push(name().chain(row.iter().map(|shown| digits(shown.each_ns))).collect());
            let run = |shown: &Shown| format!("{:.0}%, {:.1}", shown.overlap * 100.0, shown.run_length);
            runs.rows.push(name().chain(row.iter().map(run)).collect());
        }
        vec![times, runs]
    }

    pub(super) fn plot(&self, published: &HandoffSpin) -> Plot {
        let said = |variant: usize| published.rows.iter().map(|r| (f64::from(r.threads), r.ns[variant])).collect();
        let mut series = vec![
            Series { name: "no spin".to_owned(), published: true, points: said(0) },
            Series { name: "spin".to_owned(), published: true, points: said(1) },
        ];
        for (lock, row) in &self.0 {
            let points = super::THREADS.iter().zip(row).map(|(n, shown)| (f64::from(*n), shown.each_ns)).collect();
            series.push(Series { name: (*lock).to_owned(), published: false, points });
        }
        let title = "misc-mutex: nanoseconds for an acquisition".to_owned();
        Plot { title, x: "threads".to_owned(), y: "ns".to_owned(), series }
    }
}

/// Lists two threads that meet for only a part of the run.
pub(super) fn overlaps(context: &Context<'_>, machine: &Arc<Machine>) -> Result<Listing> {
    // The first has done this much of its work when the other begins; an uncontended round takes 25 ns.
    const ALONE_PERCENT: [u64; 6] = [0, 25, 50, 75, 90, 100];
    const ROUND_NS: u64 = 25;
    let rounds = all_rounds(context) / 2;
    let run = |lock, percent: u64| {
        let alone_ns = u64::from(rounds) * ROUND_NS * percent / 100;
        let shape = Shape { alone_ns, ..shape(2, rounds) };
        Run { machine: Arc::clone(machine), cpus: CPUS, lock, shape, seed: context.seed }
    };
    let locks = [NO_SPIN, SPIN];
    let runs: Vec<Run> = locks.iter().flat_map(|&lock| ALONE_PERCENT.map(|percent| run(lock, percent))).collect();
    let shown = context.pool.map("handoff_spin: overlap", &runs, |run| with_lock::<Sim, _>(run.lock, run))?;
    let mut listing = Listing::new(
        "Two threads that meet for a part of the run only: nanoseconds for an acquisition",
        &["lock", "overlap, %", "ns", "acquisitions in a row"],
    );
    for (run, shown) in runs.iter().zip(shown) {
        let cells = [shown.overlap * 100.0, shown.each_ns, shown.run_length].map(digits);
        listing.rows.push([run.lock.to_owned()].into_iter().chain(cells).collect());
    }
    Ok(listing)
}

/// Returns the published pairs on a desktop with the same number of cores.
pub(super) fn desktop(context: &Context<'_>) -> Result<Listing> {
    let machine = Arc::new(spec::load("osv-4")?);
    const SHOWN: [&str; 3] = [NO_SPIN, SPIN, SPIN_LOCK];
    let curves = Curves::run(context, &machine, &SHOWN)?;
    let title = "The same on four cores (osv-4): nanoseconds for an acquisition";
    let mut listing = Listing::new(title, &["lock", "1 thread", "2 threads", "4 threads", "20 threads"]);
    for lock in SHOWN {
        let cells = super::THREADS.map(|threads| digits(curves.at(lock, threads).each_ns));
        listing.rows.push([lock.to_owned()].into_iter().chain(cells).collect());
    }
    Ok(listing)
}

/// Runs the same workload on a machine of 1024 CPUs.
pub(super) fn to_1024(context: &Context<'_>) -> Result<Scaling> {
    const ROUNDS: u32 = 20_000;
    let machine = scaling::machine()?;
    let run = |lock, threads| Run {
        machine: Arc::clone(&machine),
        cpus: threads,
        lock,
        shape: shape(threads, (ROUNDS / threads).max(20)),
        seed: context.seed,
    };
    let runs: Vec<Run> = LOCKS.iter().flat_map(|&lock| COUNTS.map(|threads| run(lock, threads))).collect();
    let shown = context.pool.map("handoff_spin: 1024 CPUs", &runs, |run| with_lock::<Sim, _>(run.lock, run))?;
    let mut scaling = Scaling::new("time for an acquisition", "ns", "threads");
    for (lock, row) in LOCKS.into_iter().zip(shown.chunks(COUNTS.len())) {
        scaling.push(lock, row.iter().map(|shown| shown.each_ns));
    }
    Ok(scaling)
}

pub(super) fn metal(context: &Context<'_>) -> Listing {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(64) as u32;
    let title = format!("The workload on metal here, {threads} CPUs: nanoseconds, overlap, run length");
    let counts = [1, 2, 4];
    let mut listing = Listing::new(&title, &["lock", "1 thread", "2 threads", "4 threads"]);
    for lock in LOCKS {
        let mut cells = vec![lock.to_owned()];
        for threads in counts {
            // A spin lock's owner loses its CPU for a whole slice where threads outnumber CPUs: fewer rounds do.
            let rounds = context.choose(20_000, 200_000) / threads;
            let shape = Shape { alone_ns: 0, held_ns: 0, between_ns: 0, ..shape(threads, rounds) };
            let shown = with_lock::<Native, _>(lock, shape);
            let time = figures::time(shown.each_ns);
            cells.push(format!("{time}, {:.0}%, {:.1}", shown.overlap * 100.0, shown.run_length));
        }
        listing.rows.push(cells);
    }
    listing
}
