//! The situations in which locks are compared: one record for each.

use crate::run::Section;
use crate::work::steps_for;
use std::time::Duration;

/// Scenarios that are run and reported together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Group {
    /// Our mutex and its peers.
    Mutex,
    /// Our mutex with and without knowledge of whether the owner runs.
    OnCpu,
}

impl Group {
    /// What `--scenario` calls it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Group::Mutex => "mutex",
            Group::OnCpu => "on-cpu",
        }
    }

    /// The locks that run in it when none are asked for.
    #[must_use]
    pub fn locks(self) -> &'static [&'static str] {
        match self {
            Group::Mutex => &["turnwise", "std", "parking_lot", "pthread", "pthread-adaptive", "spin"],
            Group::OnCpu => &["turnwise", "turnwise-blind"],
        }
    }

    /// The lock that the others' speeds are compared with; `None`: the fastest peer.
    #[must_use]
    pub fn reference(self) -> Option<&'static str> {
        match self {
            Group::Mutex => None,
            Group::OnCpu => Some("turnwise-blind"),
        }
    }
}

/// What happens in a critical section and outside it, in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Times {
    /// An increment inside, nothing outside.
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
        /// What the kernel is asked for.
        inside_ns: u64,
    },
}

/// A situation.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// What `--scenario` and the reports call it.
    pub name: &'static str,
    /// One line for lists and headings.
    pub help: &'static str,
    /// Where it belongs.
    pub group: Group,
    /// Threads that fight over one lock.
    pub threads: usize,
    /// What they do.
    pub times: Times,
}

impl Scenario {
    /// The section in calibrated steps.
    #[must_use]
    pub fn section(&self) -> Section {
        let steps = |ns| steps_for(Duration::from_nanos(ns));
        match self.times {
            Times::Tight => Section::Tight,
            Times::Work { inside_ns, outside_ns } => {
                Section::Work { inside: steps(inside_ns), outside: steps(outside_ns) }
            }
            Times::Sleep { inside_ns } => Section::Sleep(Duration::from_nanos(inside_ns)),
        }
    }

    /// Whether anybody ever waits in it.
    #[must_use]
    pub fn contended(&self) -> bool {
        self.threads > 1
    }
}

const fn tight(name: &'static str, threads: usize, help: &'static str) -> Scenario {
    Scenario { name, help, group: Group::Mutex, threads, times: Times::Tight }
}

const fn busy(
    name: &'static str,
    group: Group,
    threads: usize,
    inside_ns: u64,
    outside_ns: u64,
    help: &'static str,
) -> Scenario {
    Scenario { name, help, group, threads, times: Times::Work { inside_ns, outside_ns } }
}

/// Every scenario, in the order of reports.
pub static SCENARIOS: &[Scenario] = &[
    tight("uncontended", 1, "1 thread, increment only"),
    tight("tight-2", 2, "2 threads, increment only"),
    busy("2x50/100", Group::Mutex, 2, 50, 100, "2 threads, 50 ns inside, 100 ns outside"),
    busy("2x50/500", Group::Mutex, 2, 50, 500, "2 threads, 50 ns inside, 500 ns outside"),
    busy("4x50/100", Group::Mutex, 4, 50, 100, "4 threads, 50 ns inside, 100 ns outside"),
    busy("8x50/100", Group::Mutex, 8, 50, 100, "8 threads, 50 ns inside, 100 ns outside"),
    busy("32x50/100", Group::Mutex, 32, 50, 100, "32 threads, 50 ns inside, 100 ns outside"),
    busy("64x50/100", Group::Mutex, 64, 50, 100, "64 threads, 50 ns inside, 100 ns outside"),
    tight("misc-mutex-4", 4, "4 threads, increment only (OSv's misc-mutex)"),
    tight("misc-mutex-20", 20, "20 threads, increment only (OSv's misc-mutex)"),
    busy("long", Group::Mutex, 8, 50_000, 0, "8 threads, 50 us inside"),
    Scenario {
        name: "sleep",
        help: "8 threads, 100 us asleep inside",
        group: Group::Mutex,
        threads: 8,
        times: Times::Sleep { inside_ns: 100_000 },
    },
    busy("on-cpu-2-short", Group::OnCpu, 2, 50, 100, "2 threads, 50 ns inside, 100 ns outside"),
    busy("on-cpu-4-short", Group::OnCpu, 4, 50, 100, "4 threads, 50 ns inside, 100 ns outside"),
    busy("on-cpu-8-short", Group::OnCpu, 8, 50, 100, "8 threads, 50 ns inside, 100 ns outside"),
    busy("on-cpu-32-short", Group::OnCpu, 32, 50, 100, "32 threads, 50 ns inside, 100 ns outside"),
    busy("on-cpu-2-long", Group::OnCpu, 2, 2_000, 1_000, "2 threads, 2 us inside, 1 us outside"),
    busy("on-cpu-4-long", Group::OnCpu, 4, 2_000, 1_000, "4 threads, 2 us inside, 1 us outside"),
    busy("on-cpu-8-long", Group::OnCpu, 8, 2_000, 1_000, "8 threads, 2 us inside, 1 us outside"),
    busy("on-cpu-32-long", Group::OnCpu, 32, 2_000, 1_000, "32 threads, 2 us inside, 1 us outside"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::locks;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_no_group_is_called_like_a_scenario() {
        let names: HashSet<_> = SCENARIOS.iter().map(|s| s.name).chain(["mutex", "on-cpu", "all"]).collect();
        assert_eq!(names.len(), SCENARIOS.len() + 3);
    }

    #[test]
    fn groups_name_locks_that_exist() {
        for group in [Group::Mutex, Group::OnCpu] {
            assert!(group.locks().iter().all(|name| locks::find(name).is_some()), "{group:?}");
        }
    }
}
