//! `[[range]]`: the ranges of numbers that were not measured on this machine, and drawing the numbers from them.

use super::error::Fault;
use crate::spec::Source;
use serde::Deserialize;
use toml::Value;

/// Numbers that are drawn together, or that stay as they are.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// What they are called together.
    pub name: String,
    /// Their keys in the file.
    pub of: Vec<String>,
    /// The least and the greatest value of the first of them, in its own unit, at the nearest distance within a node;
    /// the others change in proportion. `None`: they are given, and stay.
    pub within: Option<[f64; 2]>,
    /// Where that comes from.
    pub source: String,
}

impl Range {
    /// Returns the value at this place between the ends, from 0 to 1: in proportion, or, if the range begins at 0,
    /// by difference.
    #[must_use]
    pub fn at([low, high]: [f64; 2], place: f64) -> f64 {
        if low > 0.0 { low * (high / low).powf(place) } else { low + (high - low) * place }
    }

    /// Checks that the range contains its value, and is one of numbers that there are.
    fn check(&self, key: &str, file: &Value) -> Result<(), Fault> {
        let remedy = "say why the number cannot lie beyond, or why it is given";
        Fault::when(self.source.trim().is_empty(), format!("{key}.source"), "empty", remedy)?;
        for (n, number) in self.of.iter().enumerate() {
            let problem = format!("{number:?} is no number of this file");
            let remedy = "give keys as in `coherence.load_modified` or `system.idle_exit[0]`";
            Fault::when(value(file, number).is_none(), format!("{key}.of[{n}]"), problem, remedy)?;
        }
        let Some([low, high]) = self.within else { return Ok(()) };
        let key = format!("{key}.within");
        let first = self.of.first().and_then(|number| representative(value(file, number)?));
        let remedy = "name a number of which the ends are the least and the greatest value";
        let first = first.ok_or_else(|| Fault::new(&key, "a range of nothing that can be scaled", remedy))?;
        let ordered = (0.0..high).contains(&low) && high.is_finite();
        let remedy = "give the least value, 0 or more, then the greatest";
        Fault::when(!ordered, &key, format!("{low} to {high} is not a range"), remedy)?;
        let problem = format!("{low} to {high} does not contain the number itself, {first}");
        Fault::when(!(low..=high).contains(&first), key, problem, "correct the number, or find the range's sources")
    }
}

/// Checks the ranges of a file that has some: then each provisional number is in one.
pub(super) fn check(ranges: &[Range], sources: &[Source], file: &Value) -> Result<(), Fault> {
    if ranges.is_empty() {
        return Ok(());
    }
    let mut seen: Vec<&str> = Vec::new();
    for (n, range) in ranges.iter().enumerate() {
        range.check(&format!("range[{n}]"), file)?;
        for number in &range.of {
            let problem = format!("`{number}` is in two ranges");
            Fault::when(seen.contains(&number.as_str()), format!("range[{n}].of"), problem, "leave it in one")?;
            seen.push(number);
        }
    }
    for source in sources.iter().filter(|source| source.provisional) {
        let key = source.key.as_str();
        let is_of = |rest: &str| rest.is_empty() || rest == ".ghz" || (key.contains('.') && rest.starts_with('.'));
        let covered = seen.iter().any(|number| number.strip_prefix(key).is_some_and(is_of));
        let remedy = "add a `[[range]]` of it; without `within` if it is given";
        Fault::when(!covered, key, "provisional, and in no range", remedy)?;
    }
    Ok(())
}

/// Draws all ranges of a file that was checked, at these places from 0 to 1, by the names of the ranges.
pub(super) fn draw(file: &mut Value, ranges: &[Range], mut place: impl FnMut(&str) -> f64) {
    for Range { name, of, within, .. } in ranges {
        let first = of.first().and_then(|number| representative(value(file, number)?));
        let (Some(within), Some(first)) = (within, first) else { continue };
        let factor = Range::at(*within, place(name)) / first;
        for number in of {
            value_mut(file, number).into_iter().for_each(|value| scale(value, factor));
        }
    }
}

/// Returns the keys and the places in lists that a key consists of.
fn steps(key: &str) -> impl Iterator<Item = &str> {
    key.split(['.', '[']).map(|step| step.trim_end_matches(']'))
}

fn value<'a>(file: &'a Value, key: &str) -> Option<&'a Value> {
    steps(key).try_fold(file, |value, step| match step.parse::<usize>() {
        Ok(index) => value.get(index),
        Err(_) => value.get(step),
    })
}

fn value_mut<'a>(file: &'a mut Value, key: &str) -> Option<&'a mut Value> {
    steps(key).try_fold(file, |value, step| match step.parse::<usize>() {
        Ok(index) => value.get_mut(index),
        Err(_) => value.get_mut(step),
    })
}

/// The parts of a number that are scaled; the first that there is stands for it.
const PARTS: [&str; 8] = ["same_node", "ns", "cycles", "factor", "same_core", "same_cluster", "hops", "ipi_ns"];

fn number(value: &Value) -> Option<f64> {
    value.as_float().or_else(|| Some(value.as_integer()? as f64))
}

fn representative(value: &Value) -> Option<f64> {
    let part = || value.get(0).or_else(|| PARTS.iter().find_map(|part| value.get(part)));
    number(value).or_else(|| number(part()?))
}

fn scale(value: &mut Value, factor: f64) {
    match value {
        Value::Array(all) => all.iter_mut().for_each(|value| scale(value, factor)),
        Value::Table(parts) => {
            parts.iter_mut().filter(|(part, _)| PARTS.contains(&part.as_str())).for_each(|(_, v)| scale(v, factor));
        }
        value => {
            if let Some(number) = number(value) {
                *value = Value::Float(number * factor);
            }
        }
    }
}
