//! What can be benchmarked: subjects, their scenarios in groups, and the locks that run in each group. One record for
//! each in `subjects.toml`, from which the lists, the filters and the reports derive.
//!
//! | file | what |
//! |---|---|
//! | `subjects.toml`, `file.rs` | every subject, and how it is read |
//! | `peers.rs` | the types of locks that are not ours, or not as the catalogue has them |

mod file;
mod peers;

use crate::adapt::listed::{AsItself, CountUnder, Sample};
use crate::load::{counted, exclusive, monitor, shared};
use crate::papers::Comparison;
use crate::plugin::Plugin;
use crate::run::{Outcome, Plan, Roles, Section};
use crate::situation::Situation;
use crate::work::steps_for;
use anyhow::{bail, ensure};
use std::sync::LazyLock;
use std::time::Duration;
use turnwise_catalogue::RefCount;

/// What a waiter of a lock does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waiting {
    /// It sleeps sooner or later: fit for more threads than CPUs.
    Sleeps,
    /// It spins for ever.
    Spins,
    /// It never waits.
    Never,
}

/// A lock that can be benchmarked.
#[derive(Debug)]
pub struct LockInfo {
    /// Its name in `--lock` and the reports.
    pub name: &'static str,
    /// One line for lists.
    pub help: &'static str,
    /// What its waiters do.
    pub waiting: Waiting,
    /// Whether it is judged, rather than a yardstick.
    pub ours: bool,
    sampler: Sampler,
}

/// How a sample of a lock is measured.
#[derive(Debug)]
enum Sampler {
    /// By this function.
    By(Sample),
    /// As a lock of the catalogue.
    Catalogue,
    /// As a count of references under a lock of the catalogue.
    CountUnder,
    /// With a lock of a shared object.
    Plugged(&'static Plugin, PluggedSample),
}

/// Measures one sample with a lock of a shared object.
pub type PluggedSample = fn(&'static Plugin, &Plan) -> anyhow::Result<Outcome>;

impl LockInfo {
    /// Returns a peer for one thread at a time.
    pub(crate) fn exclusive<L: exclusive::Lock<exclusive::Protected>>(
        name: &'static str,
        waiting: Waiting,
        help: &'static str,
    ) -> LockInfo {
        LockInfo::by(exclusive::sample::<L>, name, waiting, help)
    }

    /// Returns a peer for readers and writers.
    pub(crate) fn shared<L: shared::SharedLock>(name: &'static str, waiting: Waiting, help: &'static str) -> LockInfo {
        LockInfo::by(shared::sample::<L>, name, waiting, help)
    }

    /// Returns a peer for threads that wait for each other.
    pub(crate) fn monitor<M: monitor::Monitor<monitor::Inside<T::State>>, T: monitor::Pattern>(
        name: &'static str,
        help: &'static str,
    ) -> LockInfo {
        LockInfo::by(monitor::sample::<M, T>, name, Waiting::Sleeps, help)
    }

    /// Returns a peer that counts references.
    pub(crate) fn counter<C: RefCount>(name: &'static str, waiting: Waiting, help: &'static str) -> LockInfo {
        LockInfo::by(counted::sample::<C>, name, waiting, help)
    }

    fn by(sample: Sample, name: &'static str, waiting: Waiting, help: &'static str) -> LockInfo {
        LockInfo { name, help, waiting, ours: false, sampler: Sampler::By(sample) }
    }

    /// Returns a lock of the catalogue, to compare others with.
    pub(crate) fn listed(name: &'static str) -> LockInfo {
        let entry = turnwise_catalogue::get(name);
        let waiting = if entry.spins() { Waiting::Spins } else { Waiting::Sleeps };
        LockInfo { name, help: entry.summary, waiting, ours: false, sampler: Sampler::Catalogue }
    }

    /// Returns a lock of the catalogue, to judge.
    pub(crate) fn own(name: &'static str) -> LockInfo {
        LockInfo::listed(name).ours()
    }

    /// Returns a count of references under a lock of the catalogue, to compare others with.
    pub(crate) fn count_under(name: &'static str) -> LockInfo {
        LockInfo { sampler: Sampler::CountUnder, ..LockInfo::listed(name) }
    }

    /// Returns a lock of a shared object, for as long as the program runs.
    ///
    /// # Errors
    /// The subject cannot take it, or has a lock of this name.
    pub fn plugged(plugin: &'static Plugin, subject: &Subject) -> anyhow::Result<LockInfo> {
        let (name, subject_name) = (plugin.name, subject.name);
        let Some(sample) = subject.plugged else {
            let taking = SUBJECTS.iter().filter(|subject| subject.plugged.is_some()).map(|subject| subject.name);
            let taking: Vec<_> = taking.collect();
            bail!("`bench {subject_name}` takes no locks of shared objects; those that do: {}", taking.join(", "));
        };
        let known = subject.locks().iter().any(|lock| lock.name == name);
        ensure!(!known, "`bench {subject_name}` has a lock {name}: give the one of the shared object another name");
        let waiting = if plugin.spins { Waiting::Spins } else { Waiting::Sleeps };
        Ok(LockInfo { name, help: plugin.help, waiting, ours: false, sampler: Sampler::Plugged(plugin, sample) })
    }

    /// Marks the lock as one of ours, which the figures judge.
    #[must_use]
    pub fn ours(self) -> LockInfo {
        LockInfo { ours: true, ..self }
    }

    /// Measures one sample of a workload with this lock.
    ///
    /// # Errors
    /// When a thread cannot be started, or when the lock broke its guarantee.
    pub fn sample(&self, plan: &Plan) -> anyhow::Result<Outcome> {
        let sample = match self.sampler {
            Sampler::By(sample) => sample,
            Sampler::Catalogue => turnwise_catalogue::visit(self.name, AsItself),
            Sampler::CountUnder => turnwise_catalogue::visit(self.name, CountUnder),
            Sampler::Plugged(plugin, sample) => return sample(plugin, plan),
        };
        sample(plan)
    }
}

/// Scenarios that the same locks run in.
pub struct Group {
    /// Its name in `--scenario`.
    pub name: &'static str,
    /// One line for lists.
    pub help: &'static str,
    /// The locks that can run in it, in the order of reports.
    pub locks: &'static [LockInfo],
    /// The locks that run by default.
    pub default: &'static [&'static str],
    /// The locks with the fastest of which the others' speeds are compared; none: the fastest peer.
    pub reference: &'static [&'static str],
}

/// What happens in a critical section and outside it, in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Times {
    /// The least that touches the data inside, nothing outside.
    Tight,
    /// Nanoseconds of arithmetic.
    Work {
        /// With the lock.
        inside_ns: u64,
        /// Without it.
        outside_ns: u64,
    },
    /// Asleep with the lock.
    Sleep {
        /// In a system call.
        inside_ns: u64,
    },
}

impl Times {
    /// Returns the section, with nanoseconds of arithmetic as amounts of work.
    #[must_use]
    pub fn section(self, amount: fn(u64) -> u32) -> Section {
        match self {
            Times::Tight => Section::Tight,
            Times::Work { inside_ns, outside_ns } => {
                Section::Work { inside: amount(inside_ns), outside: amount(outside_ns) }
            }
            Times::Sleep { inside_ns } => Section::Sleep(Duration::from_nanos(inside_ns)),
        }
    }
}

/// The mix of reads and writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mix {
    /// All threads write.
    Write,
    /// All threads read in this many of a hundred operations.
    Mixed(u8),
    /// Some only write, the others only read.
    Apart {
        /// This many threads write.
        writers: usize,
        /// Nanoseconds of arithmetic after each write, in addition to the work of all outside.
        rest_ns: u64,
    },
}

/// A situation.
pub struct Scenario {
    /// Its name in `--scenario` and the reports.
    pub name: &'static str,
    /// One line for lists and headings.
    pub help: &'static str,
    /// Where it belongs.
    pub group: &'static Group,
    /// Threads that fight over one lock.
    pub threads: usize,
    /// What they do.
    pub times: Times,
    /// The mix of reads and writes.
    pub mix: Mix,
    /// Further circumstances.
    pub situation: Situation,
    /// Each thread stays on one CPU.
    pub pinned: bool,
    /// The scenario before it, which differs by its number of threads: their rounds are interleaved, which shows how
    /// the locks scale.
    pub scales: Option<&'static str>,
}

impl Scenario {
    /// Returns whether it consists of threads, one lock and sections only, so that it can be simulated.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.situation == Situation::PLAIN
    }

    /// Returns the section in calibrated steps.
    #[must_use]
    pub fn section(&self) -> Section {
        self.times.section(steps)
    }

    /// Returns the mix, with rests in calibrated steps.
    #[must_use]
    pub fn roles(&self) -> Roles {
        match self.mix {
            Mix::Write => Roles::WRITE,
            Mix::Mixed(read_percent) => Roles::Mixed { read_percent },
            Mix::Apart { writers, rest_ns } => Roles::Apart { writers, rest: steps(rest_ns) },
        }
    }

    /// Returns whether any thread ever waits in it.
    #[must_use]
    pub fn contended(&self) -> bool {
        self.threads > 1
    }
}

fn steps(ns: u64) -> u32 {
    steps_for(Duration::from_nanos(ns))
}

/// A sort of locks, and everything that is measured of it.
pub struct Subject {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line for lists.
    pub help: &'static str,
    /// Every group, in order.
    pub groups: &'static [&'static Group],
    /// The scenarios that run by default.
    pub default: &'static [&'static str],
    /// Every scenario, in the order of reports.
    pub scenarios: &'static [Scenario],
    /// The columns of its tables: names of [figures](crate::figure::FIGURES).
    pub figures: &'static [&'static str],
    /// Pairs of locks whose difference a paper published.
    pub comparisons: &'static [Comparison],
    /// How a lock of a shared object is measured, where that is possible.
    pub plugged: Option<PluggedSample>,
}

/// Every subject.
pub static SUBJECTS: LazyLock<Vec<&'static Subject>> = LazyLock::new(file::subjects);

impl Subject {
    /// Returns the subject of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Subject> {
        SUBJECTS.iter().copied().find(|subject| subject.name == name)
    }

    /// Returns the locks of all groups, each name once.
    #[must_use]
    pub fn locks(&self) -> Vec<&'static LockInfo> {
        let mut all: Vec<&LockInfo> = Vec::new();
        for lock in self.groups.iter().flat_map(|group| group.locks) {
            if all.iter().all(|known| known.name != lock.name) {
                all.push(lock);
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_scenario_scales_from_the_one_before_it() {
        for subject in SUBJECTS.iter() {
            for pair in subject.scenarios.windows(2).filter(|pair| pair[1].scales.is_some()) {
                let [from, scenario] = [&pair[0], &pair[1]];
                assert_eq!(scenario.scales, Some(from.name));
                assert!(scenario.threads > from.threads && scenario.times == from.times && scenario.mix == from.mix);
                assert!(std::ptr::eq(scenario.group, from.group), "{}", scenario.name);
            }
            assert_eq!(subject.scenarios[0].scales, None);
        }
    }

    #[test]
    fn names_are_unique_and_no_group_is_called_like_a_scenario() {
        for subject in SUBJECTS.iter() {
            let groups = subject.groups.iter().map(|g| g.name);
            let names: Vec<_> = subject.scenarios.iter().map(|s| s.name).chain(groups).chain(["all"]).collect();
            let different: HashSet<_> = names.iter().collect();
            assert_eq!(different.len(), names.len(), "{}: {names:?}", subject.name);
            assert!(std::ptr::eq(Subject::find(subject.name).expect("it is there"), *subject), "{}", subject.name);
        }
    }

    #[test]
    fn groups_name_locks_that_exist_and_scenarios_groups_of_their_subject() {
        for subject in SUBJECTS.iter() {
            for group in subject.groups {
                let known = |name: &&str| *name == "all" || group.locks.iter().any(|lock| lock.name == *name);
                assert!(group.default.iter().all(known), "{} {}", subject.name, group.name);
                assert!(group.reference.iter().all(known), "{} {}", subject.name, group.name);
                assert!(group.locks.iter().map(|l| l.name).collect::<HashSet<_>>().len() == group.locks.len());
            }
            let member = |s: &Scenario| subject.groups.iter().any(|g| std::ptr::eq(*g, s.group));
            assert!(subject.scenarios.iter().all(member), "{}", subject.name);
            let group = |name: &&str| subject.groups.iter().any(|g| g.name == *name);
            assert!(subject.default.iter().all(group), "{}", subject.name);
        }
    }

    #[test]
    fn roles_have_threads_to_play_them() {
        for scenario in SUBJECTS.iter().flat_map(|subject| subject.scenarios) {
            match scenario.mix {
                Mix::Apart { writers, .. } => assert!(writers < scenario.threads, "{}", scenario.name),
                Mix::Mixed(percent) => assert!(percent <= 100, "{}", scenario.name),
                Mix::Write => {}
            }
        }
    }
}
