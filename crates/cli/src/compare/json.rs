//! The report as a JSON document.

use super::report::Report;
use anyhow::Result;
use std::path::Path;
use turnwise_present::draft::Draft;
use turnwise_present::ending::print;

/// Where the document goes; opened before anything is measured.
pub(crate) enum Destination {
    Stdout,
    File(Draft),
}

impl Destination {
    /// Standard output unless a file is named.
    ///
    /// # Errors
    /// The file's directory cannot be written to.
    pub(crate) fn open(file: Option<&Path>) -> Result<Destination> {
        match file {
            None => Ok(Destination::Stdout),
            Some(file) => Draft::open("--json", file).map(Destination::File),
        }
    }

    /// Writes the document.
    ///
    /// # Errors
    /// As the system has it.
    pub(crate) fn write(self, report: &Report) -> Result<()> {
        let text = serde_json::to_string_pretty(report)? + "\n";
        match self {
            Destination::Stdout => print(&text),
            Destination::File(draft) => draft.write(text.as_bytes()),
        }
    }
}
