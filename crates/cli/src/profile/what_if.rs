//! `--what-if-cpus`: the recorded program's locks on a simulated machine with more CPUs.

use anyhow::{Context, Result, bail};
use std::fmt::Write;
use std::sync::Arc;
use turnwise_forecast::{Crowd, Forecast, Locks, MOST_LOCKS, Program, Site, replay};
use turnwise_preload_abi::Policy;
use turnwise_present::figures::scaled;
use turnwise_present::table::{self, CellAlignment, Table};
use turnwise_profile::advice::at_once;
use turnwise_profile::model::{
    Design, Distribution, LockId, LockKind, Profile, Scaling, ScalingCheck, ScalingPoint, Thread,
};
use turnwise_profile::output::scaling::sentences;
use turnwise_profile::text::shortened;
use turnwise_sim::spec::{self, Machine};

/// Hypothetical machines.
#[derive(clap::Args)]
pub(crate) struct WhatIf {
    /// Replay the recorded locks on a simulated machine with up to N CPUs, a thread on each
    #[arg(long = "what-if-cpus", value_name = "N", value_parser = clap::value_parser!(u32).range(1..),
          conflicts_with_all = ["futex", "pid"])]
    cpus: Option<u32>,
    /// The simulated machine: a name or a file, as for turnwise-lab sim [default: graviton4, or mesh-1024 if more CPUs
    /// are needed]
    #[arg(long = "what-if-machine", value_name = "MACHINE", requires = "cpus")]
    machine: Option<String>,
}

/// The share of waiting time above which threads have reached a wall.
const WALL: f64 = 0.5;
const SEED: u64 = 1;
/// The width of the report.
const COLUMNS: usize = 100;
/// The width of a lock's name in the table, which has two per line.
const NAME: usize = 18;

/// The designs of locks that are compared: the text after "with", and a short title.
const DESIGNS: [(Locks, &str, &str); 2] = [
    (Locks::Sleeping, "locks that sleep, as the C library's", "locks that sleep"),
    (Locks::Adaptive, "Turnwise's locks", "Turnwise"),
];

/// The requirements of a replay.
pub(super) const NEEDS: &str = "a profile of waits alone, or of a program that ran already, has no acquisitions and \
                                hold times to replay; profile a program with pthread locks, without --futex, --pid \
                                or --waits";

pub(super) struct Question {
    cpus: u32,
    machine: Arc<Machine>,
}

impl WhatIf {
    /// Checks the question before the run; fails if there is no such machine, or it is too small.
    pub(super) fn ask(&self) -> Result<Option<Question>> {
        let Some(cpus) = self.cpus else { return Ok(None) };
        let machine = self.machine(cpus)?;
        let has = machine.topology.cpus();
        if cpus > has {
            bail!(
                "--what-if-cpus {cpus}: the machine {} has {has} CPUs; ask for fewer, or name a larger one with \
                 --what-if-machine",
                machine.name
            );
        }
        Ok(Some(Question { cpus, machine: Arc::new(machine) }))
    }

    fn machine(&self, cpus: u32) -> Result<Machine> {
        if let Some(name) = &self.machine {
            return spec::load(name).with_context(|| format!("--what-if-machine {name}"));
        }
        let first = spec::load("graviton4")?;
        Ok(if first.topology.cpus() >= cpus { first } else { spec::load("mesh-1024")? })
    }
}

impl Question {
    /// Replays the recording; fails if the program took no locks.
    pub(super) fn forecast(&self, profile: &Profile) -> Result<Scaling> {
        if !profile.recording.knows_acquisitions() {
            bail!("--what-if-cpus: {NEEDS}");
        }
        let machine = &self.machine;
        let recorded = Recorded::of(profile)?;
        let counts = counts(self.cpus);
        let designs = DESIGNS.map(|(locks, name, title)| recorded.design(machine, &counts, locks, name, title));
        Ok(Scaling {
            machine: format!("{} ({})", machine.name, machine.title),
            seed: SEED,
            check: recorded.check(profile, machine)?,
            designs: designs.into_iter().collect::<Result<_>>()?,
        })
    }
}

/// Returns numbers of CPUs, doubling from 2, and finally the requested one.
fn counts(most: u32) -> Vec<u32> {
    let mut counts: Vec<u32> =
        std::iter::successors(Some(2_u32), |n| n.checked_mul(2)).take_while(|n| *n < most).collect();
    counts.push(most);
    counts
}

/// The profile's data, in the simulator's form.
struct Recorded {
    program: Arc<Program>,
    locks: Vec<LockId>,
    crowd: Crowd,
    acquisitions_per_s: f64,
}

impl Recorded {
    fn of(profile: &Profile) -> Result<Recorded> {
        let locks = busiest(profile);
        let place = |lock: LockId| locks.iter().position(|other| *other == lock);
        let sites: Vec<Site> = profile
            .sites
            .iter()
            .filter_map(|site| {
                let of_lock = &profile.locks[site.lock as usize].usage.hold;
                let holds = if site.usage.hold.count > 0 { &site.usage.hold } else { of_lock };
                let acquisitions = site.usage.acquisitions;
                Some(Site { lock: place(site.lock)?, reader: site.reader, acquisitions, holds: middles(holds) })
            })
            .filter(|site| site.acquisitions > 0)
            .collect();
        let acquisitions: u64 = sites.iter().map(|site| site.acquisitions).sum();
        if acquisitions == 0 {
            bail!("--what-if-cpus: the recording has no acquisitions to replay");
        }
        let has_readers = locks.iter().map(|lock| profile.locks[*lock as usize].kind == LockKind::RwLock).collect();
        let mut program = Program { has_readers, sites, think_ns: 0.0 };
        let held_ns = program.hold_ns() * acquisitions as f64;
        program.think_ns = ((running_ns(profile) - held_ns) / acquisitions as f64).max(0.0);
        let threads = together(profile);
        let seconds = profile.program.duration_ns.max(1) as f64 / 1e9;
        Ok(Recorded {
            program: Arc::new(program),
            locks,
            crowd: Crowd { threads, cpus: profile.program.cpus.max(1).min(threads) },
            acquisitions_per_s: acquisitions as f64 / seconds,
        })
    }

    /// Forecasts one design over numbers of CPUs.
    fn design(&self, machine: &Arc<Machine>, counts: &[u32], locks: Locks, name: &str, title: &str) -> Result<Design> {
        let mut design = Design { name: name.to_owned(), title: title.to_owned(), ..Design::default() };
        for &cpus in counts {
            let forecast = replay(&self.program, machine, Crowd { threads: cpus, cpus }, locks, SEED)?;
            let worst = worst(&forecast).map(|(place, share)| (self.locks[place], share));
            if let (None, Some((lock, share))) = (design.wall, worst)
                && share > WALL
            {
                design.wall = Some((cpus, lock));
            }
            design.points.push(ScalingPoint {
                cpus,
                acquisitions_per_s: forecast.acquisitions_per_s,
                waiting: forecast.waiting.iter().sum(),
                lock: worst.filter(|(_, share)| *share > 0.01).map(|(lock, _)| lock),
            });
        }
        Ok(design)
    }

    /// Runs the model at the recorded numbers of threads and CPUs.
    fn check(&self, profile: &Profile, machine: &Arc<Machine>) -> Result<ScalingCheck> {
        let locks = if profile.program.policy == Policy::Libc.name() { Locks::Sleeping } else { Locks::Adaptive };
        Ok(ScalingCheck {
            threads: self.crowd.threads,
            cpus: self.crowd.cpus,
            recorded_per_s: self.acquisitions_per_s,
            model_per_s: replay(&self.program, machine, self.crowd, locks, SEED)?.acquisitions_per_s,
        })
    }
}

/// Formats the forecast for a terminal.
pub(super) fn reported(profile: &Profile, scaling: &Scaling) -> String {
    let points = |design: &Design| design.points.last().map_or(0, |point| point.cpus);
    let mut text = format!("WHAT IF THERE WERE {} CPUS\n", scaling.designs.first().map_or(0, points));
    let machine = &scaling.machine;
    let said = format!("simulated: a thread on each CPU of {machine}, each as busy as a recorded one");
    let _ = writeln!(text, "{}\n", textwrap::fill(&format!("{said}; seed {}", scaling.seed), COLUMNS));
    let _ = writeln!(text, "{}\n", table(profile, scaling));
    for sentence in sentences(profile, scaling) {
        let _ = writeln!(text, "{}", textwrap::fill(&sentence, COLUMNS));
    }
    text
}

/// Returns the locks that are held most.
fn busiest(profile: &Profile) -> Vec<LockId> {
    let mut locks: Vec<LockId> = (0..profile.locks.len() as LockId).collect();
    locks.sort_by_key(|lock| std::cmp::Reverse(profile.locks[*lock as usize].usage.hold_total_ns));
    locks.truncate(MOST_LOCKS);
    locks
}

/// Replaces each bucket's bound by the bucket's middle.
fn middles(times: &Distribution) -> Vec<(u64, u64)> {
    let mut below = 0;
    let mut middles = Vec::new();
    for &(bound, count) in &times.buckets {
        let bound = bound.min(times.max_ns);
        middles.push((below + bound.saturating_sub(below) / 2, count));
        below = bound;
    }
    middles
}

/// Returns the time that threads ran: when they waited neither for a lock or a condition nor, if threads outnumber
/// CPUs, for a CPU.
fn running_ns(profile: &Profile) -> f64 {
    let alive: u64 = profile.threads.iter().map(Thread::alive_ns).sum();
    let waited: u64 = profile.threads.iter().map(|thread| thread.usage.wait.sum_ns).sum();
    let conditions: u64 = profile.conditions.iter().map(|condition| condition.wait.sum_ns).sum();
    let most = profile.program.duration_ns as f64 * f64::from(profile.program.cpus.max(1));
    (alive.saturating_sub(waited + conditions) as f64).min(most)
}

/// Returns the most threads that existed at the same time.
fn together(profile: &Profile) -> u32 {
    let busy = profile.threads.iter().filter(|thread| thread.usage.acquisitions > 1);
    u32::try_from(at_once(busy).max(1)).unwrap_or(u32::MAX)
}

/// Returns the lock that threads wait for most, and the share of their time.
fn worst(forecast: &Forecast) -> Option<(usize, f64)> {
    forecast.waiting.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))
}

fn table(profile: &Profile, scaling: &Scaling) -> Table {
    let mut table = table::ruled();
    let titles = scaling.designs.iter().flat_map(|design| {
        let title = design.title.trim_start_matches("locks that ").replace("sleep", "sleeping");
        [format!("{title}: per s"), "waiting".to_owned(), "mostly for".to_owned()]
    });
    table.set_header(["CPUs".to_owned()].into_iter().chain(titles));
    let rows = scaling.designs.iter().map(|design| design.points.len()).min().unwrap_or(0);
    for row in 0..rows {
        let mut cells = vec![scaling.designs[0].points[row].cpus.to_string()];
        for point in scaling.designs.iter().map(|design| &design.points[row]) {
            cells.push(scaled(point.acquisitions_per_s));
            cells.push(format!("{:.0}%", point.waiting * 100.0));
            cells.push(point.lock.map_or("-".to_owned(), |lock| shortened(&profile.locks[lock as usize].name, NAME)));
        }
        table.add_row(cells);
    }
    for column in [0, 1, 2, 4, 5] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnwise_profile::model::{Lock, Program as Ran, Site as RecordedSite, Usage};

    /// Returns a profile of four threads for 10 ms on 2 CPUs; one mutex is held half of the time that they run.
    fn profile() -> Profile {
        let hold = Distribution { count: 100, sum_ns: 100_000, max_ns: 1_200, buckets: vec![(1_200, 100)] };
        let usage = |acquisitions, hold| Usage { acquisitions, hold, hold_total_ns: 10_000_000, ..Usage::default() };
        let thread =
            || Thread { began_ns: 0, ended_ns: 10_000_000, usage: usage(4_000, hold.clone()), ..Thread::default() };
        Profile {
            program: Ran { duration_ns: 10_000_000, cpus: 2, policy: "libc".to_owned(), ..Ran::default() },
            threads: (0..4).map(|_| thread()).collect(),
            locks: vec![Lock { name: "hot".to_owned(), usage: usage(16_000, hold.clone()), ..Lock::default() }],
            sites: vec![RecordedSite { usage: usage(16_000, hold), ..RecordedSite::default() }],
            ..Profile::default()
        }
    }

    #[test]
    fn computing_is_what_neither_waits_nor_holds() {
        let recorded = Recorded::of(&profile()).unwrap();
        // 2 CPUs for 10 ms less 16,000 times 600 ns (the bucket's middle).
        assert!((recorded.program.think_ns - (20e6 - 9.6e6) / 16e3).abs() < 1.0, "{:?}", recorded.program);
        assert_eq!((recorded.crowd.threads, recorded.crowd.cpus), (4, 2));
        assert!((recorded.acquisitions_per_s - 1.6e6).abs() < 1.0);
    }

    #[test]
    fn the_wall_is_named_with_the_models_error() {
        let mut profile = profile();
        profile.locks[0].name = format!("hot{}\u{1b}[2J", "::inner".repeat(12));
        let mut scaling = ask(16, None).unwrap().unwrap().forecast(&profile).unwrap();
        let text = reported(&profile, &scaling);
        assert!(text.contains("No verdict: the model is off") && !text.contains("bottleneck"), "{text}");
        scaling.check.recorded_per_s = scaling.check.model_per_s;
        assert!(table(&profile, &scaling).to_string().lines().all(|line| line.chars().count() <= COLUMNS));
        assert!(!table(&profile, &scaling).to_string().contains('\u{1b}'));
        profile.locks[0].name = "hot".to_owned();
        let [sleeping, _] = &scaling.designs[..] else { panic!("two designs") };
        assert_eq!(sleeping.points.iter().map(|point| point.cpus).collect::<Vec<_>>(), [2, 4, 8, 16]);
        assert!(sleeping.points.iter().all(|point| point.acquisitions_per_s > 0.0 && point.waiting <= 1.0));
        let text = reported(&profile, &scaling);
        assert!(text.contains("`hot` is the first bottleneck"), "{text}");
        assert!(text.contains("with 4 threads on 2 CPUs it gives"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        let wall = scaling.designs[0].wall;
        (profile.schema, profile.scaling) = (turnwise_profile::model::SCHEMA, Some(scaling));
        let mut json = Vec::new();
        turnwise_profile::output::by_flag("json").unwrap().write(&profile, &mut json).unwrap();
        let again = turnwise_profile::output::json::read(&json).unwrap().scaling.unwrap();
        assert_eq!((again.designs[0].wall, again.designs[1].points.len()), (wall, 4));
    }

    fn ask(cpus: u32, machine: Option<&str>) -> Result<Option<Question>> {
        WhatIf { cpus: Some(cpus), machine: machine.map(str::to_owned) }.ask()
    }

    #[test]
    fn what_cannot_be_answered_is_said_before_the_run() {
        let reported = |cpus, machine| format!("{:#}", ask(cpus, machine).err().expect("a refusal"));
        assert!(reported(4, Some("pdp-11")).contains("--what-if-machine pdp-11"));
        let large = reported(4096, None);
        assert!(large.contains("--what-if-cpus 4096") && large.contains("1024 CPUs"), "{large}");
        assert!(WhatIf { cpus: None, machine: None }.ask().unwrap().is_none());
    }

    #[test]
    fn nothing_to_replay_is_an_error() {
        let error = ask(4, None).unwrap().unwrap().forecast(&Profile::default()).unwrap_err();
        assert!(error.to_string().contains("no acquisitions"), "{error}");
    }

    #[test]
    fn counts_double_up_to_what_was_asked() {
        assert_eq!(
            (counts(2), counts(64), counts(80)),
            (vec![2], vec![2, 4, 8, 16, 32, 64], vec![2, 4, 8, 16, 32, 64, 80])
        );
    }
}
