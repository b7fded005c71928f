//! How far a reproduction is, on standard error; silent unless that is a terminal.

use turnwise_present::progress::{self, ProgressBar};
use turnwise_reproduce::pool::Progress;

/// A bar for the document that runs. How many runs a fit takes is not known before, so its length is a guess.
pub(crate) struct Bars {
    bar: ProgressBar,
}

impl Bars {
    pub(crate) fn new() -> Bars {
        Bars { bar: progress::bar(0, "{prefix:16} {bar:30} {pos}/{len} runs, {elapsed}: {msg}") }
    }
}

impl Progress for Bars {
    fn begin(&self, document: &str, runs: usize) {
        self.bar.reset();
        self.bar.set_length(runs as u64);
        self.bar.set_prefix(document.to_owned());
        self.bar.set_message("");
    }

    fn done(&self, what: &str) {
        self.bar.set_message(what.to_owned());
        self.bar.inc(1);
        if Some(self.bar.position()) > self.bar.length() {
            self.bar.inc_length(1);
        }
    }

    fn end(&self) {
        self.bar.finish_and_clear();
    }
}
