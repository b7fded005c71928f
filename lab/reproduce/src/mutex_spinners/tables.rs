//! The published rows next to ours; the chain; the same workload here.

use super::NAME;
use super::markov::chain;
use super::model::{CROWDED_NODES, DIRECTORIES, LATER, Model, TODAY, VARIANTS, busy, is_fitted, seeds, share, users};
use crate::Context;
use crate::aim7_runs::{Run, Sample};
use crate::mean::change;
use crate::report::{Bar, Bound, Claim, Listing, Plot, Row, Series, Table, Verdict, figure as digits};
use anyhow::{Context as _, Result, anyhow};
use turnwise_aim7::{self, Outcome, Set, Setup, Workfile};
use turnwise_bench::published::{self, MutexSpinners, WorkloadRow};
use turnwise_lineage::linux_mutex::{LinuxMutex, Patch1, Patch1And2};

/// A change below this is none, per cent.
const NOTHING: f64 = 5.0;
const SIGN: Bound = Bound::Sign(NOTHING);

/// All rows with all locks.
pub(super) struct Cells {
    published: MutexSpinners,
    /// For each published row, the three kernels and today's locks.
    samples: Vec<Vec<Sample>>,
}

impl Cells {
    pub(super) fn run(context: &Context<'_>, model: &Model) -> Result<Cells> {
        let locks = [VARIANTS[0], VARIANTS[1], VARIANTS[2], TODAY];
        let rows = &model.published.rows;
        let run = |row: usize, locks| {
            let nodes = rows[row].nodes;
            // No row is judged by today's locks.
            let most = if locks == TODAY { context.choose(1, 3) } else { u64::MAX };
            (model.run(context, "fserver", locks, nodes, users(&rows[row].users)), seeds(context, nodes).min(most))
        };
        let runs: Vec<(Run, u64)> = (0..rows.len()).flat_map(|row| locks.map(|locks| run(row, locks))).collect();
        let mut samples = Sample::run_enough(context, "mutex_spinners: fserver", &runs)?.into_iter();
        let samples = rows.iter().map(|_| samples.by_ref().take(locks.len()).collect()).collect();
        Ok(Cells { published: model.published.clone(), samples })
    }

    fn jpm(&self, row: usize, column: usize) -> f64 {
        self.samples[row][column].mean(|outcome| outcome.jpm)
    }

    pub(super) fn throughput(&self) -> Result<Table> {
        let mut rows = Vec::new();
        for (n, published) in self.published.rows.iter().enumerate() {
            for (column, variant) in ["baseline", "patch 1", "patches 1 and 2"].into_iter().enumerate() {
                let label = format!("{} users, nodes: {}, {variant}", published.users, published.nodes);
                let row = Row::of(format!("{NAME}.rows[{n}].jpm[{column}]"), label)?;
                let fitted = is_fitted(&published.users, published.nodes, column);
                let row = row.today(self.jpm(n, 3).round()).within(Bound::Share(0.25)).fitted_if(fitted);
                let row = row.routine_if(published.nodes < CROWDED_NODES);
                rows.push(self.samples[n][column].fill(row, |outcome| outcome.jpm.round()));
            }
        }
        let today = Some("the locks of turnwise throughout".to_owned());
        Ok(Table { title: "AIM7 fserver".to_owned(), unit: "jobs/min".to_owned(), today, rows })
    }

    pub(super) fn changes(&self) -> Result<Table> {
        let mut rows = Vec::new();
        for (n, published) in self.published.rows.iter().enumerate() {
            let label = format!("{} users, {} nodes, patch 1 to patches 1 and 2", published.users, published.nodes);
            let row = Row::of(format!("{NAME}.rows[{n}].change_1_to_2"), label)?;
            rows.push(match is_fitted(&published.users, published.nodes, 2) {
                true => self.change(row, n, [1, 2]).unjudged("follows: the second was fitted"),
                false => self.change(row, n, [1, 2]),
            });
            let key = format!("{NAME}.rows[{n}].jpm[1] / jpm[0]");
            let label = format!("{} users, {} nodes, baseline to patch 1", published.users, published.nodes);
            let row = Row::derived(key, label, change(published.jpm[0], published.jpm[1]));
            rows.push(self.change(row, n, [0, 1]));
        }
        Ok(Table { title: "What the patches change".to_owned(), unit: "%".to_owned(), today: None, rows })
    }

    /// Returns the row, filled with the change of throughput between two columns.
    fn change(&self, row: Row, n: usize, [before, after]: [usize; 2]) -> Row {
        let samples = &self.samples[n];
        let (ours, error) = samples[after].change_from(&samples[before], |outcome| outcome.jpm);
        let routine = self.published.rows[n].nodes < CROWDED_NODES;
        row.ours(ours).give_or_take(error).within(Bound::Points(10.0)).routine_if(routine)
    }

    /// Returns the table at 1500 users on 8 nodes: the first row.
    pub(super) fn profile(&self) -> Result<Table> {
        const SMALL: Bound = Bound::ShareOrPoints(0.25, 1.0);
        let mut rows = Vec::new();
        for (n, published) in self.published.profile.iter().enumerate() {
            let names = functions(&published.function);
            for (column, variant) in ["baseline", "patch 1", "patches 1 and 2"].into_iter().enumerate() {
                let key = format!("{NAME}.profile[{n}].percent[{column}]");
                let row = Row::of(key, format!("{}, {variant}", published.function))?;
                rows.push(match row.published {
                    Some(_) => self.samples[0][column].fill(row.within(SMALL), |outcome| busy(outcome, names)),
                    None => row.remark("this kernel has none"),
                });
            }
        }
        let (looking, queueing) = (functions("mutex_spin_on_owner"), functions("mspin_lock"));
        let sum = |outcome: &Outcome| busy(outcome, looking) + busy(outcome, queueing);
        let labels = ["both of a mutex's, patch 1", "both of a mutex's, patches 1 and 2"];
        for (n, label) in labels.into_iter().enumerate() {
            let row = Row::of(format!("{NAME}.mutex_percent[{n}]"), label)?.within(SMALL);
            let row = self.samples[0][n + 1].fill(row, sum);
            rows.push(if n == 0 { row.unjudged("is mutex_spin_on_owner, patch 1") } else { row });
        }
        let row = Row::of(format!("{NAME}.queued_for_one_that_spins"), "threads that queue for one that looks, ratio")?;
        let ratio = share(&self.samples[0][2], queueing) / share(&self.samples[0][2], looking).max(f64::MIN_POSITIVE);
        rows.push(row.ours(ratio).within(Bound::Share(0.25)));
        let title = "Where the time goes at 1500 users on 8 nodes".to_owned();
        Ok(Table { title, unit: "% of busy time".to_owned(), today: None, rows })
    }

    pub(super) fn bars(&self, workloads: &Table) -> Vec<Bar> {
        let peaks: Vec<u32> = (0..3).map(|column| self.peak(column)).collect();
        let falls = (0..3).all(|column| self.jpm(0, column) < self.jpm(1, column));
        let (met, all) = judged(workloads);
        let why = "see docs/reproduction/mutex_spinners.md: what everybody waits for on 4 nodes and more";
        vec![
            Bar::new(
                "throughput peaks at 4 nodes in all columns",
                format!("at {peaks:?} nodes"),
                peaks == [4, 4, 4],
                why,
            ),
            Bar::new(
                "it falls from 4 to 8 nodes in all columns",
                (0..3)
                    .map(|c| format!("{:+.0}%", change(self.jpm(1, c), self.jpm(0, c))))
                    .collect::<Vec<_>>()
                    .join(", "),
                falls,
                why,
            ),
            Bar::new(
                "the sign is right in every row of the second table (below 5%: none)",
                format!("{met} of {all} cells"),
                met == all,
                why,
            ),
        ]
    }

    /// Returns the change from patch 1 to both patches in these rows, per cent: published and ours.
    fn queueing<const N: usize>(&self, rows: [usize; N]) -> [(f64, f64); N] {
        let jpm = |row: usize| self.published.rows[row].jpm;
        rows.map(|row| (change(jpm(row)[1], jpm(row)[2]), change(self.jpm(row, 1), self.jpm(row, 2))))
    }

    pub(super) fn claims(&self) -> Vec<Claim> {
        let [(published, ours)] = self.queueing([0]);
        let many = Verdict::of(Bound::Points(10.0).holds(published, ours), ours > NOTHING);
        let nothing = |what: &str, changes: &[(f64, f64)]| {
            let list = |of: fn(&(f64, f64)) -> f64| {
                changes.iter().map(|change| format!("{:+.0}%", of(change))).collect::<Vec<_>>().join(", ")
            };
            let holds = changes.iter().all(|(_, ours)| ours.abs() < NOTHING);
            Claim::new(what, list(|change| change.0), list(|change| change.1), Verdict::of(holds, false))
        };
        let falls = [0, 1, 2].map(|column| {
            let published = &self.published.rows;
            let said = change(published[1].jpm[column], published[0].jpm[column]);
            (said, change(self.jpm(1, column), self.jpm(0, column)))
        });
        let fall = |of: fn((f64, f64)) -> f64| falls.map(|fall| format!("{:.0}%", of(fall))).join(", ");
        let near = falls.iter().all(|(published, ours)| Bound::Points(10.0).holds(*published, *ours));
        let below = falls.iter().all(|(_, ours)| *ours < -NOTHING);
        let [looking, queueing] =
            ["mutex_spin_on_owner", "mspin_lock"].map(|name| share(&self.samples[0][2], functions(name)));
        let ratio = queueing / looking.max(f64::MIN_POSITIVE);
        vec![
            Claim::new(
                "spinners that queue help on 8 nodes with many users",
                format!("{published:+.0}%"),
                format!("{ours:+.0}%"),
                many,
            ),
            nothing("they change nothing on 1 and 2 nodes", &self.queueing([3, 2, 7, 6])),
            nothing("nor on 4 nodes", &self.queueing([1, 5])),
            Claim::new(
                "throughput falls from 4 to 8 nodes, with every kernel",
                fall(|fall| fall.0),
                fall(|fall| fall.1),
                Verdict::of(near, below),
            ),
            Claim::new(
                "about four threads queue for one that spins on the owner",
                digits(self.published.queued_for_one_that_spins),
                format!("{ratio:.1}"),
                Verdict::of(Bound::Share(0.25).holds(self.published.queued_for_one_that_spins, ratio), ratio > 1.0),
            ),
        ]
    }

    /// Returns the number of nodes with the most jobs, 1100-2000 users.
    fn peak(&self, column: usize) -> u32 {
        let most = (0..4).max_by(|a, b| self.jpm(*a, column).total_cmp(&self.jpm(*b, column))).unwrap_or(0);
        self.published.rows[most].nodes
    }

    pub(super) fn chain(&self) -> Result<Listing> {
        let title =
            "For comparison: one lock as a Markov chain through 1, 4 and 8 nodes; error of 2 nodes, 1100-2000 users";
        let mut listing =
            Listing::new(title, &["column", "1 node", "2 nodes", "4 nodes", "8 nodes", "error at 2", "ours at 2"]);
        for (column, variant) in ["baseline", "patch 1", "patches 1 and 2"].into_iter().enumerate() {
            let rows = &self.published.rows;
            let wanted = [3, 2, 1, 0].map(|row| rows[row].jpm[column]);
            let found = chain(wanted)?;
            let mut cells = vec![variant.to_owned()];
            cells.extend(found.iter().map(|jpm| digits(jpm.round())));
            cells.push(format!("{:+.1}%", change(wanted[1], found[1])));
            cells.push(format!("{:+.1}%", change(wanted[1], self.jpm(2, column))));
            listing.rows.push(cells);
        }
        Ok(listing)
    }

    pub(super) fn plot(&self) -> Plot {
        let rows = [3, 2, 1, 0];
        let nodes = |row: usize| f64::from(self.published.rows[row].nodes);
        let mut series = Vec::new();
        for (column, name) in ["baseline", "patch 1", "patches 1 and 2"].into_iter().enumerate() {
            let said = rows.map(|row| (nodes(row), self.published.rows[row].jpm[column]));
            series.push(Series { name: name.to_owned(), published: true, points: said.to_vec() });
        }
        for (column, name) in ["baseline", "patch 1", "patches 1 and 2", "turnwise"].into_iter().enumerate() {
            let ours = rows.map(|row| (nodes(row), self.jpm(row, column)));
            series.push(Series { name: name.to_owned(), published: false, points: ours.to_vec() });
        }
        let title = "AIM7 fserver, 1100-2000 users".to_owned();
        Plot { title, x: "nodes of 10 CPUs".to_owned(), y: "jobs/min".to_owned(), series }
    }
}

fn judged(table: &Table) -> (usize, usize) {
    let met: Vec<bool> = table.rows.iter().filter_map(Row::met).collect();
    (met.iter().filter(|met| **met).count(), met.len())
}

/// Ours for a kernel's function.
fn functions(kernel: &str) -> &'static [&'static str] {
    match kernel {
        "__read_lock_failed" => &["BiasedRwLock::read_failed"],
        "__write_lock_failed" => &["BiasedRwLock::write_failed"],
        "mutex_spin_on_owner" => &["LinuxMutex::spin_on_owner"],
        "mspin_lock" => &["SpinnerQueue::enter"],
        "__mutex_lock_slowpath" => &[
            "LinuxMutex::lock_slow",
            "LinuxMutex::lock_asleep",
            "LinuxMutex::claim",
            "LinuxMutex::spin_round",
            "LinuxMutex::exchange",
        ],
        _ => &["KernelTicketLock"],
    }
}

/// Runs every workload with the second patch and without it, on 8 nodes.
pub(super) fn workloads(context: &Context<'_>, model: &Model) -> Result<Table> {
    const RANGES: [&str; 3] = ["10-100", "200-1000", "1100-2000"];
    // In the short version, those that the paper has a difference for, where the crowd is there soonest.
    let wanted = |workload: &WorkloadRow| -> &[usize] {
        let differs = workload.change[1].abs() >= NOTHING;
        context.choose(if differs { &[1] } else { &[] }, &[0, 1, 2])
    };
    let count = seeds(context, 8).min(2);
    let mut runs = Vec::new();
    for workload in &model.published.workloads {
        let name = named(&workload.name)?;
        for &range in wanted(workload) {
            let run = |locks| model.run(context, name, locks, 8, users(RANGES[range]));
            let run = |locks| (if name == WHOLE { from_start_to_end(context, run(locks)) } else { run(locks) }, count);
            runs.extend([VARIANTS[1], VARIANTS[2]].map(run));
        }
    }
    let samples = Sample::run_all(context, "mutex_spinners: workloads", &runs)?;
    let mut pairs = samples.chunks(2);
    let mut rows = Vec::new();
    for (n, workload) in model.published.workloads.iter().enumerate() {
        for (range, users) in RANGES.into_iter().enumerate() {
            let row =
                Row::of(format!("{NAME}.workloads[{n}].change[{range}]"), format!("{}, {users} users", workload.name))?;
            let row = row.within(SIGN);
            rows.push(match wanted(workload).contains(&range) {
                true => {
                    let pair = pairs.next().context("a pair of runs for each cell")?;
                    let (ours, error) = pair[1].change_from(&pair[0], |outcome| outcome.jpm);
                    let nothing = workload.change[range].abs() < NOTHING && ours.abs() < NOTHING;
                    let row = row.ours(ours).give_or_take(error);
                    if nothing { row.remark("nothing published, nothing found") } else { row }
                }
                false => row.remark("left out (--quick)"),
            });
        }
    }
    let title = "Other workloads on 8 nodes, patch 1 to patches 1 and 2".to_owned();
    Ok(Table { title, unit: "%".to_owned(), today: None, rows })
}

/// The mix whose users meet at mutexes only as they start and end (`anon_vma`, the areas of the files that they map).
const WHOLE: &str = "short";

/// Returns the same run from the first job to the last of all users, each job whole: in a window no user starts or
/// ends, and of jobs of a 50th starts and ends would be too large a part.
fn from_start_to_end(context: &Context<'_>, run: Run) -> Run {
    if context.least { run } else { Run { whole: true, scale: 1, ..run } }
}

fn named(name: &str) -> Result<&'static str> {
    let all = ["alltests", "five_sec", "high_systime", "new_fserver", "shared", "short"];
    all.into_iter().find(|known| *known == name).with_context(|| format!("no workfile {name}"))
}

/// Few users, and what the second patch costs in memory.
pub(super) fn in_words(context: &Context<'_>, model: &Model) -> Result<Table> {
    let few = VARIANTS.map(|locks| (model.run(context, "fserver", locks, 8, users("10-100")), seeds(context, 8)));
    let few = Sample::run_enough(context, "mutex_spinners: few users", &few)?;
    let change = |(column, variant): (usize, &str)| {
        let (ours, error) = few[column].change_from(&few[0], |outcome| outcome.jpm);
        let key = format!("{NAME}.note_low_users: column {column} / column 0");
        let row = Row::derived(key, format!("50 users, 8 nodes, baseline to {variant}, %"), 0.0);
        row.ours(ours).give_or_take(error).within(Bound::Points(1.0))
    };
    let bytes = size_of::<LinuxMutex<Patch1And2>>() - size_of::<LinuxMutex<Patch1>>();
    let of = |word: &str, label: &str| Row::of(format!("{NAME}.size_cost_bytes.{word}"), format!("bytes, {label}"));
    let wide = cfg!(target_pointer_width = "64");
    let (this, other) = if wide { ("bits64", "bits32") } else { ("bits32", "bits64") };
    let without = size_of::<LinuxMutex<turnwise_lineage::linux_mutex::NoSpin>>() - size_of::<LinuxMutex<Patch1>>();
    let mut rows = vec![
        Row::of(format!("{NAME}.note_low_users"), "few users")?.remark("the next two rows"),
        change((1, "patch 1")),
        change((2, "patches 1 and 2")),
        Row::of(format!("{NAME}.other_kernel"), "another kernel")?.remark("the row in which 3.8 has patches 1 and 2"),
        of(this, "of the second patch, this architecture")?
            .ours(bytes as f64)
            .within(Bound::Share(0.0))
            .routine_if(true),
        of(other, "of the second patch, the other")?.remark("a pointer; not built here"),
        of("spin_on_owner_off", "compiled without spinning")?.ours(without as f64).within(Bound::Points(0.0)),
    ];
    rows.extend(other_kernel(context, model)?);
    Ok(Table { title: "In words, and sizes".to_owned(), unit: "as named".to_owned(), today: None, rows })
}

/// Measures what the patches do to a kernel whose `anon_vma` is a mutex and to one where it is an rwsem, on 8 nodes:
/// the second with many users, the first to `high_systime`, which forks most.
fn other_kernel(context: &Context<'_>, model: &Model) -> Result<Vec<Row>> {
    const PAIRS: [(&str, &str, [&str; 2]); 3] = [
        ("fserver", "1100-2000", [LATER[1], LATER[2]]),
        ("high_systime", "200-1000", [VARIANTS[0], VARIANTS[1]]),
        ("high_systime", "200-1000", [LATER[0], LATER[1]]),
    ];
    let count = seeds(context, 8).min(3);
    let pair = |(workfile, range, kernels): (&'static str, &str, [&'static str; 2])| {
        // Jobs that fork are long: in a shorter window none may end.
        let of = |run: Run| Run { measured_ns: run.measured_ns.max(5_000_000), ..run };
        kernels.map(|locks| (of(model.run(context, workfile, locks, 8, users(range))), count))
    };
    let samples = Sample::run_all(context, "mutex_spinners: another kernel", &PAIRS.map(pair).concat())?;
    let filled = |row: Row, n: usize| {
        let (ours, error) = samples[2 * n + 1].change_from(&samples[2 * n], |outcome| outcome.jpm);
        row.ours(ours).give_or_take(error)
    };
    let many = published::claim(&format!("{NAME}.rows[0].change_1_to_2"))?.number.unwrap_or_default();
    let label = "1100-2000 users, 8 nodes, 3.8, patch 1 to patches 1 and 2, %";
    let similar = Row::derived(format!("{NAME}.other_kernel: as rows[0].change_1_to_2"), label, many);
    let systime = |kernel: &str, words: &str| {
        let key = format!("{NAME}.patch_1_on_high_systime.{kernel}");
        Ok::<_, anyhow::Error>(Row::of(key, format!("high_systime, 600 users, 8 nodes, {words}, %"))?.within(SIGN))
    };
    Ok(vec![
        filled(similar.within(Bound::Points(10.0)), 0),
        filled(systime("kernel_3_7", "3.7, baseline to patch 1")?, 1).remark("published: more than 3 times"),
        filled(systime("kernel_3_8", "3.8, baseline to patch 1")?, 2),
    ])
}

/// Runs with the files elsewhere: in one directory, and in as many file systems as directories, on 4 and 8 nodes.
pub(super) fn placements(context: &Context<'_>, model: &Model) -> Result<Listing> {
    const PLACES: [(u32, u32); 3] = [(1, 1), (DIRECTORIES, 1), (DIRECTORIES, DIRECTORIES)];
    let title = format!(
        "Other places of the files, patches 1 and 2, 1100-2000 users, with the constants of {DIRECTORIES} directories \
         in one file system"
    );
    let columns = ["directories", "file systems", "nodes", "jobs/min", "slow paths of the rwlock, %", "mutex, %"];
    let mut listing = Listing::new(&title, &columns);
    let mut runs = Vec::new();
    for (directories, file_systems) in PLACES {
        let run = |nodes| model.run(context, "fserver", VARIANTS[2], nodes, users("1100-2000"));
        // In a listing nothing is judged.
        let shorter = |run: Run| Run { measured_ns: run.measured_ns.min(40_000_000), ..run };
        let place = |nodes| Run { directories, file_systems, ..shorter(run(nodes)) };
        runs.extend([4, 8].map(|nodes| (place(nodes), seeds(context, nodes))));
    }
    let samples = Sample::run_enough(context, "mutex_spinners: places", &runs)?;
    for ((run, _), sample) in runs.iter().zip(&samples) {
        let rwlock = share(sample, &["BiasedRwLock::read_failed", "BiasedRwLock::write_failed"]);
        let jpm = sample.mean(|outcome| outcome.jpm).round();
        let figures = [jpm, rwlock, share(sample, &["LinuxMutex", "SpinnerQueue"])].map(digits);
        let place = [run.directories, run.file_systems, run.nodes].map(|count| count.to_string());
        listing.rows.push(place.into_iter().chain(figures).collect());
    }
    Ok(listing)
}

/// Runs the same workload on this machine's CPUs.
pub(super) fn metal(context: &Context<'_>, model: &Model) -> Result<Listing> {
    let users = context.choose(4, 16);
    let mut listing = Listing::new(
        &format!("The workload on metal here, {users} users, jobs of a 50th"),
        &["locks", "jobs/min", "CPU ms for a job"],
    );
    for locks in [VARIANTS[0], VARIANTS[1], VARIANTS[2], TODAY] {
        let workfile = Workfile::load("fserver").map_err(|fault| anyhow!("{fault:?}"))?;
        let mut setup = Setup { scale: 50, sleeps: false, ..Setup::new(workfile) };
        setup.compute_ns = model.constants.compute_ns as u32;
        let locks = Set::find(locks).with_context(|| format!("no set of locks '{locks}'"))?;
        let outcome = turnwise_aim7::run(&setup, locks, users)?;
        let figures = [outcome.jpm.round(), outcome.cpu_ms_per_job].map(digits);
        listing.rows.push([locks.name.to_owned()].into_iter().chain(figures).collect());
    }
    Ok(listing)
}
