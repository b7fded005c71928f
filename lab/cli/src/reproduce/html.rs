//! The report as a page: one file with its style and its pictures in it. It asks for nothing from anywhere, and has no
//! script.

use super::outline::{self, Block, TITLE};
use super::{chart, dots, view};
use std::fmt::Write;
use turnwise_profile::output::page::{THEME, escaped};
use turnwise_reproduce::report::{Listing, Reproduction};

/// That of the simulator's page.
const STYLE: &str = include_str!("../sim/page/page.css");
/// What this page has beside it.
const MORE: &str = include_str!("page.css");

/// The page.
pub(crate) fn page(report: &Reproduction) -> String {
    let origin = escaped(&view::origin(report).replace('`', ""));
    let mut body = format!("<header><h1>{TITLE}</h1><p>{origin}</p></header>\n<section>\n");
    outline::outline(report).iter().for_each(|block| body += &shown(block));
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{TITLE}</title>\n\
         <style>\n{THEME}{STYLE}{MORE}</style>\n</head>\n<body>\n<main>\n{body}</section>\n\
         </main>\n</body>\n</html>\n"
    )
}

fn shown(block: &Block<'_>) -> String {
    match block {
        Block::Heading(1, title) => format!("</section>\n<section class=\"part\"><h1>{}</h1>\n", prose(title)),
        Block::Heading(_, title) => {
            let anchor = escaped(title).replace([':', '\''], "").replace(' ', "-");
            format!("</section>\n<section>\n<h2 id=\"{anchor}\">{}</h2>\n", prose(title))
        }
        Block::Score(line) => format!("<p class=\"score\">{}.</p>\n", prose(line)),
        Block::Text(text) => format!("<p>{}</p>\n", prose(text)),
        Block::List(_, items) if items.is_empty() => String::new(),
        Block::List(title, items) => {
            let items: String = items.iter().map(|item| format!("<li>{}</li>\n", prose(item))).collect();
            let title = if title.is_empty() { String::new() } else { format!("<h3>{title}</h3>\n") };
            format!("{title}<ul>\n{items}</ul>\n")
        }
        Block::Table(listing) => format!("<h3>{}</h3>\n{}", prose(&listing.title), table(listing)),
        Block::Folded(listing) => {
            format!("<details><summary>{}</summary>\n{}</details>\n", prose(&listing.title), table(listing))
        }
        Block::Dots(panels) => dots::figure(panels),
        Block::Curves(plot) | Block::Picture(plot) => chart::figure(plot),
    }
}

/// Plain text, and what is between backticks as code.
fn prose(text: &str) -> String {
    let escaped = escaped(text);
    let parts: Vec<&str> = escaped.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return escaped;
    }
    let tagged = |(place, part): (usize, &&str)| {
        if place.is_multiple_of(2) { (*part).to_owned() } else { format!("<code>{part}</code>") }
    };
    parts.iter().enumerate().map(tagged).collect()
}

fn table(listing: &Listing) -> String {
    let title = escaped(&listing.title).replace('"', "&quot;");
    let mut text = "<div class=\"scroll\" tabindex=\"0\" role=\"region\" ".to_owned();
    let _ = write!(text, "aria-label=\"{title}\">\n<table><thead><tr>");
    for (number, column) in listing.columns.iter().enumerate() {
        let class = if number == 0 || is_words(column) { " class=\"name\"" } else { "" };
        let _ = write!(text, "<th{class}>{}</th>", escaped(column));
    }
    text += "</tr></thead>\n<tbody>\n";
    for row in &listing.rows {
        text += "<tr>";
        for (number, cell) in row.iter().enumerate() {
            let _ =
                write!(text, "<td class=\"{}\">{}</td>", class(&listing.columns[number], number, cell), prose(cell));
        }
        text += "</tr>\n";
    }
    text + "</tbody></table>\n</div>\n"
}

/// Whether a column of this heading has words, not figures.
fn is_words(column: &str) -> bool {
    ["claim", "holds", "bound", "verdict", "notes"].contains(&column)
}

fn class(heading: &str, column: usize, cell: &str) -> &'static str {
    match cell {
        _ if column == 0 => "name",
        "met" | "yes" => "name met",
        "missed" | "NO" => "name missed",
        "fitted" | "not judged" => "name fitted",
        long if long.chars().count() > 24 => "words",
        _ if is_words(heading) => "name",
        _ => "",
    }
}
