//! The published rows next to ours; other locks; the same workload here.

use super::load::{Shape, Took};
use super::locks::{WithLock, with_lock};
use super::model::{BACK_OFF, Constants, LOCKS, Model, ON, RWSEM, Run, SPIN, TODAY, group, seeds};
use crate::Context;
use crate::here::here;
use crate::mean::{Mean, change, mean};
use crate::report::{Bar, Bound, Claim, Listing, Plot, Row, Series, Table, Verdict, figure as digits};
use crate::scaling::{self, COUNTS, Scaling};
use anyhow::Result;
use std::sync::Arc;
use turnwise::platform::Native;
use turnwise_bench::load::exclusive::Lock;
use turnwise_bench::published::SpinBackoff;
use turnwise_present::figures;

const CPUS: [u32; 4] = [8, 16, 32, 64];
/// What the wall time consists of: keys and labels.
const PARTS: [(&str, &str); 2] = [("a of a n + b n^2", "linear part"), ("b of a n + b n^2", "quadratic part")];
const FIGURES: [&str; 3] = ["wall", "system", "user"];
/// What a n + b n^2 reaches on the rows that it has not seen.
const BASELINE: f64 = 0.066;

/// Seconds with each seed: wall, system, user.
type Seconds = Vec<[f64; 3]>;

/// Every lock on every number of CPUs.
pub(super) struct Curves {
    seconds: Vec<(&'static str, Vec<Seconds>)>,
    published: SpinBackoff,
}

impl Curves {
    pub(super) fn run(context: &Context<'_>, model: &Model) -> Result<Curves> {
        let count = seeds(context);
        let runs = LOCKS.iter().flat_map(|&lock| CPUS.map(|cpus| model.run(context, lock, cpus)));
        let runs: Vec<Run> = runs.flat_map(|run| run.seeds(count).collect::<Vec<_>>()).collect();
        let took: Vec<Took> = context.pool.map("spin_backoff: locks", &runs, Run::run)?;
        let seconds: Vec<[f64; 3]> = took.into_iter().map(|took| model.seconds(took)).collect();
        let mut cells = seconds.chunks(count as usize).map(<[_]>::to_vec);
        let seconds = LOCKS.iter().map(|&lock| (lock, cells.by_ref().take(CPUS.len()).collect()));
        Ok(Curves { seconds: seconds.collect(), published: model.published.clone() })
    }

    /// Returns the times with each seed, on each number of CPUs.
    fn of(&self, lock: &str) -> &[Seconds] {
        let found = self.seconds.iter().find(|(other, _)| *other == lock);
        found.map_or(&[], |(_, seconds)| seconds)
    }

    /// Returns the mean of a figure on the `n`th number of CPUs.
    fn figure(&self, lock: &str, n: usize, figure: usize) -> Mean {
        mean(self.of(lock)[n].iter().map(|seconds| seconds[figure]))
    }

    fn wall(&self, lock: &str, n: usize) -> f64 {
        self.figure(lock, n, 0).0
    }

    /// Returns what back-off changes, published and ours with its standard error, from seed to seed.
    fn gains(&self) -> Vec<(f64, Mean)> {
        let both = self.of(SPIN).iter().zip(self.of(BACK_OFF));
        let ours = both.map(|(spin, off)| mean(spin.iter().zip(off).map(|(spin, off)| change(spin[0], off[0]))));
        self.published.rows.iter().map(|row| change(row.spin[0], row.backoff[0])).zip(ours).collect()
    }

    pub(super) fn tables(&self, _model: &Model) -> Result<Vec<Table>> {
        let mut seconds = Vec::new();
        for (variant, lock) in [("spin", SPIN), ("backoff", BACK_OFF)] {
            for (n, cpus) in CPUS.into_iter().enumerate() {
                for (figure, name) in FIGURES.into_iter().enumerate() {
                    let key = format!("spin_backoff.rows[{n}].{variant}[{figure}]");
                    let row = Row::of(&key, format!("{cpus} CPUs, {}, {name}", lock))?;
                    let (ours, error) = self.figure(lock, n, figure);
                    let row = row.ours(ours).give_or_take(error).today(self.figure(TODAY, n, figure).0);
                    let tight = variant == "spin" && figure == 0;
                    let bound = if tight { Bound::Share(BASELINE) } else { Bound::Share(0.25) };
                    let row = row.within(bound).fitted_if(ON.contains(&key.as_str()));
                    // Threads times wall time is user and system time.
                    let follows = key == "spin_backoff.rows[0].spin[1]";
                    let why = "follows from two fitted rows";
                    seconds.push(if follows { row.unjudged(why) } else { row });
                }
            }
        }
        let today = Some("turnwise RwSem, for reading".to_owned());
        let seconds =
            Table { title: "Seconds of the whole series".to_owned(), unit: "s".to_owned(), today, rows: seconds };
        Ok(vec![seconds, self.effect()?, self.in_words()?])
    }

    fn in_words(&self) -> Result<Table> {
        let (spin, rwsem) = (self.wall(SPIN, 3), self.wall(RWSEM, 3));
        let (backoff, rwsem) = (self.gains()[3].1.0, change(spin, rwsem));
        let words = format!("at 64 CPUs back-off {backoff:+.1}% wall time, the rwsem {rwsem:+.1}%");
        let rows = vec![Row::of("spin_backoff.conclusion", "conclusion")?.remark(words)];
        Ok(Table { title: "In words".to_owned(), unit: String::new(), today: None, rows })
    }

    /// Compares figures with and without back-off.
    fn effect(&self) -> Result<Table> {
        let mut rows = Vec::new();
        for (n, (cpus, (published, (ours, error)))) in CPUS.into_iter().zip(self.gains()).enumerate() {
            let key = format!("spin_backoff.rows[{n}].backoff[0] / spin_backoff.rows[{n}].spin[0]");
            let row = Row::derived(key, format!("{cpus} CPUs: wall time"), published);
            rows.push(row.ours(ours).give_or_take(error).within(Bound::Points(10.0)));
        }
        let (published, ours) = self.parts();
        for (part, (key, label)) in PARTS.into_iter().enumerate() {
            let (figure, error) = ours[part];
            let row = Row::derived(key, label, published[part]).ours(figure).give_or_take(error);
            rows.push(row.within(Bound::Points(10.0)));
        }
        let title = "What back-off changes, without a refit".to_owned();
        Ok(Table { title, unit: "%".to_owned(), today: None, rows })
    }

    /// Returns how back-off changes the linear and the quadratic part, per cent: published, and ours by seed.
    fn parts(&self) -> ([f64; 2], [Mean; 2]) {
        let both = |spin: [f64; 2], backoff: [f64; 2]| {
            let (before, after) = (parabola(spin), parabola(backoff));
            [change(before[0], after[0]), change(before[1], after[1])]
        };
        let [first, .., last] = &*self.published.rows else { return Default::default() };
        let published = both([first.spin[0], last.spin[0]], [first.backoff[0], last.backoff[0]]);
        let ends = |lock: &str, seed: usize| [0, 3].map(|n: usize| self.of(lock)[n][seed][0]);
        let ours = (0..self.of(SPIN)[0].len()).map(|seed| both(ends(SPIN, seed), ends(BACK_OFF, seed)));
        let ours: Vec<[f64; 2]> = ours.collect();
        (published, [0, 1].map(|part| mean(ours.iter().map(|parts| parts[part]))))
    }

    pub(super) fn claims(&self) -> Vec<Claim> {
        let gains = self.gains();
        let list = |of: fn(&(f64, Mean)) -> f64| {
            gains.iter().map(|gain| format!("{:+.0}%", of(gain))).collect::<Vec<_>>().join(", ")
        };
        let near = gains.iter().all(|(published, (ours, _))| Bound::Points(10.0).holds(*published, *ours));
        let gain = gains.iter().all(|(_, (ours, _))| *ours < 0.0);
        let rwsem = change(self.wall(SPIN, 3), self.wall(RWSEM, 3));
        let more = rwsem < gains[3].1.0;
        vec![
            Claim::new(
                "spinners that back off gain a few per cent of wall time (8, 16, 32, 64 CPUs)",
                list(|gain| gain.0),
                list(|gain| gain.1.0),
                Verdict::of(near, gain),
            ),
            Claim::new(
                "another type of lock gains much more (64 CPUs)",
                "\"much better\"",
                format!("{rwsem:+.0}%"),
                Verdict::of(more && rwsem < -25.0, more),
            ),
        ]
    }

    pub(super) fn bars(&self) -> Vec<Bar> {
        let errors = [1, 2].map(|n: usize| self.wall(SPIN, n) / self.published.rows[n].spin[0] - 1.0);
        let better = errors.iter().all(|error| error.abs() < BASELINE);
        let found = format!("{:+.1}% at 16 CPUs, {:+.1}% at 32", errors[0] * 100.0, errors[1] * 100.0);
        let gains = self.gains();
        let near = gains.iter().all(|(published, (ours, _))| Bound::Points(10.0).holds(*published, *ours));
        let shown: Vec<String> = gains.iter().map(|(p, (o, _))| format!("{o:+.1}% ({p:+.1}%)")).collect();
        let (_, [(linear, _), (quadratic, _)]) = self.parts();
        let why = "the model's quadratic part is the spinning itself, the document's is not: \
            docs/reproduction/spin_backoff.md";
        vec![
            Bar::new("wall time of unfitted rows within 6.6%, which a n + b n^2 reaches", found, better, ""),
            Bar::new(
                "back-off's effect within 10 points without a refit, ours (published)",
                shown.join(", "),
                near,
                why,
            ),
            Bar::new(
                "the linear part falls by about 8%, the quadratic one stays",
                format!("linear {linear:+.1}%, quadratic {quadratic:+.1}%"),
                (linear + 8.0).abs() <= 10.0 && quadratic.abs() <= 10.0,
                why,
            ),
        ]
    }

    pub(super) fn beyond(&self) -> Listing {
        let mut listing = Listing::new(
            "What the document did not publish: wall seconds with other locks",
            &["lock", "8 CPUs", "16 CPUs", "32 CPUs", "64 CPUs"],
        );
        for (lock, _) in &self.seconds {
            let cells = (0..CPUS.len()).map(|n| digits(self.wall(lock, n)));
            listing.rows.push([(*lock).to_owned()].into_iter().chain(cells).collect());
        }
        listing
    }

    pub(super) fn plot(&self, _model: &Model) -> Plot {
        let points =
            |wall: &dyn Fn(usize) -> f64| CPUS.iter().enumerate().map(|(n, c)| (f64::from(*c), wall(n))).collect();
        let rows = &self.published.rows;
        let mut series = vec![
            Series { name: "spin lock, published".to_owned(), published: true, points: points(&|n| rows[n].spin[0]) },
            Series { name: "back-off, published".to_owned(), published: true, points: points(&|n| rows[n].backoff[0]) },
        ];
        for (lock, _) in &self.seconds {
            let points = points(&|n| self.wall(lock, n));
            series.push(Series { name: (*lock).to_owned(), published: false, points });
        }
        let title = "All open and read the same file: wall time".to_owned();
        Plot { title, x: "CPUs".to_owned(), y: "seconds".to_owned(), series }
    }
}

/// Returns wall seconds where the owner changes fields on the lock's line, as it does where the lock is an inode's.
pub(super) fn inode(context: &Context<'_>, model: &Model) -> Result<Listing> {
    let locks = [SPIN, BACK_OFF];
    let run = |lock, cpus| Run { inode: true, ..model.run(context, lock, cpus) };
    let runs: Vec<Run> = locks.iter().flat_map(|&lock| CPUS.map(|cpus| run(lock, cpus))).collect();
    let took = context.pool.map("spin_backoff: fields on the lock's line", &runs, Run::run)?;
    let title = "Wall seconds if the owner changes fields on the lock's line, with the same constants";
    let mut listing = Listing::new(title, &["lock", "8 CPUs", "16 CPUs", "32 CPUs", "64 CPUs"]);
    for (lock, took) in locks.iter().zip(took.chunks(CPUS.len())) {
        let cells = took.iter().map(|took| digits(model.seconds(*took)[0]));
        listing.rows.push([(*lock).to_owned()].into_iter().chain(cells).collect());
    }
    Ok(listing)
}

/// Returns a and b of a n + b n^2 through the measurements at 8 and at 64.
fn parabola([at_8, at_64]: [f64; 2]) -> [f64; 2] {
    let quadratic = (at_64 / 64.0 - at_8 / 8.0) / 56.0;
    [at_8 / 8.0 - 8.0 * quadratic, quadratic]
}

/// Lists a n + b n^2 next to the published wall times.
pub(super) fn baseline(published: &SpinBackoff) -> Listing {
    let wall: Vec<f64> = published.rows.iter().map(|row| row.spin[0]).collect();
    let [a, b] = parabola([wall[0], wall[3]]);
    let mut listing = Listing::new(
        "For comparison: a n + b n^2 through the rows of 8 and 64 CPUs",
        &["CPUs", "published, s", "a n + b n^2, s", "error"],
    );
    for (cpus, wall) in CPUS.into_iter().zip(wall) {
        let n = f64::from(cpus);
        let ours = a * n + b * n * n;
        listing.rows.push(vec![cpus.to_string(), digits(wall), digits(ours), format!("{:+.1}%", change(wall, ours))]);
    }
    listing
}

/// Runs the same workload on a machine of 1024 CPUs.
pub(super) fn to_1024(context: &Context<'_>, model: &Model) -> Result<Scaling> {
    let machine = scaling::machine()?;
    let constants = Constants { acquisitions: 2, ..model.constants };
    let run = |lock, threads| Run {
        machine: Arc::clone(&machine),
        lock,
        threads,
        constants,
        effort: 4_000,
        seed: context.seed,
        watched: false,
        inode: false,
    };
    let runs: Vec<Run> = LOCKS.iter().flat_map(|&lock| COUNTS.map(|threads| run(lock, threads))).collect();
    let took = context.pool.map("spin_backoff: 1024 CPUs", &runs, Run::run)?;
    let mut scaling = Scaling::new("time for an acquisition", "us", "threads");
    for (lock, row) in LOCKS.iter().zip(took.chunks(COUNTS.len())) {
        let acquisitions = |threads: u32| f64::from(threads * constants.acquisitions);
        scaling.push(lock, row.iter().zip(COUNTS).map(|(took, n)| took.wall_ns / 1e3 / acquisitions(n)));
    }
    Ok(scaling)
}

/// Runs the same workload on this machine's CPUs.
pub(super) fn metal(model: &Model) -> Result<Listing> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(64) as u32;
    let mut listing = Listing::new(
        &format!("The workload on metal here, {threads} threads"),
        &["lock", "for an acquisition", "system / wall", "user / wall"],
    );
    let acquisitions = model.constants.acquisitions;
    for lock in LOCKS {
        let shape = model.constants.shape(lock, threads, (40_000 / (threads * acquisitions)).max(2));
        let took = with_lock::<Native, _>(lock, shape);
        let each = took.wall_ns / f64::from(shape.files) / f64::from(threads * acquisitions);
        let share = |ns: f64| format!("{:.2}", ns / took.wall_ns);
        listing.rows.push(vec![lock.to_owned(), figures::time(each), share(took.system_ns), share(took.user_ns)]);
    }
    Ok(listing)
}

impl WithLock<Native> for Shape {
    type Out = Took;

    fn with<L: Lock<()>>(self) -> Took {
        let group = group::<Native, L>(self, ());
        here(&group);
        group.took()
    }
}
