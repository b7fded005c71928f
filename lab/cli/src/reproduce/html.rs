//! The report as a page: one file with its style and its curves in it. It asks for nothing from anywhere, and has no
//! script.

use super::{chart, view};
use std::fmt::Write;
use turnwise_profile::output::page::{THEME, escaped};
use turnwise_reproduce::report::{DocumentReport, Listing, Reproduction};

/// That of the simulator's page.
const STYLE: &str = include_str!("../sim/page/page.css");
/// What this page has beside it.
const MORE: &str = "\
td.met { color: var(--c2); } td.missed { color: var(--warn); font-weight: 600; } td.fitted { color: var(--soft); }
td.words { white-space: normal; text-align: left; min-width: 220px; }
.chart { height: auto; } .chart svg { height: auto; }
h3 { font-size: 15px; margin: 18px 0 6px; } ul { padding-left: 20px; }
";

/// The page.
pub(crate) fn page(report: &Reproduction) -> String {
    let mut body = format!(
        "<header><h1>The case studies, reproduced</h1><p>{}</p></header>\n",
        escaped(&view::origin(report).replace('`', ""))
    );
    let _ = writeln!(body, "<section>{}</section>", table(&view::claims(report), "h2"));
    let _ = writeln!(body, "<section>{}</section>", table(&view::summary(report), "h2"));
    report.documents.iter().for_each(|document| body += &section(document));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>The case studies, reproduced</title>\n\
         <style>\n{THEME}{STYLE}{MORE}</style>\n</head>\n<body>\n<main>\n{body}\
         </main>\n</body>\n</html>\n"
    )
}

fn section(document: &DocumentReport) -> String {
    let mut text = format!("<section>\n<h2 id=\"{0}\">{0}</h2>\n", escaped(&document.name));
    let _ = writeln!(text, "<p>{}</p>\n<dl>", escaped(&document.title));
    let machine = format!("{}, {}", document.machine.name, document.machine.title);
    let fitted: Vec<String> = document.fitted.iter().map(view::fitted).collect();
    let fitted = if fitted.is_empty() { "nothing".to_owned() } else { fitted.join("; ") };
    let score = view::score(document);
    let about = [
        ("published on", &document.published_on),
        ("simulated", &machine),
        ("workload", &document.workload),
        ("fitted", &fitted),
        ("chosen", &document.chosen.join("; ")),
        ("score", &score),
    ];
    for (term, words) in about {
        let _ = writeln!(text, "<dt>{term}</dt><dd>{}</dd>", escaped(words));
    }
    text += "</dl>\n";
    document.plots.iter().for_each(|plot| text += &chart::figure(plot));
    text += &items("Facts", document.facts.iter().cloned());
    for published in &document.tables {
        text += &table(&view::table(published), "h3");
        if let Some(today) = view::today(published) {
            let _ = writeln!(text, "<p class=\"hint\">{}</p>", escaped(&today));
        }
    }
    text += &items("Bars", document.bars.iter().map(view::bar));
    text += &items("Notes", document.notes.iter().cloned());
    document.listings.iter().for_each(|listing| text += &table(listing, "h3"));
    text += &items("Left out", document.left_out.iter().cloned());
    text + "</section>\n"
}

fn items(title: &str, items: impl Iterator<Item = String>) -> String {
    let items: String = items.map(|item| format!("<li>{}</li>\n", escaped(&item))).collect();
    if items.is_empty() { items } else { format!("<h3>{title}</h3>\n<ul>\n{items}</ul>\n") }
}

fn table(listing: &Listing, heading: &str) -> String {
    let title = escaped(&listing.title);
    let mut text = format!("<{heading}>{title}</{heading}>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" ");
    let _ = write!(text, "aria-label=\"{}\">\n<table><thead><tr>", title.replace('"', "&quot;"));
    for (number, column) in listing.columns.iter().enumerate() {
        let _ = write!(text, "<th{}>{}</th>", if number == 0 { " class=\"name\"" } else { "" }, escaped(column));
    }
    text += "</tr></thead>\n<tbody>\n";
    for row in &listing.rows {
        text += "<tr>";
        for (number, cell) in row.iter().enumerate() {
            let _ = write!(text, "<td class=\"{}\">{}</td>", class(number, cell), escaped(cell));
        }
        text += "</tr>\n";
    }
    text + "</tbody></table>\n</div>\n"
}

fn class(column: usize, cell: &str) -> &'static str {
    match cell {
        _ if column == 0 => "name",
        "met" => "met",
        "missed" => "missed",
        "fitted" => "fitted",
        long if long.chars().count() > 40 => "words",
        _ => "",
    }
}
