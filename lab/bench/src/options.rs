//! What to compare: scenarios, locks, and the lock that others are compared with.

use crate::subject::{LockInfo, Scenario, Subject};
use anyhow::{Result, ensure};

/// What to compare, and for how long. Names are those of the subject, or `all`.
#[derive(Clone)]
pub struct Options {
    /// The sort of locks.
    pub subject: &'static Subject,
    /// Locks to run; empty: those that each scenario is about.
    pub locks: Vec<String>,
    /// Locks of shared objects, which run in every scenario, with the others.
    pub plugged: Vec<&'static LockInfo>,
    /// Scenarios and groups of scenarios; empty: the subject's default.
    pub scenarios: Vec<String>,
    /// The lock to compare speeds with; `None`: the one that each scenario is about, or else the fastest peer.
    pub against: Option<String>,
    /// Fewer and shorter samples.
    pub quick: bool,
    /// Samples of each lock in each scenario, if not the default.
    pub samples: Option<u32>,
    /// Length of a sample in milliseconds, if not the default.
    pub sample_ms: Option<u32>,
    /// Seed of the order of locks within the rounds.
    pub seed: u64,
}

impl Options {
    /// Returns the requested scenarios in which any of the requested locks can run.
    ///
    /// # Errors
    /// There are none.
    pub fn scenarios(&self) -> Result<Vec<&'static Scenario>> {
        let all: &[String] = &self.scenarios;
        let asked = |s: &&Scenario| {
            if all.is_empty() {
                self.subject.runs_by_default(s.group)
            } else {
                all.iter().any(|n| n == s.name || n == s.group || n == "all")
            }
        };
        let fit = |s: &&Scenario| !self.locks(s).is_empty();
        let scenarios: Vec<_> = self.subject.scenarios().filter(asked).filter(fit).collect();
        ensure!(!scenarios.is_empty(), "none of these locks can run in any of these scenarios: see bench --list");
        Ok(scenarios)
    }

    /// Returns the locks to run in a scenario.
    #[must_use]
    pub fn locks(&self, scenario: &Scenario) -> Vec<&'static LockInfo> {
        let group = self.subject.group(scenario);
        let wanted = |name: &str| match self.locks.is_empty() {
            true => group.default.iter().any(|n| *n == name || *n == "all"),
            false => self.locks.iter().any(|n| n == name || n == "all"),
        };
        let listed = group.locks.iter().filter(|l| wanted(l.name) || self.against.as_deref() == Some(l.name));
        listed.chain(self.plugged.iter().copied()).collect()
    }

    /// Returns the locks to compare with in a scenario: the fastest of them, or if there are none the fastest peer.
    #[must_use]
    pub fn reference(&self, scenario: &Scenario) -> Vec<&str> {
        let group = self.subject.group(scenario);
        let known = |name: &&str| group.locks.iter().chain(self.plugged.iter().copied()).any(|lock| lock.name == *name);
        let asked: Vec<&str> = self.against.as_deref().filter(known).into_iter().collect();
        let running = |name: &&&str| self.locks(scenario).iter().any(|lock| lock.name == **name);
        if asked.is_empty() { group.reference.iter().filter(running).copied().collect() } else { asked }
    }
}
