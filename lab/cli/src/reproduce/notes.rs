//! Numbers for notes: a row has room for `N3`, not for a sentence.

use std::collections::HashMap;
use turnwise_reproduce::report::{PaperReport, Row};

/// A remark of at most this length, and of one row alone, stands in its row.
const SHORT: usize = 30;

/// All notes of a paper: those of its rows, then its own.
pub(crate) struct Notes<'a> {
    texts: Vec<&'a str>,
}

impl<'a> Notes<'a> {
    /// Collects them.
    pub(crate) fn of(document: &'a PaperReport) -> Notes<'a> {
        let of_rows: Vec<&str> = document.rows().filter(|row| row.published.is_some()).flat_map(said).collect();
        let mut uses: HashMap<&str, usize> = HashMap::new();
        of_rows.iter().for_each(|text| *uses.entry(text).or_default() += 1);
        let mut texts: Vec<&str> = Vec::new();
        let long = of_rows.into_iter().filter(|text| uses[text] > 1 || text.chars().count() > SHORT);
        for text in long.chain(document.notes.iter().map(String::as_str)) {
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        Notes { texts }
    }

    /// Returns the cell that stands in a row for its notes.
    pub(crate) fn cell(&self, row: &Row) -> String {
        let number = |text: &str| {
            let place = self.texts.iter().position(|note| *note == text);
            place.map_or_else(|| text.to_owned(), |place| format!("N{}", place + 1))
        };
        said(row).map(number).collect::<Vec<_>>().join(", ")
    }

    /// Returns the notes, each with its number.
    pub(crate) fn numbered(&self) -> Vec<String> {
        self.texts.iter().enumerate().map(|(place, text)| format!("N{}: {text}", place + 1)).collect()
    }
}

/// Returns the remarks of a row.
fn said(row: &Row) -> impl Iterator<Item = &str> {
    let unjudged = row.unjudged.as_deref().filter(|_| !row.fitted);
    [unjudged, row.remark.as_deref()].into_iter().flatten()
}
