//! Advice from a profile: at most five findings, each with its evidence, and the cheapest experiment that would prove
//! it or, where no other lock can help, what to change in the program.
//!
//! A rule is a function from the profile to findings. It judges by named thresholds, whose reasons are next to them.

mod context;
mod rules;
#[cfg(test)]
#[path = "tests/sample.rs"]
mod sample;
mod text;

use crate::figures::share;
use crate::model::{LockId, Profile, SiteId};
use context::Context;
pub use context::at_once;
use serde::{Serialize, Serializer};
pub(crate) use text::shown;
pub use text::text;
use turnwise_preload_abi::Policy;

/// The most findings; users do not try more.
pub const MOST_FINDINGS: usize = 5;

/// The advice on a profile.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Advice {
    /// How much contention there is, in one sentence.
    pub verdict: String,
    /// The findings, those with the most to gain first; a possible deadlock is never left out.
    pub findings: Vec<Finding>,
    /// The number of findings left out.
    pub left_out: usize,
}

/// One item to try or to change.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Finding {
    /// The rule's name.
    pub rule: &'static str,
    /// The problem, in one sentence.
    pub title: String,
    /// The figures that support it.
    pub evidence: Vec<String>,
    /// The cheapest experiment; `None`: only a change of the program helps.
    pub experiment: Option<Experiment>,
    /// The change of the program, in words.
    pub change: Option<String>,
    /// Wait time (or CPU time) that the rule hopes to save in this run: only for the order of the findings.
    pub hoped_ns: u64,
    /// The locks concerned.
    pub locks: Vec<LockId>,
    /// The call sites concerned.
    pub sites: Vec<SiteId>,
}

/// Another run of the unmodified program, with some of its locks under another policy.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Experiment {
    /// The other policy.
    #[serde(serialize_with = "by_name")]
    pub policy: Policy,
    /// The locks that use it.
    pub scope: Scope,
}

fn by_name<S: Serializer>(policy: &Policy, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(policy)
}

/// The scope of an experiment.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// All locks of the program.
    Program,
    /// These locks.
    Locks(Vec<LockId>),
}

impl Advice {
    /// Returns each finding with its evidence, without what an earlier one has already stated.
    pub(crate) fn reported(&self) -> impl Iterator<Item = (&Finding, Vec<&str>)> {
        self.findings.iter().enumerate().map(|(place, finding)| {
            let earlier = &self.findings[..place];
            let new = |text: &&String| !earlier.iter().any(|other| other.evidence.contains(text));
            (finding, finding.evidence.iter().filter(new).map(String::as_str).collect())
        })
    }
}

/// Returns advice on what to try, and what to change.
pub fn advise(profile: &Profile) -> Advice {
    let context = Context::new(profile);
    let stuck = rules::deadlock::find(&context);
    if !stuck.is_empty() {
        return on_deadlock(&context, stuck);
    }
    if !profile.recording.knows_acquisitions() {
        return Advice { verdict: context.verdict(true), findings: Vec::new(), left_out: 0 };
    }
    let all = rules::RULES.iter().flat_map(|rule| rule.find(&context));
    let mut findings = distinct(all.filter(|finding| context.is_actionable(finding)).collect());
    let left_out = findings.len().saturating_sub(MOST_FINDINGS);
    if left_out > 0 {
        let hazard = findings[MOST_FINDINGS..].iter().position(|finding| finding.rule == rules::HAZARD);
        if let Some(place) = hazard {
            findings.swap(MOST_FINDINGS - 1, MOST_FINDINGS + place);
        }
        findings.truncate(MOST_FINDINGS);
    } else if findings.len() < MOST_FINDINGS
        && let Some(finding) = rules::unexplained::find(&context, &findings)
    {
        findings.push(Finding { title: capitalised(&finding.title), ..finding });
    }
    Advice { verdict: context.verdict(findings.is_empty()), findings, left_out }
}

/// Returns the lock that threads waited for longest: the share of their time, and a sentence with all that it cost.
pub fn most_waited(profile: &Profile) -> Option<(f64, String)> {
    let context = Context::new(profile);
    let (id, lock) = (0..).zip(&profile.locks).max_by_key(|(_, lock)| lock.usage.wait.sum_ns)?;
    let share = share(lock.usage.wait.sum_ns, context.thread_ns);
    Some((share, format!("{}: {}", context.lock_name(id), context.cost(id))))
}

/// Advises on a program whose threads wait for one another: no other lock can help; the waits are not a measure.
fn on_deadlock(context: &Context, mut findings: Vec<Finding>) -> Advice {
    let left_out = findings.len().saturating_sub(MOST_FINDINGS);
    findings.truncate(MOST_FINDINGS);
    if context.profile.recording.knows_acquisitions() && left_out == 0 {
        let hazards = rules::RULES.iter().flat_map(|rule| rule.find(context));
        findings.extend(distinct(hazards.filter(|finding| finding.rule == rules::HAZARD).collect()));
    }
    let verdict = "The program cannot continue: no other lock helps, and nothing else is judged until this is fixed.";
    Advice { verdict: verdict.to_owned(), findings, left_out }
}

/// Sorts the findings by hoped gain; keeps the best of several that propose the same experiment.
fn distinct(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.hoped_ns));
    let mut kept: Vec<Finding> = Vec::new();
    for mut finding in findings {
        finding.title = capitalised(&finding.title);
        let known = finding.experiment.is_some() && kept.iter().any(|other| other.experiment == finding.experiment);
        if !known {
            kept.push(finding);
        }
    }
    kept
}

fn capitalised(sentence: &str) -> String {
    let mut rest = sentence.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

#[cfg(test)]
mod tests;
