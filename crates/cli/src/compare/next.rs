//! What to type after a comparison.

use super::report::Report;
use super::verdict::Finding;
use crate::next::next;
use crate::target::Target;
use crate::variant::Variant;

/// For each contender but the baseline: its name, and the command that runs the program so, if there is one.
pub(super) fn of_variants(variants: &[Variant], target: &Target) -> Vec<(String, Option<String>)> {
    let command = target.typed();
    let of = |variant: &Variant| {
        let run = variant.run_options().map(|options| format!("turnwise run {options}-- {command}"));
        (variant.name.clone(), run)
    };
    variants.iter().skip(1).map(of).collect()
}

/// The command that comes next: the best contender's, if it won, or else a look at where threads wait.
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

/// The same where the commands of what won are told already.
pub(super) fn after_advice(report: &Report, target: &Target) -> String {
    if report.verdicts.iter().any(|verdict| verdict.finding == Finding::Better) {
        return String::new();
    }
    next(&format!("turnwise profile -- {}", target.typed()), "shows which locks threads wait for, and where")
}
