//! What can be benchmarked: subjects, their scenarios in groups, and the locks that run in each group. One record for
//! each in `subjects.toml`, from which the lists, the filters and the reports derive.
//!
//! | file | what |
//! |---|---|
//! | `subjects.toml` | every subject |
//! | `peers.rs` | the types of locks that are not ours, or not as the catalogue has them |

mod peers;

use crate::adapt::listed::{AsItself, Sample};
use crate::adapt::plugged;
use crate::load::{exclusive, shared};
use crate::papers::Comparison;
use crate::plugin::Plugin;
use crate::run::{Outcome, Plan, Roles, Section};
use crate::situation::{Neighbour, Situation};
use anyhow::{bail, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

/// A lock that can be benchmarked.
#[derive(Debug)]
pub struct LockInfo {
    /// Its name in `--lock` and the reports.
    pub name: &'static str,
    /// One line for lists.
    pub help: &'static str,
    /// Its waiters never sleep: unfit for more threads than CPUs.
    pub spins: bool,
    /// Whether it is judged, rather than a yardstick.
    pub ours: bool,
    sample: Sample,
    /// The shared object that it is in.
    plugin: Option<&'static Plugin>,
}

/// A lock that is not just one of the catalogue.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Peer {
    /// Otherwise that of the catalogue.
    #[serde(borrow)]
    help: Option<&'static str>,
    #[serde(default)]
    ours: bool,
    #[serde(default)]
    spins: bool,
}

/// The peers of each kind, by their names.
type Peers = BTreeMap<String, BTreeMap<String, Peer>>;

impl LockInfo {
    /// Returns the lock of this name: a peer of this kind, if there is one, else one of the catalogue, which is ours.
    /// `None`: it is not built in, which a question mark before its name allows.
    fn named(name: &'static str, kind: Option<&str>, peers: &Peers) -> Option<LockInfo> {
        let optional = name.starts_with('?');
        let name = name.trim_start_matches('?');
        let kind = kind.unwrap_or_default();
        let peer = peers.get(kind.split('.').next().unwrap_or_default()).and_then(|of| of.get(name));
        let sample = peer.and_then(|_| peers::sample(kind, name));
        if optional && sample.is_none() {
            return None;
        }
        let sample = sample.unwrap_or_else(|| turnwise_catalogue::visit(name, AsItself));
        let ours = peer.is_none_or(|peer| peer.ours);
        if let Some(&Peer { help: Some(help), spins, .. }) = peer {
            return Some(LockInfo { name, help, spins, ours, sample, plugin: None });
        }
        let entry = turnwise_catalogue::get(name);
        Some(LockInfo { name, help: entry.summary, spins: entry.spins(), ours, sample, plugin: None })
    }

    /// Returns a lock of a shared object, for as long as the program runs.
    ///
    /// # Errors
    /// The subject cannot take it, or has a lock of this name.
    pub fn plugged(plugin: &'static Plugin, subject: &Subject) -> anyhow::Result<LockInfo> {
        let (name, subject_name) = (plugin.name, subject.name);
        let Some(kind) = subject.plugged else {
            let taking = SUBJECTS.iter().filter(|subject| subject.plugged.is_some()).map(|subject| subject.name);
            let taking: Vec<_> = taking.collect();
            bail!("`bench {subject_name}` takes no locks of shared objects; those that do: {}", taking.join(", "));
        };
        let known = subject.locks().iter().any(|lock| lock.name == name);
        ensure!(!known, "`bench {subject_name}` has a lock {name}: give the one of the shared object another name");
        let &Plugin { help, spins, .. } = plugin;
        let sample: Sample = match kind {
            Plugged::Exclusive => exclusive::sample::<plugged::Plugged<exclusive::Protected>>,
            Plugged::Shared => shared::sample::<plugged::Plugged<shared::Record>>,
        };
        Ok(LockInfo { name, help, spins, ours: false, sample, plugin: Some(plugin) })
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
        self.plugin.into_iter().for_each(plugged::measure);
        (self.sample)(plan)
    }
}

/// Scenarios that the same locks run in.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Its name in `--scenario`.
    pub name: &'static str,
    /// One line for lists.
    pub help: &'static str,
    /// The kind of its peers, if it is not the subject's.
    #[serde(borrow)]
    peers: Option<&'static str>,
    /// The names of its locks, if they are not the subject's.
    #[serde(borrow, rename = "locks")]
    named: Option<Vec<&'static str>>,
    /// The locks that can run in it, in the order of reports.
    #[serde(skip)]
    pub locks: Vec<LockInfo>,
    /// The locks that run by default.
    #[serde(borrow, default = "all")]
    pub default: Vec<&'static str>,
    /// The locks with the fastest of which the others' speeds are compared; none: the fastest peer.
    #[serde(borrow, default)]
    pub reference: Vec<&'static str>,
    /// Its scenarios, in the order of reports.
    scenarios: Vec<Scenario>,
}

fn all() -> Vec<&'static str> {
    vec!["all"]
}

impl Group {
    /// Makes its locks: those that it names, or else its subject.
    fn complete(&mut self, named: &[&'static str], kind: Option<&str>, peers: &Peers) {
        let (named, kind) = (self.named.as_deref().unwrap_or(named), self.peers.or(kind));
        self.locks = named.iter().filter_map(|&name| LockInfo::named(name, kind, peers)).collect();
        self.scenarios.iter_mut().for_each(|scenario| scenario.group = self.name);
    }
}

/// A situation: all threads write, and only the lock is there, unless it says otherwise.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Its name in `--scenario` and the reports.
    pub name: &'static str,
    /// One line for lists and headings.
    pub help: &'static str,
    /// The name of its group.
    #[serde(skip)]
    pub group: &'static str,
    /// Threads that fight over one lock.
    pub threads: usize,
    /// Work inside and outside.
    busy_ns: Option<[u64; 2]>,
    asleep_ns: Option<u64>,
    read_percent: Option<u8>,
    writers: Option<usize>,
    #[serde(default)]
    rest_ns: u64,
    /// Further circumstances.
    #[serde(default)]
    pub situation: Situation,
    #[serde(default)]
    pinned: bool,
}

impl Scenario {
    /// Returns what the threads do, where `amount` returns how much work takes this many nanoseconds.
    #[must_use]
    pub fn section(&self, amount: fn(u64) -> u32) -> Section {
        match (self.busy_ns, self.asleep_ns) {
            (Some([inside, outside]), _) => Section::Work { inside: amount(inside), outside: amount(outside) },
            (None, Some(ns)) => Section::Sleep(Duration::from_nanos(ns)),
            (None, None) => Section::Tight,
        }
    }

    /// Returns which threads read and which write.
    #[must_use]
    pub fn roles(&self, amount: fn(u64) -> u32) -> Roles {
        match self.writers {
            Some(writers) => Roles::Apart { writers, rest: amount(self.rest_ns) },
            None => Roles::Mixed { read_percent: self.read_percent.unwrap_or(0) },
        }
    }

    /// Returns whether each thread stays on one CPU: a thread that shares its CPU does.
    #[must_use]
    pub fn pinned(&self) -> bool {
        self.pinned || self.situation.neighbour == Neighbour::OnLastThread
    }

    /// Returns whether it consists of threads, one lock and sections only, so that it can be simulated.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.situation == Situation::PLAIN
    }

    /// Returns whether any thread ever waits in it.
    #[must_use]
    pub fn contended(&self) -> bool {
        self.threads > 1
    }
}

/// A sort of locks, and everything that is measured of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line for lists.
    pub help: &'static str,
    /// What a lock of a shared object is measured as, where that is possible.
    plugged: Option<Plugged>,
    /// The groups that run by default; none: all.
    #[serde(borrow, default)]
    default: Vec<&'static str>,
    /// The columns of its tables: names of [figures](crate::figure::FIGURES).
    #[serde(borrow)]
    pub figures: Vec<&'static str>,
    /// The kind of its peers.
    #[serde(borrow)]
    peers: Option<&'static str>,
    /// The names of the locks of groups that name none.
    #[serde(borrow, default)]
    locks: Vec<&'static str>,
    /// Pairs of locks whose difference a paper published.
    #[serde(default)]
    pub comparisons: Vec<Comparison>,
    /// Every group, in order.
    #[serde(rename = "group")]
    pub groups: Vec<Group>,
}

/// What a shared object's lock is measured as.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Plugged {
    Exclusive,
    Shared,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "'de: 'static"))]
struct File {
    peers: Peers,
    subject: Vec<Subject>,
}

/// Every subject, as `subjects.toml` has them.
pub static SUBJECTS: LazyLock<Vec<Subject>> = LazyLock::new(|| {
    let mut file: File = toml::from_str(include_str!("subjects.toml")).expect("the file is tested");
    for Subject { groups, locks, peers: kind, .. } in &mut file.subject {
        groups.iter_mut().for_each(|group| group.complete(locks, *kind, &file.peers));
    }
    file.subject
});

impl Subject {
    /// Returns the subject of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Subject> {
        SUBJECTS.iter().find(|subject| subject.name == name)
    }

    /// Returns every scenario, in the order of reports.
    pub fn scenarios(&self) -> impl Iterator<Item = &Scenario> + Clone {
        self.groups.iter().flat_map(|group| &group.scenarios)
    }

    /// Returns the group of a scenario.
    ///
    /// # Panics
    /// It is another subject's.
    #[must_use]
    pub fn group(&self, scenario: &Scenario) -> &Group {
        self.groups.iter().find(|group| group.name == scenario.group).expect("a scenario of this subject")
    }

    /// Returns whether a group runs by default.
    #[must_use]
    pub fn runs_by_default(&self, group: &str) -> bool {
        self.default.is_empty() || self.default.contains(&group)
    }

    /// Returns the locks of all groups, each name once.
    #[must_use]
    pub fn locks(&self) -> Vec<&LockInfo> {
        let mut all: Vec<&LockInfo> = Vec::new();
        for lock in self.groups.iter().flat_map(|group| &group.locks) {
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
    fn names_are_unique_and_no_group_is_called_like_a_scenario() {
        for subject in SUBJECTS.iter() {
            let groups = subject.groups.iter().map(|g| g.name);
            let names: Vec<_> = subject.scenarios().map(|s| s.name).chain(groups).chain(["all"]).collect();
            let different: HashSet<_> = names.iter().collect();
            assert_eq!(different.len(), names.len(), "{}: {names:?}", subject.name);
            assert!(std::ptr::eq(Subject::find(subject.name).expect("it is there"), subject), "{}", subject.name);
        }
    }

    #[test]
    fn groups_name_locks_that_exist_and_defaults_groups_of_their_subject() {
        for subject in SUBJECTS.iter() {
            for group in &subject.groups {
                let known = |name: &&str| *name == "all" || group.locks.iter().any(|lock| lock.name == *name);
                assert!(group.default.iter().all(known), "{} {}", subject.name, group.name);
                assert!(group.reference.iter().all(known), "{} {}", subject.name, group.name);
                assert!(group.locks.iter().map(|l| l.name).collect::<HashSet<_>>().len() == group.locks.len());
            }
            assert!(subject.scenarios().all(|scenario| subject.group(scenario).name == scenario.group));
            let group = |name: &&str| subject.groups.iter().any(|g| g.name == *name);
            assert!(subject.default.iter().all(group), "{}", subject.name);
        }
    }

    #[test]
    fn every_peer_is_named() {
        let file: File = toml::from_str(include_str!("subjects.toml")).expect("it is read above");
        for (kind, peers) in &file.peers {
            let of_kind = |subject: &'static Subject, group: &Group| {
                group.peers.or(subject.peers).is_some_and(|peers| peers.split('.').next() == Some(kind))
            };
            let groups = || SUBJECTS.iter().flat_map(|s| s.groups.iter().filter(move |group| of_kind(s, group)));
            for name in peers.keys().filter(|name| !["usync", "parking_lot-0.12"].contains(&name.as_str())) {
                assert!(groups().any(|group| group.locks.iter().any(|lock| lock.name == name)), "{kind}: {name}");
            }
        }
    }

    #[test]
    fn roles_have_threads_to_play_them() {
        for scenario in SUBJECTS.iter().flat_map(Subject::scenarios) {
            match scenario.roles(|_| 0) {
                Roles::Apart { writers, .. } => assert!(writers < scenario.threads, "{}", scenario.name),
                Roles::Mixed { read_percent } => assert!(read_percent <= 100, "{}", scenario.name),
            }
        }
    }
}
