//! The numbers of a paper's workload, `numbers.toml` in its folder: each with what it may be instead where the paper
//! leaves it open, and with the source of that; and what a run draws of them.

use crate::{Context, Paper};
use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use toml::Value;
use turnwise_present::figures::plain;
use turnwise_sim::spec::{self, Machine, Range};

/// A number, or a choice. With neither `within` nor `one_of` it is given.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Number {
    value: Value,
    /// The least and the greatest value that it may have.
    within: Option<[f64; 2]>,
    /// What else it may be: in the order of size, where there is one.
    one_of: Option<Vec<Value>>,
    source: String,
}

impl Number {
    fn check(&self) -> Result<()> {
        ensure!(!self.source.trim().is_empty(), "its source is empty");
        let contains = |[low, high]: [f64; 2]| number(&self.value).is_some_and(|value| (low..=high).contains(&value));
        ensure!(self.within.is_none_or(contains), "{} is not in its range {:?}", self.value, self.within);
        let among = |all: &Vec<Value>| all.contains(&self.value);
        ensure!(self.one_of.as_ref().is_none_or(among), "{} is not one of its choices", self.value);
        ensure!(self.within.is_none() || self.one_of.is_none(), "it has a range and choices");
        Ok(())
    }

    /// Returns what it is at this place of its range or choices, from 0 to 1.
    fn at(&self, place: f64) -> Value {
        match (self.within, self.one_of.as_deref()) {
            (Some(range), _) if self.value.is_integer() => Value::Integer(Range::at(range, place).round() as i64),
            (Some(range), _) => Value::Float(Range::at(range, place)),
            (None, Some(all)) => all[((place * all.len() as f64) as usize).min(all.len() - 1)].clone(),
            (None, None) => self.value.clone(),
        }
    }

    fn open(&self) -> Option<String> {
        let choices = |all: &[Value]| all.iter().map(shown).collect::<Vec<_>>().join(", ");
        let range = self.within.map(|[low, high]| format!("{} to {}", plain(low), plain(high)));
        range.or_else(|| self.one_of.as_deref().map(choices))
    }
}

fn number(value: &Value) -> Option<f64> {
    value.as_float().or_else(|| Some(value.as_integer()? as f64))
}

fn shown(value: &Value) -> String {
    number(value).map_or_else(|| value.as_str().unwrap_or_default().to_owned(), plain)
}

/// The numbers of a run: those of the file, or drawn.
pub(crate) struct Numbers<'a> {
    context: &'a Context<'a>,
    of: BTreeMap<String, Value>,
    open: Vec<Open>,
}

/// What a paper leaves open.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Open {
    /// Its name.
    pub name: String,
    /// From what to what.
    pub range: String,
    /// Why not beyond.
    pub source: String,
}

impl<'a> Numbers<'a> {
    /// Reads a paper's file, and draws its numbers if this run is one of many.
    ///
    /// # Errors
    /// A number is not within its own range, or has no source.
    pub(crate) fn of(context: &'a Context<'a>, paper: &Paper) -> Result<Numbers<'a>> {
        let file: BTreeMap<String, Number> = toml::from_str(paper.numbers)?;
        let (mut of, mut open) = (BTreeMap::new(), Vec::new());
        for (name, number) in file {
            number.check().with_context(|| format!("{}/numbers.toml: {name}", paper.name))?;
            let range = number.open();
            let drawn = context.draw.filter(|_| range.is_some());
            of.insert(name.clone(), drawn.map_or_else(|| number.value.clone(), |draw| number.at(draw.at(&name))));
            open.extend(range.map(|range| Open { name, range, source: number.source }));
        }
        Ok(Numbers { context, of, open })
    }

    fn named(&self, name: &str) -> Result<&Value> {
        self.of.get(name).with_context(|| format!("numbers.toml has no {name}"))
    }

    /// Returns a number.
    pub(crate) fn float(&self, name: &str) -> Result<f64> {
        number(self.named(name)?).with_context(|| format!("numbers.toml: {name} is not a number"))
    }

    /// Returns a number times a unit, as a whole one.
    pub(crate) fn times(&self, name: &str, unit: u32) -> Result<u64> {
        Ok((self.float(name)? * f64::from(unit)).round() as u64)
    }

    /// Returns a count.
    pub(crate) fn count(&self, name: &str) -> Result<u32> {
        Ok(u32::try_from(self.times(name, 1)?)?)
    }

    /// Returns a choice.
    pub(crate) fn text(&self, name: &str) -> Result<&str> {
        self.named(name)?.as_str().with_context(|| format!("numbers.toml: {name} is not a word"))
    }

    /// Returns a machine with its own numbers, or drawn ones.
    pub(crate) fn machine(&self, name: &str) -> Result<Arc<Machine>> {
        let machine = match self.context.draw {
            Some(draw) => spec::draw(name, |range| draw.at(range))?,
            None => spec::load(name)?,
        };
        Ok(Arc::new(machine))
    }

    /// Returns the text with the numbers in place of their names in braces.
    pub(crate) fn fill(&self, text: &str) -> String {
        let put = |text: String, (name, value): (&String, &Value)| text.replace(&format!("{{{name}}}"), &shown(value));
        self.of.iter().fold(text.to_owned(), put)
    }

    /// Returns what is drawn, of the machine first.
    pub(crate) fn open(&self, machine: &Machine) -> Vec<Open> {
        let of_machine = machine.ranges.iter().filter_map(|range| {
            let [low, high] = range.within?;
            let what = format!("{} to {} ({})", plain(low), plain(high), range.of.first()?);
            Some(Open { name: range.name.clone(), range: what, source: range.source.clone() })
        });
        of_machine.chain(self.open.iter().cloned()).collect()
    }
}

/// One of many runs, each with other numbers: a Latin hypercube, in which every number has one value in each of as many
/// equal parts of its range as there are runs.
#[derive(Debug)]
pub struct Draw {
    /// Which of them, from 0.
    sample: u32,
    /// How many there are.
    samples: u32,
    seed: u64,
    /// The places of the numbers that were drawn, by their names.
    places: Mutex<BTreeMap<String, f64>>,
}

impl Draw {
    /// Returns one of several draws; the same with the same seed, whichever others there are in this process.
    #[must_use]
    pub fn new(seed: u64, sample: u32, samples: u32) -> Draw {
        Draw { sample, samples, seed, places: Mutex::default() }
    }

    /// Returns the place from 0 to 1 in the range of the number of this name.
    pub(crate) fn at(&self, name: &str) -> f64 {
        // Each name has an order of the parts of its own, whichever numbers there are beside it.
        let seed = name.bytes().fold(self.seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        let mut random = fastrand::Rng::with_seed(seed);
        let mut parts: Vec<u32> = (0..self.samples).collect();
        random.shuffle(&mut parts);
        let within: Vec<f64> = parts.iter().map(|_| random.f64()).collect();
        let sample = self.sample as usize;
        let place = (f64::from(parts[sample]) + within[sample]) / f64::from(self.samples);
        self.places.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), place);
        place
    }

    /// Returns the places of all numbers that were drawn.
    #[must_use]
    pub fn places(self) -> BTreeMap<String, f64> {
        self.places.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
