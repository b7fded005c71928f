//! The command to enter after a comparison.

use super::report::Report;
use super::verdict::Finding;
use crate::next::next;
use crate::target::Target;
use crate::variant::Variant;

/// Returns for each contender but the baseline its name, and the command that runs the program that way, if any.
pub(super) fn of_variants(variants: &[Variant], target: &Target) -> Vec<(String, Option<String>)> {
    let command = target.typed();
    let of = |variant: &Variant| {
        let run = variant.run_options().map(|options| format!("turnwise run {options}-- {command}"));
        (variant.name.clone(), run)
    };
    variants.iter().skip(1).map(of).collect()
}

/// Returns the next command: the best contender's, if it won, or otherwise a look at where threads wait.
pub(super) fn text(report: &Report, commands: &[(String, Option<String>)], target: &Target) -> String {
    let won = report.verdicts.iter().filter(|verdict| verdict.finding == Finding::Better);
    let of = |name: &str| commands.iter().find(|(known, _)| known == name)?.1.clone();
    let ratio = |name: &str| {
        let decides = report.metrics.first().map(|metric| metric.name.as_str());
        let row = report.summaries.iter().find(|row| row.policy == name && Some(row.metric.as_str()) == decides);
        row.and_then(|row| row.to_baseline).map_or(0.0, |ratio| ratio.ratio.ln().abs())
    };
    let best = won.max_by(|a, b| ratio(&a.policy).total_cmp(&ratio(&b.policy)));
    match best.and_then(|verdict| of(&verdict.policy)) {
        Some(run) => next(&run, "runs the program so from now on"),
        None if best.is_some() => String::new(),
        None => after_advice(report, target),
    }
}

/// Returns the next command if the winners' commands have already been shown.
pub(super) fn after_advice(report: &Report, target: &Target) -> String {
    if report.verdicts.iter().any(|verdict| verdict.finding == Finding::Better) {
        return String::new();
    }
    next(&format!("turnwise profile -- {}", target.typed()), "shows which locks threads wait for, and where")
}
