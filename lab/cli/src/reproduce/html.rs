//! The report as a page without a script.

use super::outline::{self, Block, TITLE};
use super::{chart, dots, view};
use crate::still::{self, prose};
use turnwise_profile::output::page::escaped;
use turnwise_reproduce::report::{Listing, Reproduction};

/// Returns the page.
pub(crate) fn page(report: &Reproduction) -> String {
    let origin = escaped(&view::origin(report).replace('`', ""));
    let mut body = format!("<header><h1>{TITLE}</h1><p>{origin}</p></header>\n<section>\n");
    outline::outline(report).iter().for_each(|block| body += &shown(block));
    still::page(TITLE, &(body + "</section>\n"))
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
        Block::Curves(plot) => chart::figure(plot, ["published", "simulated"]),
    }
}

fn table(listing: &Listing) -> String {
    let class = |column: usize, cell: Option<&str>| class(&listing.columns[column], column, cell);
    still::table(&listing.title, &listing.columns, &listing.rows, class)
}

/// Returns whether a column of this heading holds words, not figures.
fn is_words(column: &str) -> bool {
    ["claim", "holds", "bound", "verdict", "notes"].contains(&column)
}

fn class(heading: &str, column: usize, cell: Option<&str>) -> &'static str {
    match cell {
        _ if column == 0 => "name",
        Some("met" | "yes") => "name met",
        Some("missed" | "NO") => "name missed",
        Some("fitted" | "not judged") => "name fitted",
        Some(long) if long.chars().count() > 24 => "words",
        _ if is_words(heading) => "name",
        _ => "",
    }
}
