//! The report as a page without a script: the tables of the text, with pictures.

use super::picture::{Dot, LEGEND, dots};
use super::text::{self, Style, times};
use crate::still::{self, prose};
use turnwise_bench::report::{LockReport, Report, ScenarioReport};
use turnwise_bench::subject::Subject;
use turnwise_present::figures::time;

/// Returns the page.
pub(crate) fn page(report: &Report) -> String {
    let subject = Subject::find(&report.subject).map_or(report.subject.as_str(), |subject| subject.help);
    let title = format!("Locks on this machine, compared: {subject}");
    let parts = text::parts(report, Style::Html);
    let scenarios: String = report.scenarios.iter().zip(&parts.scenarios).map(|(s, text)| scenario(s, text)).collect();
    let main = [
        format!("<header><h1>{}</h1>{}</header>\n", prose(&title), parts.heading),
        section(&parts.verdict, ""),
        section(&parts.summary, &speeds(report)),
        scenarios,
        section(&parts.left_out, ""),
        section(&parts.documents, ""),
        format!(
            "<section>\n<details><summary>What the figures are</summary>\n{}</details>\n</section>\n",
            parts.legend
        ),
    ];
    still::page(&title, &main.concat())
}

/// Renders a part with its title and a picture below it; nothing if there is no such part.
fn section(part: &str, picture: &str) -> String {
    if part.is_empty() { String::new() } else { format!("<section>\n{part}{picture}</section>\n") }
}

fn scenario(scenario: &ScenarioReport, text: &str) -> String {
    let late = scenario.locks.iter().any(|lock| lock.late.is_some());
    let title = if late { "99th percentile of the waits" } else { "time per operation" };
    let dot = |lock: &LockReport| Some(Dot { label: lock.name.clone(), figure: lock.cost()?, ours: lock.ours });
    let all: Vec<Dot> = scenario.locks.iter().filter_map(dot).collect();
    section(text, &dots(title, &all, None, time))
}

/// Renders, for every cell, how fast ours are compared with the reference.
fn speeds(report: &Report) -> String {
    let of = |scenario: &ScenarioReport| -> Vec<Dot> {
        let reference = scenario.reference.as_deref().unwrap_or_default();
        let compared = scenario.locks.iter().filter(|lock| lock.ours && lock.name != reference);
        let dot = |lock: &LockReport| {
            let label = format!("{}: {} / {reference}", scenario.name, lock.name);
            Some(Dot { label, figure: lock.speed?, ours: true })
        };
        compared.filter_map(dot).collect()
    };
    let all: Vec<Dot> = report.scenarios.iter().flat_map(of).collect();
    LEGEND.to_owned() + &dots("speed; right of the line ours is faster", &all, Some(1.0), times)
}
