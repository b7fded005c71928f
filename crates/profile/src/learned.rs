//! Orders of locks over several runs: each alone may have no cycle, and all together have one.
//!
//! A lock is known in other runs by its class: its variable, or the place where it was made or is mostly taken. Locks
//! of one class, such as the elements of an array, have no order among them here. Where one run has all orders of a
//! cycle, its own search decides, which knows its threads.

use crate::analysis::cycles::{self, LONGEST, Step};
use crate::hazards::{Hazard, HazardStep, name, of_cycle};
use crate::model::{CycleStep, LockId, Profile, SiteId};
use crate::output::names;
use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use turnwise_present::json;

/// The version of the file, which grows with every change that a reader must know.
const SCHEMA: u32 = 1;

/// The orders of all runs so far.
#[derive(Serialize, Deserialize)]
pub struct Learned {
    lock_orders_schema: u32,
    runs: Vec<Run>,
}

/// The orders of one process.
#[derive(Serialize, Deserialize)]
struct Run {
    program: String,
    #[serde(skip)]
    pid: u32,
    orders: Vec<Order>,
}

#[derive(Serialize, Deserialize)]
struct Order {
    #[serde(flatten)]
    way: Way,
    /// How often the second lock was taken at its site.
    times: u64,
    /// Threads that did so, by their number in the run, with their names; no more than a cycle has steps.
    threads: Vec<(u32, String)>,
}

/// A way to take one lock while holding another.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Way {
    held: Mode,
    held_at: String,
    taken: Mode,
    taken_at: String,
    /// All locks that are held then.
    guards: BTreeSet<Mode>,
}

/// The class of a lock, and whether it is held or taken only for reading.
type Mode = (String, bool);

impl Default for Learned {
    fn default() -> Learned {
        Learned { lock_orders_schema: SCHEMA, runs: Vec::new() }
    }
}

impl Learned {
    /// Reads what an earlier run has written.
    ///
    /// # Errors
    /// It is another file, or one of another version.
    pub fn read(text: &str) -> Result<Learned> {
        let learned: Learned = json::read(text)?;
        let schema = learned.lock_orders_schema;
        ensure!(schema == SCHEMA, "its orders have version {schema}, this program has {SCHEMA}");
        Ok(learned)
    }

    /// Adds the processes of a run. Returns the cycles that it has together with others, and no process alone; and
    /// whether all were searched.
    pub fn learn(&mut self, profiles: &[Profile]) -> (Vec<Hazard>, bool) {
        let before = self.runs.len();
        self.runs.extend(profiles.iter().map(Run::of).filter(|run| !run.orders.is_empty()));
        let found = across(&self.runs, before);
        // What another run has too is kept once.
        let mut kept: Vec<Run> = Vec::new();
        for run in self.runs.drain(..) {
            if !kept.iter().any(|other| other.includes(&run)) {
                kept.retain(|other| !run.includes(other));
                kept.push(run);
            }
        }
        self.runs = kept;
        found
    }
}

impl Run {
    fn of(profile: &Profile) -> Run {
        let mut orders: BTreeMap<Way, Order> = BTreeMap::new();
        for (way, order) in profile.orders.iter().filter_map(|order| Some((way(profile, order)?, order))) {
            let times = profile.sites[order.taken_at as usize].usage.acquisitions;
            let new = || Order { way: way.clone(), times, threads: Vec::new() };
            let known = orders.entry(way.clone()).or_insert_with(new);
            for thread in &order.threads {
                if known.threads.len() < LONGEST && known.threads.iter().all(|(number, _)| number != thread) {
                    known.threads.push((*thread, name(profile, *thread)));
                }
            }
        }
        let (program, pid) = (profile.program.command.join(" "), profile.program.pid);
        Run { program, pid, orders: orders.into_values().collect() }
    }

    fn includes(&self, other: &Run) -> bool {
        let has = |order: &Order| self.orders.binary_search_by(|own| own.way.cmp(&order.way)).is_ok();
        other.orders.iter().all(has)
    }
}

/// Returns an order as other runs have it; none if a lock has no name there, or both have one class.
fn way(profile: &Profile, order: &CycleStep) -> Option<Way> {
    let class = |lock: LockId| class(&profile.locks[lock as usize].name);
    let mode = |site: SiteId| {
        let site = &profile.sites[site as usize];
        Some((class(site.lock)?.to_owned(), site.reader))
    };
    let at = |site: SiteId| names::site(profile, &profile.sites[site as usize]);
    let (held, taken) = (mode(order.held_at)?, mode(order.taken_at)?);
    let guards = order.guards.iter().filter_map(|(lock, reads)| Some((class(*lock)?.to_owned(), *reads)));
    (variable(&held.0) != variable(&taken.0)).then(|| Way {
        held,
        held_at: at(order.held_at),
        taken,
        taken_at: at(order.taken_at),
        guards: guards.collect(),
    })
}

/// Returns the class of a lock by its name; none if that is an address.
fn class(name: &str) -> Option<&str> {
    (!name.starts_with("0x")).then(|| without_number(name, " #"))
}

/// Returns the variable of which a class is a part (`table+24`).
fn variable(class: &str) -> &str {
    without_number(class, "+")
}

fn without_number<'a>(name: &'a str, before: &str) -> &'a str {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    name.rsplit_once(before).filter(|(_, number)| is_number(number)).map_or(name, |(rest, _)| rest)
}

/// Returns the threads of a way: the run, and the number in it.
fn threads_of(orders: &BTreeMap<usize, &Order>) -> Vec<(usize, u32)> {
    orders.iter().flat_map(|(run, order)| order.threads.iter().map(|(thread, _)| (*run, *thread))).collect()
}

/// Gives each thing a number.
fn numbered<T: Ord>(all: impl Iterator<Item = T>) -> BTreeMap<T, u32> {
    all.collect::<BTreeSet<T>>().into_iter().zip(0..).collect()
}

/// Returns the cycles of which a step is in a run from `now` on, and no run has all orders; and whether all were
/// searched.
fn across(runs: &[Run], now: usize) -> (Vec<Hazard>, bool) {
    let mut ways: BTreeMap<&Way, BTreeMap<usize, &Order>> = BTreeMap::new();
    for (number, run) in runs.iter().enumerate() {
        for order in &run.orders {
            ways.entry(&order.way).or_default().insert(number, order);
        }
    }
    let modes = ways.keys().flat_map(|way| way.guards.iter().chain([&way.held, &way.taken]));
    let classes = numbered(modes.map(|(class, _)| class.as_str()));
    let threads = numbered(ways.values().flat_map(threads_of));
    let mode = |(class, reads): &Mode| (classes[class.as_str()], *reads);
    let step = |(way, orders): (&&Way, &BTreeMap<usize, &Order>)| Step {
        held: mode(&way.held),
        taken: mode(&way.taken),
        guards: way.guards.iter().map(mode).collect(),
        threads: threads_of(orders).iter().map(|thread| threads[thread]).collect(),
    };
    let steps: Vec<Step> = ways.iter().map(step).collect();
    let orders: Vec<&BTreeMap<usize, &Order>> = ways.values().collect();
    let pair = |step: usize| (steps[step].held.0, steps[step].taken.0);
    let mut runs_of: BTreeMap<(u32, u32), BTreeSet<usize>> = BTreeMap::new();
    for (step, orders) in orders.iter().enumerate() {
        runs_of.entry(pair(step)).or_default().extend(orders.keys());
    }
    let is_across = |cycle: &[usize]| {
        let has_all = |run: &usize| cycle.iter().all(|step| runs_of[&pair(*step)].contains(run));
        let is_new = cycle.iter().any(|step| orders[*step].range(now..).next().is_some());
        is_new && !runs_of[&pair(cycle[0])].iter().any(has_all)
    };
    let (found, is_complete) = cycles::find(&steps, &vec![(0, u64::MAX); threads.len()], &is_across);
    let hazard = |cycle: &Vec<usize>| {
        let mut steps: Vec<HazardStep> = cycle.iter().filter_map(|step| shown(runs, now, orders[*step])).collect();
        let first = (0..steps.len()).min_by_key(|place| steps[*place].held.clone());
        steps.rotate_left(first.unwrap_or(0));
        of_cycle(steps)
    };
    (found.iter().map(hazard).collect(), is_complete)
}

/// Describes a step by the last run that has it.
fn shown(runs: &[Run], now: usize, orders: &BTreeMap<usize, &Order>) -> Option<HazardStep> {
    let (run, order) = orders.last_key_value()?;
    let mut threads = BTreeMap::new();
    for (_, name) in &order.threads {
        *threads.entry(name.clone()).or_default() += 1;
    }
    let Way { held: (held, _), held_at, taken: (taken, _), taken_at, .. } = order.way.clone();
    let is_earlier = *run < now;
    let Run { program, pid, .. } = &runs[*run];
    let run = if is_earlier { format!("an earlier run of {program}") } else { format!("process {pid} of this run") };
    Some(HazardStep { held, held_at, taken, taken_at, threads, times: order.times, run: Some(run) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Lock, Site, Thread};

    /// Returns a run in which threads take locks under others, by their names: thread, held, taken.
    fn run(orders: &[(u32, &str, &str)]) -> Profile {
        let mut profile = Profile::default();
        profile.program.command = vec!["tests".to_owned()];
        profile.threads = vec![Thread { name: "worker".to_owned(), ..Thread::default() }; 3];
        for (at, (thread, held, taken)) in orders.iter().enumerate() {
            for name in [held, taken] {
                let lock = profile.locks.len() as LockId;
                profile.locks.push(Lock { name: (*name).to_owned(), ..Lock::default() });
                profile.sites.push(Site { lock, ..Site::default() });
            }
            let held = 2 * at as SiteId;
            let (guards, threads) = (vec![(held, false)], vec![*thread]);
            profile.orders.push(CycleStep { held, held_at: held, taken_at: held + 1, threads, guards });
        }
        profile
    }

    /// Returns the locks of the cycles that runs one after the other find, each, and what is kept in the end.
    fn found(runs: &[Profile]) -> (Vec<Vec<String>>, Learned) {
        let mut learned = Learned::default();
        let mut locks = Vec::new();
        for run in runs {
            let (hazards, is_complete) = learned.learn(std::slice::from_ref(run));
            assert!(is_complete);
            locks.push(hazards.iter().map(|hazard| hazard.locks.join(" ")).collect());
            learned = Learned::read(&json::text(&learned).unwrap()).unwrap();
        }
        (locks, learned)
    }

    #[test]
    fn runs_that_never_meet_find_cycles_together() {
        let (one, other) = (run(&[(0, "a", "b")]), run(&[(0, "b", "a")]));
        let (locks, learned) = found(&[one.clone(), other.clone(), run(&[(0, "b", "c")]), one.clone()]);
        assert_eq!(locks, [vec![], vec!["a b"], vec![], vec!["a b"]], "only in runs that are part of it");
        assert_eq!(learned.runs.len(), 3, "the same is kept once");
        let three = [run(&[(0, "a", "b"), (1, "b", "c")]), run(&[(0, "c", "a")])];
        assert_eq!(found(&three).0, [vec![], vec!["a b c"]]);
        let same_thread = [run(&[(0, "a", "b"), (0, "b", "c")]), run(&[(0, "c", "a")])];
        assert_eq!(found(&same_thread).0, [vec![""; 0], vec![]]);
        let mut learned = Learned::default();
        learned.learn(&[one]);
        let text = learned.learn(&[other]).0[0].text();
        assert!(text.contains("by worker; taken there 0 times, in an earlier run of tests\n"), "{text}");
        assert!(text.contains("times, in process 0 of this run\n"), "{text}");
    }

    #[test]
    fn what_one_run_has_alone_is_no_cycle_across_runs() {
        let both = run(&[(0, "a", "b"), (0, "b", "a")]);
        assert_eq!(found(&[both.clone(), both.clone(), run(&[(1, "a", "b")])]).0, [vec![""; 0], vec![], vec![]]);
    }

    #[test]
    fn locks_of_one_class_order_nothing() {
        let array = [run(&[(0, "e", "e+40")]), run(&[(0, "e+40", "e")])];
        let made = [run(&[(0, "made in f", "made in f #2")]), run(&[(0, "made in f #2", "made in f")])];
        let unnamed = [run(&[(0, "0x10", "a")]), run(&[(0, "a", "0x10")])];
        for runs in [array, made, unnamed] {
            assert_eq!(found(&runs).0, [vec![""; 0], vec![]]);
        }
        let one_class = [run(&[(0, "made in f", "a")]), run(&[(0, "a", "made in f #3")])];
        assert_eq!(found(&one_class).0, [vec![], vec!["a made in f"]]);
    }

    #[test]
    fn a_foreign_file_is_refused() {
        for (text, complaint) in [
            ("{}", "missing field"),
            ("[", "it is not JSON"),
            (r#"{"lock_orders_schema": 9, "runs": []}"#, "its orders have version 9"),
        ] {
            let error = format!("{:#}", Learned::read(text).err().expect(text));
            assert!(error.contains(complaint), "{error}");
        }
    }
}
