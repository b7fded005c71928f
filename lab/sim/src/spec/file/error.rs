//! What is wrong with a machine file.

use std::error::Error;
use std::fmt;

/// A machine file, or the name of one, that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpecError {
    /// The file, or the builtin machine.
    pub origin: String,
    /// The line of the key, where it is known.
    pub line: Option<usize>,
    /// The key in full (`system.idle_exit[1].after_ns`); empty where the file as a whole is meant.
    pub key: String,
    /// What is wrong with it.
    pub problem: String,
    /// What to do.
    pub remedy: String,
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.origin)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if !self.key.is_empty() {
            write!(f, ": `{}`", self.key)?;
        }
        write!(f, ": {}; {}", self.problem, self.remedy)
    }
}

impl Error for SpecError {}

/// The same before anybody knows which file it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Fault {
    pub(super) key: String,
    problem: String,
    remedy: String,
}

impl Fault {
    pub(super) fn new(key: impl Into<String>, problem: impl Into<String>, remedy: impl Into<String>) -> Fault {
        Fault { key: key.into(), problem: problem.into(), remedy: remedy.into() }
    }

    pub(super) fn at(self, origin: &str, line: Option<usize>) -> SpecError {
        SpecError { origin: origin.to_owned(), line, key: self.key, problem: self.problem, remedy: self.remedy }
    }
}
