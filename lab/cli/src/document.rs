//! A report as a document: a template writes it in a few lines of Markdown, from which text for a terminal, Markdown
//! for a file and a page without a script are made.
//!
//! | line | what |
//! |---|---|
//! | `## title` | a heading |
//! | `- words` | a remark |
//! | `\| a \| b \|` | a row of a table; its second row, `\|---\|--:\|`, aligns the columns |
//! | a line of three backticks | the beginning and the end of lines that are shown as they are |
//! | `!3` | the picture of this number, on a page |
//! | others | a paragraph each |

use crate::still::{self, prose};
use serde::Serialize;
use std::fmt::Display;
use turnwise_present::figures;
use turnwise_present::table::{self, CellAlignment};
use turnwise_reproduce::template;

/// Columns of text on a terminal; tables of many columns may be wider.
const WIDTH: usize = 100;

/// How to draw.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Style {
    /// For a terminal.
    Plain,
    /// For a file.
    Markdown,
    /// For a browser.
    Html,
}

enum Block<'a> {
    Heading(&'a str),
    Remark(&'a str),
    Text(&'a str),
    Verbatim(Vec<&'a str>),
    Table(Vec<Vec<&'a str>>),
    Picture(usize),
}

/// Fills a template in. What is missing in `values` is an error that each template's test shows.
pub(crate) fn filled(name: &str, template: &str, values: impl Serialize) -> String {
    let mut env = template::environment();
    env.add_filter("short", figures::short);
    env.add_filter("scaled", figures::scaled);
    env.add_filter("plain", figures::plain);
    env.add_filter("percent", figures::percent);
    env.add_filter("duration", figures::duration);
    env.add_filter("count", figures::count);
    env.add_filter("times", times);
    env.add_filter("number", |value: f64| value.to_string());
    env.add_filter("shortened", |text: String, most: usize| turnwise_profile::text::shortened(&text, most));
    template::render(&env, name, template, values).unwrap_or_else(|error| panic!("{error:#}"))
}

/// Formats a ratio, with three places near 1.
pub(crate) fn times(ratio: f64) -> String {
    match ratio {
        r if (0.01..10.0).contains(&r) => format!("{r:.3}"),
        r if (10.0..1000.0).contains(&r) => format!("{r:.1}"),
        r => turnwise_bench::figure::rate(r),
    }
}

/// Shows what a template wrote.
pub(crate) fn shown(text: &str, style: Style, pictures: &[String]) -> String {
    let mut shown = String::new();
    let mut before: Option<Block<'_>> = None;
    for block in blocks(text) {
        let gap = match (style, &before, &block) {
            (Style::Plain | Style::Markdown, _, Block::Picture(_)) => continue,
            (Style::Plain, Some(Block::Table(_)), Block::Text(_)) => true,
            (Style::Plain, ..) => matches!(block, Block::Heading(_) | Block::Verbatim(_)),
            (Style::Markdown, before, now) => !matches!((before, now), (Some(Block::Remark(_)), Block::Remark(_))),
            (Style::Html, ..) => false,
        };
        shown += if gap && before.is_some() { "\n" } else { "" };
        shown += &block.shown(style, pictures);
        before = Some(block);
    }
    shown
}

/// Returns a page of this title.
pub(crate) fn page(title: &str, text: &str, pictures: &[String]) -> String {
    let main = shown(text, Style::Html, pictures);
    still::page(title, &format!("<section>\n<h1>{}</h1>\n{main}</section>\n", prose(title)))
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut lines = text.lines().peekable();
    let mut blocks = Vec::new();
    while let Some(line) = lines.next() {
        blocks.push(if let Some(title) = line.strip_prefix("## ") {
            Block::Heading(title)
        } else if let Some(words) = line.strip_prefix("- ") {
            Block::Remark(words)
        } else if line == "```" {
            Block::Verbatim(lines.by_ref().take_while(|line| *line != "```").collect())
        } else if line.starts_with('|') {
            let mut rows = vec![cells(line)];
            while let Some(line) = lines.next_if(|line| line.starts_with('|')) {
                rows.push(cells(line));
            }
            Block::Table(rows)
        } else if let Some(number) = line.strip_prefix('!').and_then(|number| number.parse().ok()) {
            Block::Picture(number)
        } else if line.is_empty() {
            continue;
        } else {
            Block::Text(line)
        });
    }
    blocks
}

/// Returns the cells of a row, which no cell ends that has a `|` without a space at either side.
fn cells(line: &str) -> Vec<&str> {
    let line = line.strip_prefix('|').unwrap_or(line);
    if line.starts_with('-') {
        return line.trim_end_matches('|').split('|').collect();
    }
    let line = line.strip_prefix(' ').unwrap_or(line);
    line.strip_suffix(" |").unwrap_or(line).split(" | ").collect()
}

impl Block<'_> {
    fn shown(&self, style: Style, pictures: &[String]) -> String {
        match (self, style) {
            (Block::Heading(title), Style::Plain) => format!("{title}\n"),
            (Block::Heading(title), Style::Markdown) => format!("## {title}\n"),
            (Block::Heading(title), Style::Html) => format!("</section>\n<section>\n<h2>{}</h2>\n", prose(title)),
            (Block::Remark(words) | Block::Text(words), Style::Plain) => {
                let wrapped = textwrap::Options::new(WIDTH).subsequent_indent("  ");
                let wrapped = wrapped.word_splitter(textwrap::WordSplitter::NoHyphenation);
                textwrap::fill(words, wrapped) + "\n"
            }
            (Block::Remark(words), Style::Markdown) => format!("- {words}\n"),
            (Block::Remark(words), Style::Html) => format!("<p class=\"hint\">{}</p>\n", prose(words)),
            (Block::Text(words), Style::Markdown) => format!("{words}\n"),
            (Block::Text(words), Style::Html) => format!("<p>{}</p>\n", prose(words)),
            (Block::Verbatim(lines), Style::Plain) => lines.join("\n") + "\n",
            (Block::Verbatim(lines), Style::Markdown) => format!("```text\n{}\n```\n", lines.join("\n")),
            (Block::Verbatim(lines), Style::Html) => format!("<pre>{}</pre>\n", prose(&lines.join("\n"))),
            (Block::Picture(number), _) => pictures.get(*number).cloned().unwrap_or_default(),
            (Block::Table(rows), _) => drawn(rows, style),
        }
    }
}

fn drawn(rows: &[Vec<&str>], style: Style) -> String {
    let [head, aligned, rows @ ..] = rows else { return String::new() };
    let is_right = |column: usize| aligned.get(column).is_some_and(|rule| rule.ends_with(':'));
    let mut table = match style {
        Style::Plain => table::framed(),
        Style::Markdown => table::markdown(),
        Style::Html => {
            let owned = |row: &Vec<&str>| row.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
            let rows: Vec<Vec<String>> = rows.iter().map(owned).collect();
            return still::table(head[0], &owned(head), &rows, |column, _| if is_right(column) { "" } else { "name" });
        }
    };
    table.set_header(head).add_rows(rows);
    for (_, column) in table.column_iter_mut().enumerate().filter(|(number, _)| is_right(*number)) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{}\n", trimmed(table))
}

fn trimmed(table: impl Display) -> String {
    table.to_string().lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "words\n## a <title>\n| a | b |\n|---|--:|\n| x |  |\n| c|d | 12 |\n- one\n- two\n!0\n```\n x\n```\n";

    #[test]
    fn each_style_shows_every_block() {
        let plain = shown(TEXT, Style::Plain, &[]);
        assert!(plain.starts_with("words\n\na <title>\n─") && plain.ends_with("one\ntwo\n\n x\n"), "{plain}");
        assert!(plain.lines().any(|line| line.contains("c|d") && line.ends_with("12")), "{plain}");
        let markdown = shown(TEXT, Style::Markdown, &[]);
        assert!(markdown.starts_with("words\n\n## a <title>\n\n| a"), "{markdown}");
        assert!(markdown.contains("\n- one\n- two\n"), "{markdown}");
        let page = page("<t>", TEXT, &["<svg/>".to_owned()]);
        for part in ["<h1>&lt;t&gt;</h1>", "<h2>a &lt;title&gt;</h2>", "<td>12</td>", "<svg/>", "<pre> x</pre>"] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert_eq!(page.matches("<section>").count(), page.matches("</section>").count());
    }
}
