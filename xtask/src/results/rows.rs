//! The picture of the reproduction: for each published table, our figures over the published ones.

use super::json::{each, text};
use super::svg::{self, Axis, escaped};
use anyhow::{Result, ensure};
use serde_json::Value;
use std::fmt::Write;

/// Where names of tables end, where the first table lies, and how far tables are apart.
const LEFT: f64 = 400.0;
const TOP: f64 = 96.0;
const ROW: f64 = 20.0;

/// Returns ours over the published figure, if both have the same sign.
fn ratio(row: &Value) -> Option<f64> {
    let ratio = row["ours"].as_f64()? / row["published"].as_f64()?;
    (ratio > 0.0 && ratio.is_finite()).then_some(ratio)
}

/// Draws a report, under this title.
pub(super) fn picture(title: &str, report: &Value) -> Result<String> {
    let tables = each(&report["documents"]).iter().flat_map(|of| each(&of["tables"]).iter().map(move |t| (of, t)));
    let tables: Vec<_> = tables.filter(|(_, table)| each(&table["rows"]).iter().any(|r| ratio(r).is_some())).collect();
    ensure!(!tables.is_empty(), "the report has no figures beside published ones");
    let bottom = TOP - 15.0 + ROW * tables.len() as f64;
    let all = tables.iter().flat_map(|(_, table)| each(&table["rows"]));
    let apart =
        all.clone().filter(|row| row["ours"].is_number() && row["published"].is_number() && ratio(row).is_none());
    let axis = Axis::of(all.clone().filter_map(ratio), LEFT, 815.0);
    let mut drawn = svg::head(title, "The papers, reproduced: ours over published", bottom + 30.0);
    writeln!(
        drawn,
        "<circle class=\"m0\" cx=\"22\" cy=\"42\" r=\"4\"/><text class=\"small\" x=\"34\" y=\"46\">predicted</text>\
         <circle class=\"m1\" cx=\"112\" cy=\"42\" r=\"4\"/><text class=\"small\" x=\"124\" y=\"46\">a number was \
         fitted on it</text>\n<text class=\"small\" x=\"16\" y=\"64\">commit {}; a dot is a row; {} rows where ours \
         has the other sign, or one is zero, have none</text>",
        text(&report["commit"]),
        apart.count()
    )?;
    drawn += &axis.draw(TOP - 15.0, bottom);
    for (number, (document, table)) in tables.iter().enumerate() {
        let y = TOP + ROW * number as f64;
        let name = format!("{}: {}", text(&document["name"]), text(&table["title"]));
        let right = LEFT - 8.0;
        writeln!(
            drawn,
            "<text class=\"small\" x=\"{right}\" y=\"{y}\" text-anchor=\"end\">{}</text>",
            escaped(&shortened(&name))
        )?;
        for row in each(&table["rows"]) {
            let Some(ratio) = ratio(row) else { continue };
            drawn += &axis.dot([ratio; 3], if row["fitted"] == true { "m1" } else { "m0" }, y - 4.0);
        }
    }
    Ok(drawn + "</svg>\n")
}

/// Returns as much of a name as fits.
fn shortened(name: &str) -> String {
    const MOST: usize = 64;
    if name.chars().count() <= MOST { name.to_owned() } else { name.chars().take(MOST - 1).chain(['…']).collect() }
}
