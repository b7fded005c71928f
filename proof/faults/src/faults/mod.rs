//! The table of faults, and how each is judged.

mod broken;
mod cpus;
mod deaths;
mod filters;
mod kernel;
mod limits;
mod outputs;
mod stops;

use crate::inject::tracer::ANSWERS;
use crate::run::Tally;
use crate::session::Session;
use anyhow::Result;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The outcome that a row must have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Expected {
    /// Nothing lost, nothing hung.
    Sound,
    /// The lock is wrong on purpose: something lost, or a hang before that is counted (two inside that both unlock may
    /// leave a lock that no thread gets).
    Loses,
    /// The lock is wrong on purpose: a hang.
    Hangs,
}

/// Why a row could not run here: an error that is none.
#[derive(Debug)]
pub(crate) struct Skipped(pub(crate) String);

impl std::fmt::Display for Skipped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Skipped {}

/// Ends a row unless what it needs is here.
fn need(here: bool, or: &str) -> Result<()> {
    if here { Ok(()) } else { Err(Skipped(or.to_owned()).into()) }
}

/// Ends a row that answers system calls, where no program can.
fn need_answers() -> Result<()> {
    need(ANSWERS, "system calls can be answered on x86-64 alone")
}

pub(crate) struct Fault {
    pub(crate) name: &'static str,
    pub(crate) expected: Expected,
    pub(crate) run: fn(&mut Session) -> Result<Tally>,
}

static ABOUT: LazyLock<BTreeMap<String, String>> =
    LazyLock::new(|| toml::from_str(include_str!("about.toml")).unwrap_or_else(|error| panic!("about.toml: {error}")));

impl Fault {
    /// Returns what happens to what, for the page.
    pub(crate) fn about(&self) -> &'static str {
        &ABOUT[self.name]
    }
}

const fn fault(name: &'static str, run: fn(&mut Session) -> Result<Tally>) -> Fault {
    Fault { name, expected: Expected::Sound, run }
}

/// Returns all faults, in the order of the page.
pub(crate) fn all() -> impl Iterator<Item = &'static Fault> {
    let families = [stops::FAULTS, deaths::FAULTS, kernel::FAULTS, filters::FAULTS, limits::FAULTS, outputs::FAULTS];
    families.into_iter().chain([cpus::FAULTS, broken::FAULTS]).flatten()
}

impl Expected {
    /// Judges the tally; the error is what is wrong with it.
    pub(crate) fn verdict(self, tally: &Tally) -> Result<(), &'static str> {
        match self {
            _ if tally.tries == 0 => Err("NOTHING INJECTED"),
            Expected::Sound if tally.hangs > 0 => Err("HANGS"),
            Expected::Sound if tally.lost > 0 => Err("LOST"),
            Expected::Sound if !tally.trouble.is_empty() => Err("WRONG"),
            Expected::Loses if tally.lost == 0 && tally.hangs == 0 => Err("NOT CAUGHT"),
            Expected::Hangs if tally.hangs == 0 => Err("NOT CAUGHT"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_row_says_what_is_wrong_with_it() {
        let tally = |tries, lost, hangs| Tally { tries, lost, hangs, ..Tally::default() };
        assert_eq!(Expected::Sound.verdict(&tally(5, 0, 0)), Ok(()));
        assert_eq!(Expected::Sound.verdict(&tally(0, 0, 0)), Err("NOTHING INJECTED"));
        assert_eq!(Expected::Sound.verdict(&tally(5, 1, 0)), Err("LOST"));
        assert_eq!(Expected::Sound.verdict(&tally(5, 0, 1)), Err("HANGS"));
        assert_eq!(Expected::Loses.verdict(&tally(5, 0, 0)), Err("NOT CAUGHT"));
        assert_eq!(Expected::Loses.verdict(&tally(5, 0, 1)), Ok(()));
        assert_eq!(Expected::Hangs.verdict(&tally(5, 3, 0)), Err("NOT CAUGHT"));
        assert_eq!(Expected::Hangs.verdict(&tally(5, 0, 1)), Ok(()));
    }

    #[test]
    fn each_has_its_text() {
        let names: BTreeSet<&str> = all().map(|fault| fault.name).collect();
        assert_eq!(names, ABOUT.keys().map(String::as_str).collect());
    }

    #[test]
    fn names_differ() {
        let mut names: Vec<_> = all().map(|fault| fault.name).collect();
        names.sort_unstable();
        let number = names.len();
        names.dedup();
        assert_eq!(names.len(), number);
    }
}
