//! What is wrong with a machine file.

use std::error::Error;
use std::fmt;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use turnwise_present::toml_file::{Advice, Problem, explain, line_at, unusable};

/// A machine file, or the name of one, that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpecError {
    /// The line of the key, where it is known.
    pub line: Option<usize>,
    /// The key in full (`system.idle_exit[1].after_ns`); empty where the file as a whole is meant.
    pub key: String,
    /// File, line, what is wrong there, and what to do.
    shown: String,
}

impl SpecError {
    /// Returns an error of the TOML reader.
    pub(super) fn of_reader(error: &toml::de::Error, origin: &str, text: &str) -> SpecError {
        let (key, problem) = explain(error, text, &ADVICE);
        SpecError::at(key, problem, origin, text)
    }

    /// Returns an error that is not about a file's content.
    pub(in crate::spec) fn of_name(shown: String) -> SpecError {
        SpecError { line: None, key: String::new(), shown }
    }

    fn at(key: String, problem: Problem, origin: &str, text: &str) -> SpecError {
        let line = Some(line_at(text.as_bytes(), problem.place.start));
        SpecError { line, key, shown: unusable(SORT, &[problem], origin, text) }
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl Error for SpecError {}

/// The name of such files in messages.
pub(in crate::spec) const SORT: &str = "machine file";

const ADVICE: Advice = Advice {
    wrong_kind: "give a value of the kind that docs/machine-files.md names for this key",
    missing: |name| match name {
        "source" => {
            "say where the numbers come from; if there is no source, add `provisional = true` and how you got them"
        }
        "unit" => "add `unit = \"ns\"` or `unit = \"cycles\"`",
        _ => "add it; docs/machine-files.md says what it means",
    },
};

/// A value that makes no sense, before it is known which file it is in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Fault {
    key: String,
    problem: String,
    remedy: String,
}

impl Fault {
    pub(super) fn new(key: impl Into<String>, problem: impl Into<String>, remedy: impl Into<String>) -> Fault {
        Fault { key: key.into(), problem: problem.into(), remedy: remedy.into() }
    }

    /// Fails if that is so.
    pub(super) fn when(
        wrong: bool,
        key: impl Into<String>,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Result<(), Fault> {
        if wrong { Err(Fault::new(key, problem, remedy)) } else { Ok(()) }
    }

    /// Returns the error for the file with this text.
    pub(super) fn of(self, origin: &str, text: &str) -> SpecError {
        let Fault { key, problem, remedy } = self;
        let place = place_of(text, &key).unwrap_or(0..0);
        let problem = Problem::error(place, format!("`{key}`: {problem}"), remedy);
        SpecError::at(key, problem, origin, text)
    }
}

/// Returns where this key stands, or the nearest table around it.
fn place_of(text: &str, key: &str) -> Option<Range<usize>> {
    let root = DeTable::parse(text).ok()?;
    let mut steps = key.split(['.', '[']).map(|step| step.trim_end_matches(']'));
    let mut value = root.get_ref().get(steps.next()?)?;
    for step in steps {
        match inner(value, step) {
            Some(inner) => value = inner,
            None => break,
        }
    }
    Some(value.span())
}

fn inner<'a, 'b>(value: &'a Spanned<DeValue<'b>>, step: &str) -> Option<&'a Spanned<DeValue<'b>>> {
    match step.parse::<usize>() {
        Ok(index) => value.get_ref().get(index),
        Err(_) => value.get_ref().get(step),
    }
}
