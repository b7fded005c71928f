//! The progress of a reproduction, on standard error; silent unless that is a terminal.

use turnwise_present::progress::{self, ProgressBar};
use turnwise_reproduce::pool::Progress;

/// A bar for all papers, which run side by side. The number of runs of a fit is not known in advance, so its length is
/// a guess.
pub(crate) struct Bars {
    bar: ProgressBar,
}

impl Bars {
    pub(crate) fn new() -> Bars {
        Bars { bar: progress::bar(0, "{bar:30} {pos}/{len} runs, {elapsed}: {msg}") }
    }

    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for Bars {
    fn begin(&self, document: &str, runs: usize) {
        self.bar.inc_length(runs as u64);
        self.bar.set_message(document.to_owned());
    }

    fn done(&self, what: &str) {
        self.bar.set_message(what.to_owned());
        self.bar.inc(1);
        if Some(self.bar.position()) > self.bar.length() {
            self.bar.inc_length(1);
        }
    }
}
