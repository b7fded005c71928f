//! Caveats for the reader of a comparison's figures.

use super::runs::Run;
use crate::metric::{Metric, title};
use clap::ValueEnum;
use std::collections::BTreeMap;
use turnwise_present::others::Others;
use turnwise_profile::figures::plural;

/// Returns the notes, a sentence each, the most serious first.
pub(crate) fn notes(metrics: &[Metric], others: Option<Others>, policies: &[String], runs: &[Run]) -> Vec<String> {
    let mut notes: Vec<String> = statuses(policies, runs).into_iter().collect();
    notes.extend(unused(policies, runs));
    notes.extend(uncontended(policies, runs));
    notes.extend(others.iter().flat_map(Others::notes));
    notes.extend(metrics.iter().filter_map(|metric| matches(metric, runs)));
    notes
}

/// Describes, with `--any-status`, how the runs under each policy ended, unless all ended alike.
fn statuses(policies: &[String], runs: &[Run]) -> Option<String> {
    let first = runs.first()?.exit_status;
    if runs.iter().all(|run| run.exit_status == first) {
        return None;
    }
    let of = |policy: &String| {
        let mut counts = BTreeMap::<i32, u64>::new();
        for run in runs.iter().filter(|run| run.policy == *policy) {
            *counts.entry(run.exit_status).or_default() += 1;
        }
        let counts = counts.into_iter().map(|(status, count)| format!("{status} in {}", plural(count, "run", "runs")));
        format!("{policy}: {}", counts.collect::<Vec<_>>().join(", "))
    };
    let all: Vec<String> = policies.iter().map(of).collect();
    Some(format!("exit statuses differ, so the work may differ, too ({})", all.join("; ")))
}

/// Returns the policies under which all runs are known to satisfy `is`: no locks, or no waits for them.
fn policies_where<'a>(policies: &'a [String], runs: &[Run], is: impl Fn(&Run) -> bool) -> Vec<&'a str> {
    let all_are = |policy: &String| {
        let mut of_policy = runs.iter().filter(|run| run.policy == *policy).peekable();
        of_policy.peek().is_some() && of_policy.all(&is)
    };
    policies.iter().filter(|policy| all_are(policy)).map(String::as_str).collect()
}

fn unused(policies: &[String], runs: &[Run]) -> Option<String> {
    let names = policies_where(policies, runs, |run| run.locks_used == Some(false));
    (!names.is_empty()).then(|| {
        format!(
            "the program used no pthread lock under {}, so all that can differ is what loading a library costs (it has \
             one thread, waits by futexes of its own, or starts others in an empty environment; turnwise profile \
             --futex sees all waits)",
            names.join(", ")
        )
    })
}

fn uncontended(policies: &[String], runs: &[Run]) -> Option<String> {
    let names =
        policies_where(policies, runs, |run| run.locks_used == Some(true) && run.locks_contended == Some(false));
    (!names.is_empty()).then(|| {
        format!(
            "no thread had to wait for one of our locks under {}: policies can only differ in what free locks and \
             condition variables cost",
            names.join(", ")
        )
    })
}

/// Describes how a figure is combined from several in the program's output.
fn matches(metric: &Metric, runs: &[Run]) -> Option<String> {
    let combine = metric.combine?.to_possible_value()?;
    let counts = || runs.iter().filter_map(|run| run.matches.get(&metric.name).copied());
    let (least, most) = (counts().min()?, counts().max()?);
    let (name, how) = (title(&metric.name), combine.get_name());
    match (least, most) {
        (1, 1) => None,
        _ if least == most => Some(format!("{name} is the {how} of {most} matches in each run")),
        _ => Some(format!(
            "{name} is the {how} of {least} to {most} matches in a run; --metric-combine chooses another way"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Usage;

    fn run(policy: &str, exit_status: i32, locks: Option<(bool, bool)>) -> Run {
        Run {
            policy: policy.to_owned(),
            round: 0,
            position: 0,
            warmup: false,
            exit_status,
            library_loaded: None,
            locks_used: locks.map(|(used, _)| used),
            locks_contended: locks.map(|(_, contended)| contended),
            usage: Usage::default(),
            printed: BTreeMap::new(),
            matches: BTreeMap::new(),
        }
    }

    #[test]
    fn statuses_are_reported_only_where_they_differ() {
        let policies = ["libc", "adaptive"].map(str::to_owned);
        let same = [run("libc", 3, None), run("adaptive", 3, None)];
        assert_eq!(statuses(&policies, &same), None);
        let differ = [run("libc", 0, None), run("adaptive", 134, None), run("libc", 0, None), run("adaptive", 0, None)];
        let shown = statuses(&policies, &differ).unwrap();
        assert!(shown.ends_with("(libc: 0 in 2 runs; adaptive: 0 in 1 run, 134 in 1 run)"), "{shown}");
    }

    #[test]
    fn locks_are_called_unused_only_if_that_is_known_of_all_runs() {
        let policies = ["libc", "adaptive", "queued", "ttas", "ticket"].map(str::to_owned);
        let (no_locks, free, taken) = (Some((false, false)), Some((true, false)), Some((true, true)));
        let runs = [
            run("libc", 0, None),
            run("adaptive", 0, no_locks),
            run("adaptive", 0, no_locks),
            run("queued", 0, no_locks),
            run("queued", 0, None),
            run("ttas", 0, free),
            run("ttas", 0, free),
            run("ticket", 0, free),
            run("ticket", 0, taken),
        ];
        assert!(unused(&policies, &runs).is_some_and(|note| note.contains("no pthread lock under adaptive, so")));
        assert!(uncontended(&policies, &runs).is_some_and(|note| note.contains("locks under ttas:")));
        assert_eq!((unused(&policies, &runs[7..]), uncontended(&policies, &runs[7..])), (None, None));
    }
}
