//! The picture of the reproduction: for each published table, our figures over the published ones.

use super::subject::Subject;
use super::svg::{self, Axis, escaped};
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::fmt::Write;
use std::path::Path;

/// Where names of tables end, where the first table lies, and how far tables are apart.
const LEFT: f64 = 400.0;
const TOP: f64 = 96.0;
const ROW: f64 = 20.0;

/// What the picture needs of a report of `turnwise-lab reproduce`.
#[derive(Deserialize)]
struct Report {
    commit: Option<String>,
    documents: Vec<Document>,
}

#[derive(Deserialize)]
struct Document {
    name: String,
    tables: Vec<Table>,
}

#[derive(Deserialize)]
struct Table {
    title: String,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    published: Option<f64>,
    ours: Option<f64>,
    fitted: bool,
}

impl Row {
    /// Ours over the published figure, if both have the same sign.
    fn ratio(&self) -> Option<f64> {
        let ratio = self.ours? / self.published?;
        (ratio > 0.0 && ratio.is_finite()).then_some(ratio)
    }
}

/// Draws the report of `subject` in a folder.
pub(super) fn picture(subject: &Subject, folder: &Path) -> Result<String> {
    let file = subject.report(folder);
    let report: Report = serde_json::from_value(super::json::read(&file)?)
        .with_context(|| format!("{} is not a report of turnwise-lab reproduce", file.display()))?;
    let tables = report.documents.iter().flat_map(|document| document.tables.iter().map(move |t| (document, t)));
    let tables: Vec<_> = tables.filter(|(_, table)| table.rows.iter().any(|row| row.ratio().is_some())).collect();
    ensure!(!tables.is_empty(), "{} has no figures beside published ones", file.display());
    let bottom = TOP - 15.0 + ROW * tables.len() as f64;
    let all = tables.iter().flat_map(|(_, table)| &table.rows);
    let apart = all.clone().filter(|row| row.ours.is_some() && row.published.is_some() && row.ratio().is_none());
    let axis = Axis::of(all.clone().filter_map(Row::ratio), LEFT, 815.0);
    let mut drawn = svg::head(subject.shows(), "The papers, reproduced: ours over published", bottom + 30.0);
    writeln!(
        drawn,
        "<circle class=\"m0\" cx=\"22\" cy=\"42\" r=\"4\"/><text class=\"small\" x=\"34\" y=\"46\">predicted</text>\
         <circle class=\"m1\" cx=\"112\" cy=\"42\" r=\"4\"/><text class=\"small\" x=\"124\" y=\"46\">a number was \
         fitted on it</text>\n<text class=\"small\" x=\"16\" y=\"64\">commit {}; a dot is a row; {} rows where ours \
         has the other sign, or one is zero, have none</text>",
        report.commit.as_deref().unwrap_or("unknown"),
        apart.count()
    )?;
    drawn += &axis.draw(TOP - 15.0, bottom);
    for (number, (document, table)) in tables.iter().enumerate() {
        let y = TOP + ROW * number as f64;
        let name = format!("{}: {}", document.name, table.title);
        let right = LEFT - 8.0;
        writeln!(
            drawn,
            "<text class=\"small\" x=\"{right}\" y=\"{y}\" text-anchor=\"end\">{}</text>",
            escaped(&shortened(&name))
        )?;
        for row in &table.rows {
            let Some(ratio) = row.ratio() else { continue };
            drawn += &axis.dot([ratio; 3], if row.fitted { "m1" } else { "m0" }, y - 4.0);
        }
    }
    Ok(drawn + "</svg>\n")
}

/// Returns as much of a name as fits.
fn shortened(name: &str) -> String {
    const MOST: usize = 64;
    if name.chars().count() <= MOST { name.to_owned() } else { name.chars().take(MOST - 1).chain(['…']).collect() }
}
