//! The text about a paper apart from its figures: `words.toml` in its folder.

use crate::explanations::Explanation;
use crate::numbers::Numbers;
use crate::report::PaperReport;
use crate::{Context, Paper, page};
use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};
use turnwise_bench::published;
use turnwise_sim::spec::Machine;
use turnwise_simbench::report::SimMachine;

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    /// What the threads do; otherwise it is published.
    workload: Option<String>,
    chosen: Vec<String>,
    facts: Vec<String>,
    left_out: Vec<String>,
    #[serde(default)]
    notes: Vec<String>,
    #[serde(rename = "why")]
    whys: Vec<Explanation>,
}

impl Words {
    fn of(document: &str, fill: impl FnOnce(&str) -> String) -> Result<Words> {
        let file = fill(Paper::named(document)?.words);
        toml::from_str(&file).with_context(|| format!("{document}/words.toml"))
    }

    fn all(&self) -> impl Iterator<Item = &String> {
        let lists = [&self.chosen, &self.facts, &self.left_out, &self.notes];
        lists.into_iter().flatten().chain(&self.workload)
    }
}

/// Returns what is known about a paper's misses.
///
/// # Errors
/// If there is no such paper.
pub fn whys(document: &str) -> Result<Vec<Explanation>> {
    Ok(Words::of(document, str::to_owned)?.whys)
}

impl PaperReport {
    /// Returns the report of a paper: its text, with these numbers of the model, and what its template states.
    pub(crate) fn of(
        context: &Context<'_>,
        name: &str,
        machine: &Machine,
        numbers: &Numbers<'_>,
        ours: impl Serialize,
    ) -> Result<PaperReport> {
        let words = Words::of(name, |text| numbers.fill(text))?;
        let open = words.all().find(|text| text.contains(['{', '}']));
        ensure!(open.is_none(), "{name}/words.toml: a number is missing: {}", open.map_or("", String::as_str));
        let Words { workload, chosen, facts, left_out, mut notes, whys } = words;
        notes.push(page(name));
        let label = |label| published::text(name, label);
        let report = PaperReport {
            name: name.to_owned(),
            title: published::title(name),
            published_on: label("machine").unwrap_or_default(),
            machine: SimMachine::of(machine),
            workload: workload.or_else(|| label("workload")).unwrap_or_default(),
            facts,
            chosen,
            whys,
            notes,
            left_out: context.choose(left_out, Vec::new()),
            open: numbers.open(machine),
            ..PaperReport::default()
        };
        report.state(ours)
    }
}
