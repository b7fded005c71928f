//! What a report shows, in which order: the same in text, Markdown and HTML. First the answer: claims, a picture for
//! each paper, and what explains its misses. Then the appendix, with every row.

use super::dumbbell::{self, Panel};
use super::notes::Notes;
use super::view;
use turnwise_reproduce::report::{Listing, PaperReport, Plot, Reproduction};

/// The title of all of it.
pub(crate) const TITLE: &str = "The papers, reproduced";
/// The title of what follows the answer.
pub(crate) const APPENDIX: &str = "Appendix: every row";
/// The title of what goes beyond the papers.
pub(crate) const TODAY: &str = "Appendix: today's locks under the same workloads";

/// The reasons for the bounds.
const BOUNDS: &str = "Bounds: 25% is the error of simulators of this class (Sniper); 10 points for a change, 1 for a \
                      small share; a factor 1.5 where only the machine's class is known; 6.6% is what a n + b n^2 \
                      reaches.";

/// A part of the report.
pub(crate) enum Block<'a> {
    /// Starts a part of this name, of level 1 or 2.
    Heading(u8, String),
    /// The one line to remember.
    Score(String),
    /// A paragraph.
    Text(String),
    /// A list, under its title if it has one.
    List(&'static str, Vec<String>),
    /// A table under its title.
    Table(Listing),
    /// A table that is shown on request.
    Folded(Listing),
    /// Published and simulated figures as dots.
    Dots(Vec<Panel<'a>>),
    /// Curves, on pages that can draw them.
    Curves(&'a Plot),
}

/// Returns the whole report.
pub(crate) fn outline(report: &Reproduction) -> Vec<Block<'_>> {
    let mut blocks = vec![Block::Score(report.score.to_string()), Block::Text(BOUNDS.to_owned())];
    if report.quick {
        blocks.push(Block::Text("Short version (--quick): each paper says what it left out.".to_owned()));
    }
    blocks.push(Block::Table(view::claims(report)));
    report.documents.iter().for_each(|document| answer(document, &mut blocks));
    blocks.push(Block::Heading(1, APPENDIX.to_owned()));
    report.documents.iter().for_each(|document| rows(document, &mut blocks));
    blocks.push(Block::Heading(1, TODAY.to_owned()));
    report.documents.iter().for_each(|document| today(document, &mut blocks));
    blocks
}

/// Adds the picture of a paper, and what may explain its misses.
fn answer<'a>(document: &'a PaperReport, blocks: &mut Vec<Block<'a>>) {
    blocks.push(Block::Heading(2, document.name.clone()));
    blocks.push(Block::Text(view::about(document)));
    let panels = dumbbell::panels(document);
    if !panels.is_empty() {
        blocks.push(Block::Dots(panels));
    }
    blocks.push(Block::List("", document.misses().iter().map(view::miss).collect()));
}

/// Adds all rows of a paper, and all that went into them.
fn rows<'a>(document: &'a PaperReport, blocks: &mut Vec<Block<'a>>) {
    let notes = Notes::of(document);
    blocks.push(Block::Heading(2, format!("{}: all rows", document.name)));
    blocks.push(Block::List("", view::setting(document)));
    blocks.extend(document.plots.iter().map(Block::Curves));
    for table in &document.tables {
        blocks.push(Block::Table(view::table(table, &notes)));
    }
    blocks.push(Block::List("Notes", notes.numbered()));
    blocks.push(Block::List("Facts", document.facts.clone()));
    blocks.push(Block::List("Left out", document.left_out.clone()));
    blocks.extend(document.listings.iter().cloned().map(Block::Folded));
}

/// Adds today's locks, next to the paper's own.
fn today<'a>(document: &'a PaperReport, blocks: &mut Vec<Block<'a>>) {
    let tables: Vec<Listing> = document.tables.iter().filter_map(view::today).collect();
    if tables.is_empty() {
        return;
    }
    blocks.push(Block::Heading(2, format!("{}: today's locks", document.name)));
    blocks.extend(tables.into_iter().map(Block::Table));
}
