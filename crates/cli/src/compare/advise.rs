//! `turnwise compare --advise`: a profile's advice becomes experiments on the unmodified program, and only winners are
//! kept.

use super::report::Report;
use super::runs::Row;
use super::verdict::{Finding as Outcome, Verdict};
use crate::compare::PROFILED;
use crate::policy_file::PolicyFile;
use crate::target::Target;
use crate::variant::Variant;
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use turnwise_preload_abi::Policy;
use turnwise_profile::advice::{Advice, Experiment, Finding, Scope};
use turnwise_profile::model::{LockId, Profile};
use turnwise_profile::policy_rules;
use turnwise_profile::template::{Words, context};

/// An experiment that can be made.
pub(crate) struct Trial {
    /// The number of the finding that proposes it, from 1.
    finding: usize,
    name: String,
    /// The policy file, for single locks.
    file: Option<String>,
}

/// Returns the contenders that `advice` requests, after the C library, and a description of each.
pub(crate) fn variants(advice: &Advice, profile: &Profile, target: &Target) -> Result<(Vec<Variant>, Vec<Trial>)> {
    let mut variants = vec![Variant::policy(Policy::Libc)];
    let mut trials = Vec::new();
    for (number, finding) in (1..).zip(&advice.findings) {
        let Some(experiment) = &finding.experiment else { continue };
        let Some((variant, file)) = variant(number, experiment, profile, target)? else { continue };
        if variants.iter().any(|known| known.name == variant.name) {
            continue;
        }
        trials.push(Trial { finding: number, name: variant.name.clone(), file });
        variants.push(variant);
    }
    Ok((variants, trials))
}

/// Makes a contender; `None`: the locks have no name and no place by which rules could find them again.
fn variant(
    number: usize,
    experiment: &Experiment,
    profile: &Profile,
    target: &Target,
) -> Result<Option<(Variant, Option<String>)>> {
    match &experiment.scope {
        Scope::Program => Ok(Some((Variant::policy(experiment.policy), None))),
        Scope::Locks(locks) => {
            let Some(text) = policy_file(experiment.policy, locks, profile) else { return Ok(None) };
            let name = format!("{} (finding {number})", experiment.policy);
            let file = PolicyFile::parse(&name, text.clone()).context("the advised policy file is not valid")?;
            let (variant, _) = Variant::file(&file, target)?;
            Ok(Some((variant, Some(text))))
        }
    }
}

/// Returns a policy file that gives another policy to these locks, and to as few others as rules allow.
fn policy_file(policy: Policy, locks: &[LockId], profile: &Profile) -> Option<String> {
    let mut rules = BTreeSet::new();
    for lock in locks {
        let found = policy_rules::conditions_for(*lock, profile);
        if found.is_empty() {
            return None;
        }
        rules.extend(found);
    }
    let mut text = format!("default = \"{}\"\n", Policy::Libc);
    text.extend(rules.iter().map(|conditions| format!("\n[[rule]]\n{conditions}lock = \"{policy}\"\n")));
    Some(text)
}

/// Returns a profile's advice with the outcomes of all findings, for `--json`; `docs/compare.md` describes its fields.
pub(crate) fn results(advice: &Advice, trials: &[Trial], report: &Report, profile: &Profile) -> Value {
    let finding = |(number, finding): (usize, &Finding)| {
        let locks: Vec<&str> = finding.locks.iter().map(|lock| profile.locks[*lock as usize].name.as_str()).collect();
        let trial = trials.iter().find(|trial| trial.finding == number);
        let experiment = finding.experiment.as_ref().map(|experiment| result(experiment, trial, report));
        let Finding { rule, title, evidence, change, .. } = finding;
        json!({ "number": number, "rule": rule, "title": title, "evidence": evidence, "locks": locks,
            "change": change, "experiment": experiment })
    };
    let findings: Vec<Value> = (1..).zip(&advice.findings).map(finding).collect();
    json!({ "verdict": advice.verdict, "findings": findings, "left_out": advice.left_out })
}

/// Returns an experiment and its result; without a name, it was not tried.
fn result(experiment: &Experiment, trial: Option<&Trial>, report: &Report) -> Value {
    let verdict = trial.and_then(|trial| trial.verdict(report));
    let is_row = |row: &&Row, verdict: &Verdict| row.policy == verdict.policy && row.metric == verdict.metric;
    let row = verdict.and_then(|verdict| report.summaries.iter().find(|row| is_row(row, verdict)));
    json!({
        "policy": experiment.policy.name(),
        "scope": if experiment.scope == Scope::Program { "program" } else { "locks" },
        "name": trial.map(|trial| &trial.name),
        "policy_file": trial.and_then(|trial| trial.file.as_ref()),
        "metric": verdict.map(|verdict| &verdict.metric),
        "finding": verdict.map(|verdict| verdict.finding),
        "to_baseline": row.and_then(|row| row.to_baseline),
        "kept": trial.is_some_and(|trial| trial.is_proved(report)),
    })
}

impl Trial {
    fn verdict<'a>(&self, report: &'a Report) -> Option<&'a Verdict> {
        report.verdicts.iter().find(|verdict| verdict.policy == self.name)
    }

    fn is_proved(&self, report: &Report) -> bool {
        self.verdict(report).is_some_and(|verdict| verdict.finding == Outcome::Better)
    }
}

/// Describes what was proved, and how to use it.
pub(crate) fn conclusion(advice: &Advice, trials: &[Trial], report: &Report, target: &Target) -> String {
    let proved = trials.iter().filter(|trial| trial.is_proved(report)).map(|trial| {
        let lines = trial.file.as_ref().map(|file| file.lines().map(str::to_owned).collect::<Vec<_>>());
        context! { finding => trial.finding, name => &trial.name, lines }
    });
    let is_alone = |number: &usize| trials.iter().any(|trial| trial.finding == *number);
    let proposed = (1..).zip(&advice.findings).filter(|(_, finding)| finding.experiment.is_some());
    let values = context! {
        proved => proved.collect::<Vec<_>>(),
        tried => trials.len(),
        found => advice.findings.len(),
        profiled => PROFILED,
        command => target.shown(),
        left => proposed.map(|(number, _)| number).filter(|number| !is_alone(number)).collect::<Vec<_>>(),
    };
    Words::of(include_str!("advise.jinja")).render(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnwise_profile::model::{Frame, Lock, Site};

    fn profile() -> Profile {
        let frame = |function: &str, inlined| Frame {
            function: function.to_owned(),
            module: "server".to_owned(),
            inlined,
            ..Frame::default()
        };
        let lock =
            |symbol: Option<&str>, created| Lock { symbol: symbol.map(str::to_owned), created, ..Lock::default() };
        let site = |lock, frames: &[u32]| Site { lock, frames: frames.to_vec(), ..Site::default() };
        Profile {
            locks: vec![lock(Some("table+24 (server)"), None), lock(None, Some(0)), lock(None, None), lock(None, None)],
            stacks: vec![vec![1, 0]],
            frames: vec![
                frame("main", false),
                frame("Shard::Shard(char*)", false),
                frame("get \"it\"", true),
                frame("server+0x1234", false),
            ],
            sites: vec![site(2, &[2, 0]), site(2, &[0]), site(3, &[3])],
            ..Profile::default()
        }
    }

    #[test]
    fn locks_by_variable_by_maker_and_by_takers() {
        let text = policy_file(Policy::QUEUED, &[0, 1, 2], &profile()).unwrap();
        let file = PolicyFile::parse("advice", text.clone()).unwrap();
        assert_eq!(file.rules.len(), 3, "{text}");
        for part in [
            "default = \"libc\"\n",
            "symbol = \"table+24\"\nmodule = \"server\"\nlock = \"queued\"\n",
            "function = \"Shard::Shard(char?)\"\nmodule = \"server\"\n",
            "function = \"main\"\n",
        ] {
            assert!(text.contains(part), "no {part:?} in:\n{text}");
        }
    }

    #[test]
    fn locks_without_a_name_cannot_be_tried() {
        assert_eq!(policy_file(Policy::QUEUED, &[3], &profile()), None);
        assert_eq!(policy_file(Policy::QUEUED, &[0, 3], &profile()), None);
        assert_eq!(policy_file(Policy::QUEUED, &[9], &profile()), None);
    }
}
