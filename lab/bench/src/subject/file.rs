//! The subjects, as `subjects.toml` has them.

use super::{Group, LockInfo, Mix, Scenario, Subject, Times, peers};
use crate::adapt::plugged;
use crate::papers::Comparison;
use crate::situation::{Arrivals, Neighbour, Situation};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "'de: 'static"))]
struct File {
    subject: Vec<SubjectRecord>,
}

/// As [`Subject`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SubjectRecord {
    name: &'static str,
    help: &'static str,
    plugged: Option<Plugged>,
    /// Otherwise all.
    #[serde(borrow)]
    default: Option<Vec<&'static str>>,
    #[serde(borrow)]
    figures: Vec<&'static str>,
    /// Those of groups that name none; otherwise those of `peers.rs`.
    #[serde(borrow)]
    locks: Option<Vec<&'static str>>,
    #[serde(default)]
    comparisons: Vec<Comparison>,
    group: Vec<GroupRecord>,
}

/// What a shared object's lock is measured as.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Plugged {
    Exclusive,
    Shared,
}

/// As [`Group`], with its scenarios.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GroupRecord {
    name: &'static str,
    help: &'static str,
    #[serde(borrow)]
    locks: Option<Vec<&'static str>>,
    /// Otherwise all.
    #[serde(borrow)]
    default: Option<Vec<&'static str>>,
    #[serde(borrow, default)]
    reference: Vec<&'static str>,
    scenarios: Vec<ScenarioRecord>,
}

/// As [`Scenario`]: all threads write, and only the lock is there, unless it says otherwise.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScenarioRecord {
    name: &'static str,
    threads: usize,
    /// Work inside and outside.
    busy_ns: Option<[u64; 2]>,
    asleep_ns: Option<u64>,
    read_percent: Option<u8>,
    writers: Option<usize>,
    #[serde(default)]
    rest_ns: u64,
    locks: Option<usize>,
    #[serde(default)]
    turns: bool,
    /// A thread that shares its CPU stays there.
    #[serde(default)]
    beside: Neighbour,
    arrivals: Option<Arrivals>,
    quota: Option<u32>,
    #[serde(default)]
    pinned: bool,
    #[serde(borrow)]
    scales: Option<&'static str>,
    help: &'static str,
}

/// Returns all subjects, for as long as the program runs.
pub(super) fn subjects() -> Vec<&'static Subject> {
    let file: File = toml::from_str(include_str!("subjects.toml")).expect("the file is tested");
    file.subject.into_iter().map(SubjectRecord::subject).collect()
}

fn kept<T>(values: impl IntoIterator<Item = T>) -> &'static [T] {
    values.into_iter().collect::<Vec<T>>().leak()
}

impl SubjectRecord {
    fn subject(self) -> &'static Subject {
        let SubjectRecord { name, help, plugged, default, figures, locks, comparisons, group } = self;
        let group = group.into_iter().map(|group| group.group(name, locks.as_deref()));
        let (groups, scenarios): (Vec<&Group>, Vec<Vec<Scenario>>) = group.unzip();
        let plugged = plugged.map(|kind| match kind {
            Plugged::Exclusive => plugged::exclusive,
            Plugged::Shared => plugged::shared,
        });
        Box::leak(Box::new(Subject {
            name,
            help,
            default: kept(default.unwrap_or_else(|| groups.iter().map(|group| group.name).collect())),
            groups: kept(groups),
            scenarios: kept(scenarios.into_iter().flatten()),
            figures: kept(figures),
            comparisons: kept(comparisons),
            plugged,
        }))
    }
}

impl GroupRecord {
    fn group(self, subject: &str, locks: Option<&[&'static str]>) -> (&'static Group, Vec<Scenario>) {
        let mut peers = peers::of(subject, self.name);
        let named = |&name: &&'static str| match peers.iter().position(|lock| lock.name == name.trim_start_matches('?'))
        {
            Some(place) => Some(peers.remove(place)),
            None if name.starts_with('?') => None,
            None => Some(LockInfo::own(name)),
        };
        let locks = match self.locks.as_deref().or(locks) {
            Some(names) => names.iter().filter_map(named).collect(),
            None => peers,
        };
        let group: &'static Group = Box::leak(Box::new(Group {
            name: self.name,
            help: self.help,
            locks: locks.leak(),
            default: kept(self.default.unwrap_or_else(|| vec!["all"])),
            reference: kept(self.reference),
        }));
        (group, self.scenarios.into_iter().map(|scenario| scenario.scenario(group)).collect())
    }
}

impl ScenarioRecord {
    fn scenario(self, group: &'static Group) -> Scenario {
        let times = match (self.busy_ns, self.asleep_ns) {
            (Some([inside_ns, outside_ns]), _) => Times::Work { inside_ns, outside_ns },
            (None, Some(inside_ns)) => Times::Sleep { inside_ns },
            (None, None) => Times::Tight,
        };
        let mix = match (self.writers, self.read_percent) {
            (Some(writers), _) => Mix::Apart { writers, rest_ns: self.rest_ns },
            (None, Some(percent)) => Mix::Mixed(percent),
            (None, None) => Mix::Write,
        };
        let situation = Situation {
            locks: self.locks.unwrap_or(1),
            turns: self.turns,
            neighbour: self.beside,
            arrivals: self.arrivals,
            quota: self.quota,
        };
        let pinned = self.pinned || self.beside == Neighbour::OnLastThread;
        let ScenarioRecord { name, threads, scales, help, .. } = self;
        Scenario { name, help, group, threads, times, mix, situation, pinned, scales }
    }
}

#[cfg(test)]
mod tests {
    use crate::subject::{SUBJECTS, peers};

    #[test]
    fn every_peer_is_named() {
        for (subject, group) in SUBJECTS.iter().flat_map(|s| s.groups.iter().map(move |group| (s, group))) {
            for peer in peers::of(subject.name, group.name) {
                assert!(group.locks.iter().any(|lock| lock.name == peer.name), "{}: {}", group.name, peer.name);
            }
        }
    }
}
