//! A report as a document: a template writes it in a few lines of Markdown, from which text for a terminal, Markdown
//! for a file and a page without a script are made.
//!
//! | line | what |
//! |---|---|
//! | `# title`, `## title`, `### title` | the heading of a part, of a section, of a table or a list |
//! | `#### title` | that of a table which is shown on request, where that is possible |
//! | `**words**` | the one line to remember |
//! | `- words`, `* words` | a remark, an item of a list |
//! | `\| a \| b \|` | a row of a table; its second row, `\|---\|--:\|`, aligns the columns |
//! | a line of three backticks | the beginning and the end of lines that are shown as they are |
//! | `!3` | the picture of this number, on a page |
//! | others | a paragraph each |

use serde::Serialize;
use serde_json::json;
use turnwise_present::chart::Axis;
use turnwise_present::figures;
use turnwise_present::table::{self, CellAlignment, Table};
use turnwise_present::template::{self, Environment, Serde};
use turnwise_profile::output::page::{THEME, escaped};

/// The style of pages: that of the simulator's, and more.
const STYLE: [&str; 3] = [THEME, include_str!("../sim/page/page.css"), include_str!("still.css")];

/// Columns of text on a terminal.
const WIDTH: u16 = 100;
const WIDE: u16 = 120;

/// A cell of a page that is longer than this may be broken into lines.
const WORDS: usize = 24;

/// How to draw.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Style {
    /// For a terminal of [`WIDTH`] columns; tables of many columns may be wider.
    Plain,
    /// For a terminal of [`WIDE`] columns, tables too: their words are broken into lines.
    Wrapped,
    /// For a file.
    Markdown,
}

#[derive(Serialize)]
#[serde(tag = "kind", content = "of", rename_all = "lowercase")]
enum Block<'a> {
    Heading(usize, &'a str),
    Strong(&'a str),
    Remark(&'a str),
    List(Vec<&'a str>),
    Text(&'a str),
    Verbatim(Vec<&'a str>),
    Table(Vec<Vec<&'a str>>),
    Picture(usize),
}

/// Returns what templates of documents and of pictures have.
pub(crate) fn environment() -> Environment<'static> {
    let mut env = template::environment();
    env.add_filter("short", figures::short);
    env.add_filter("scaled", figures::scaled);
    env.add_filter("percent", figures::percent);
    env.add_filter("duration", figures::duration);
    env.add_filter("count", figures::count);
    env.add_filter("times", times);
    env.add_filter("number", |value: f64| value.to_string());
    env.add_filter("shortened", |text: String, most: usize| turnwise_profile::text::shortened(&text, most));
    env.add_filter("escaped", |text: String| escaped(&text));
    env.add_filter("prose", |text: String| prose(&text));
    env.add_filter("at", |Serde(axis): Serde<Axis>, value: f64| axis.at(value));
    env
}

/// Fills a template in. What is missing in `values` is an error that each template's test shows.
pub(crate) fn filled(name: &str, template: &str, values: impl Serialize) -> String {
    rendered(&environment(), name, template, values)
}

/// Fills a template in that has more than [`environment`].
pub(crate) fn rendered(env: &Environment<'_>, name: &str, template: &str, values: impl Serialize) -> String {
    template::render(env, name, template, values).unwrap_or_else(|error| panic!("{error:#}"))
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
pub(crate) fn shown(text: &str, style: Style) -> String {
    let blocks = blocks(text);
    match style {
        Style::Plain => plain(&blocks, WIDTH, table::framed),
        Style::Wrapped => plain(&blocks, WIDE, || table::wrapped(WIDE)),
        Style::Markdown => filled("markdown.jinja", include_str!("markdown.jinja"), json!({ "blocks": blocks })),
    }
}

/// Returns a page of this title: one file, with its style and its pictures in it, which loads nothing.
pub(crate) fn page(title: &str, text: &str, pictures: &[String]) -> String {
    let (style, blocks) = (STYLE.concat(), blocks(text));
    let page = json!({ "title": title, "style": style, "words": WORDS, "blocks": blocks, "pictures": pictures });
    filled("page.jinja", include_str!("page.jinja"), page)
}

fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut lines = text.lines().peekable();
    let mut blocks = Vec::new();
    while let Some(line) = lines.next() {
        let mut following = |start: &str, first| {
            let mut all = vec![first];
            while let Some(line) = lines.next_if(|line| line.starts_with(start)) {
                all.push(line);
            }
            all
        };
        let words = line.trim_start_matches('#').strip_prefix(' ');
        blocks.push(match (line.bytes().take_while(|byte| *byte == b'#').count(), words) {
            (level @ 1..5, Some(title)) => Block::Heading(level, title),
            _ if line.starts_with("**") => Block::Strong(line.trim_matches('*')),
            _ if line.starts_with("- ") => Block::Remark(&line[2..]),
            _ if line.starts_with("* ") => {
                Block::List(following("* ", line).into_iter().map(|line| &line[2..]).collect())
            }
            _ if line == "```" => Block::Verbatim(lines.by_ref().take_while(|line| *line != "```").collect()),
            _ if line.starts_with('|') => Block::Table(following("|", line).into_iter().map(cells).collect()),
            _ if line.is_empty() => continue,
            _ => match line.strip_prefix('!').and_then(|number| number.parse().ok()) {
                Some(number) => Block::Picture(number),
                None => Block::Text(line),
            },
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

fn plain(blocks: &[Block<'_>], width: u16, table: fn() -> Table) -> String {
    let filled = |words: &str, first| {
        let options = textwrap::Options::new(width.into()).initial_indent(first).subsequent_indent("  ");
        textwrap::fill(words, options.word_splitter(textwrap::WordSplitter::NoHyphenation)) + "\n"
    };
    let mut text = String::new();
    let mut after_table = false;
    for block in blocks {
        let gap =
            matches!(block, Block::Heading(..) | Block::Verbatim(_)) || after_table && matches!(block, Block::Text(_));
        text += if gap && !text.is_empty() { "\n" } else { "" };
        text += &match block {
            Block::Heading(1, title) => format!("{title}\n{}\n", "=".repeat(title.chars().count())),
            Block::Heading(_, title) => format!("{title}\n"),
            Block::Strong(words) | Block::Remark(words) | Block::Text(words) => filled(words, ""),
            Block::List(items) => items.iter().map(|item| filled(item, "- ")).collect(),
            Block::Verbatim(lines) => lines.join("\n") + "\n",
            Block::Table(rows) => drawn(rows, table()),
            Block::Picture(_) => continue,
        };
        after_table = matches!(block, Block::Table(_));
    }
    text
}

fn drawn(rows: &[Vec<&str>], mut table: Table) -> String {
    let [head, aligned, rows @ ..] = rows else { return String::new() };
    let is_right = |column: usize| aligned.get(column).is_some_and(|rule| rule.ends_with(':'));
    table.set_header(head).add_rows(rows);
    for (_, column) in table.column_iter_mut().enumerate().filter(|(number, _)| is_right(*number)) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string().lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Returns plain text as HTML, and what is between backticks as code.
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

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "words\n## a <title>\n| a | b |\n|---|--:|\n| x |  |\n| c|d | 12 |\n- one\n- two\n!0\n```\n x\n```\n";
    const MORE: &str = "**all**\n# part\n### list\n* one\n* two\n#### on request\n| a |\n|---|\n| yes |\n";

    #[test]
    fn each_style_shows_every_block() {
        let plain = shown(TEXT, Style::Plain);
        assert!(plain.starts_with("words\n\na <title>\n─") && plain.ends_with("one\ntwo\n\n x\n"), "{plain}");
        assert!(plain.lines().any(|line| line.contains("c|d") && line.ends_with("12")), "{plain}");
        let markdown = shown(TEXT, Style::Markdown);
        assert!(markdown.starts_with("words\n\n## a &lt;title>\n\n| a"), "{markdown}");
        assert!(markdown.contains("\n- one\n- two\n"), "{markdown}");
        assert!(page("t", "- a\n| b\n", &[]).contains("<table>"), "of one row");
        let page = page("<t>", TEXT, &["<svg/>".to_owned()]);
        for part in ["<h1>&lt;t&gt;</h1>", "<h2>a &lt;title&gt;</h2>", "<td>12</td>", "<svg/>", "<pre> x</pre>"] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert_eq!(page.matches("<section").count(), page.matches("</section>").count());
    }

    #[test]
    fn parts_lists_and_tables_on_request_are_shown() {
        let plain = shown(MORE, Style::Wrapped);
        assert!(plain.starts_with("all\n\npart\n====\n\nlist\n- one\n- two\n\non request\n a"), "{plain}");
        let markdown = shown(MORE, Style::Markdown);
        let folded = "<details><summary>on request</summary>\n\n| a |\n|---|\n| yes |\n\n</details>\n";
        assert_eq!(markdown, format!("**all**\n\n## part\n\n### list\n\n- one\n- two\n\n{folded}"));
        let page = page("t", MORE, &[]);
        for part in ["<h1>part</h1>", "<li>two</li>", "<summary>on request</summary>", "</details>"] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert_eq!(page.matches("<section").count(), page.matches("</section>").count());
    }
}
