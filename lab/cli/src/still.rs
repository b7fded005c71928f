//! Pages without a script: one file with its style and its pictures in it. They load nothing from anywhere.

use turnwise_profile::output::page::{THEME, escaped};

/// That of the simulator's page.
const STYLE: &str = include_str!("sim/page/page.css");
/// What these pages have in addition.
const MORE: &str = include_str!("still.css");

/// Returns a page of this title, with the content `main`.
pub(crate) fn page(title: &str, main: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{}</title>\n\
         <style>\n{THEME}{STYLE}{MORE}</style>\n</head>\n<body>\n<main>\n{main}</main>\n</body>\n</html>\n",
        escaped(title)
    )
}

/// Returns plain text, and what is between backticks as code.
pub(crate) fn prose(text: &str) -> String {
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

/// Returns a table that can be scrolled. `class` is that of the cell of a column, or of its heading.
pub(crate) fn table(
    title: &str,
    columns: &[String],
    rows: &[Vec<String>],
    class: impl Fn(usize, Option<&str>) -> &'static str,
) -> String {
    let title = escaped(title).replace('"', "&quot;");
    let cell = |tag: &str, class: &str, text: String| match class {
        "" => format!("<{tag}>{text}</{tag}>"),
        _ => format!("<{tag} class=\"{class}\">{text}</{tag}>"),
    };
    let head = columns.iter().enumerate().map(|(place, column)| cell("th", class(place, None), escaped(column)));
    let row = |row: &Vec<String>| {
        let cells = row.iter().enumerate().map(|(place, text)| cell("td", class(place, Some(text)), prose(text)));
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{title}\">\n\
         <table><thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody></table>\n</div>\n",
        head.collect::<String>(),
        rows.iter().map(row).collect::<String>()
    )
}
