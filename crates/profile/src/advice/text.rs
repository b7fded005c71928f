//! Advice for a terminal, and for the page.

use super::{Advice, Experiment, Scope};
use crate::model::Profile;
use crate::output::names;
use crate::template::{Serde, Words, context};
use serde_json::{Value, json};

/// Returns the advice as text, in lines of at most 100 columns.
pub fn text(advice: &Advice, profile: &Profile) -> String {
    let (verdict, left_out) = (advice.verdict.as_str(), advice.left_out);
    let values = context! { verdict, left_out, findings => Serde(shown(advice, profile)) };
    Words::of(include_str!("../../assets/advised.jinja")).render(values)
}

/// Returns the findings in words, without what an earlier one has already stated.
pub(crate) fn shown(advice: &Advice, profile: &Profile) -> Vec<Value> {
    let shown = advice.reported().map(|(finding, evidence)| {
        json!({
            "title": finding.title,
            "evidence": evidence,
            "experiment": finding.experiment.as_ref().map(|experiment| proposal(experiment, profile)),
            "change": finding.change,
            "rule": finding.rule,
        })
    });
    shown.collect()
}

/// Puts an experiment into words.
fn proposal(experiment: &Experiment, profile: &Profile) -> String {
    match &experiment.scope {
        Scope::Program => format!("the policy `{}` for the whole program", experiment.policy),
        Scope::Locks(locks) => {
            let locks = locks.iter().map(|&lock| names::lock_in_sentence(&profile.locks[lock as usize].name));
            format!("the policy `{}` for {}", experiment.policy, locks.collect::<Vec<_>>().join(", "))
        }
    }
}
