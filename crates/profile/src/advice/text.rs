//! Advice for a terminal.

use super::{Advice, Experiment, Finding, Scope};
use crate::model::Profile;
use crate::output::names;
use std::fmt::Write;
use textwrap::Options;
use turnwise_preload_abi::terminal::is_obeyed;

/// The maximum line length.
const COLUMNS: usize = 100;

/// Returns the advice as text, in lines of at most 100 columns.
#[must_use]
pub fn text(advice: &Advice, profile: &Profile) -> String {
    let mut text = wrapped("", "", &advice.verdict);
    for (number, (finding, evidence)) in advice.reported().enumerate() {
        text.push('\n');
        text += &one(number + 1, finding, &evidence, profile);
    }
    if advice.left_out > 0 {
        let _ = writeln!(text, "\n{} more, with less to gain.", advice.left_out);
    }
    text
}

fn one(number: usize, finding: &Finding, evidence: &[&str], profile: &Profile) -> String {
    let mut text = wrapped(&format!("{number}. "), "   ", &finding.title);
    for evidence in evidence {
        text += &wrapped("   - ", "     ", evidence);
    }
    if let Some(experiment) = &finding.experiment {
        text += &wrapped("   try: ", "        ", &proposal(experiment, profile));
    }
    if let Some(change) = &finding.change {
        text += &wrapped("   change: ", "           ", change);
    }
    text
}

/// Puts an experiment into words.
pub(crate) fn proposal(experiment: &Experiment, profile: &Profile) -> String {
    match &experiment.scope {
        Scope::Program => format!("the policy `{}` for the whole program", experiment.policy),
        Scope::Locks(locks) => {
            let locks = locks.iter().map(|&lock| names::lock_in_sentence(&profile.locks[lock as usize].name));
            format!("the policy `{}` for {}", experiment.policy, locks.collect::<Vec<_>>().join(", "))
        }
    }
}

fn wrapped(first: &str, next: &str, paragraph: &str) -> String {
    // Names come from the program: their control characters must not reach the terminal.
    let paragraph: String = paragraph.chars().map(|c| if is_obeyed(c) { ' ' } else { c }).collect();
    textwrap::fill(&paragraph, Options::new(COLUMNS).initial_indent(first).subsequent_indent(next)) + "\n"
}
