//! `places.toml`, which states what is known of places in the lock sources.

use crate::lines::Line;
use crate::lock::Lock;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// What the file has.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Places<'a> {
    #[serde(borrow)]
    pub(crate) spared: Vec<Spared<'a>>,
    #[serde(borrow)]
    pub(crate) word_at: Vec<WordAt<'a>>,
    /// The parts of each word: name, first and last bit.
    #[serde(borrow)]
    pub(crate) words: BTreeMap<&'a str, Vec<&'a str>>,
    #[serde(borrow)]
    pub(crate) lines: BTreeMap<Lock, Vec<Line<'a>>>,
    /// The name in an ordering's comment, and why it stays.
    #[serde(borrow)]
    pub(crate) orderings: BTreeMap<&'a str, &'a str>,
}

/// A part of a word, or a wake-up, without which every model holds.
#[derive(Deserialize)]
pub(crate) struct Spared<'a> {
    /// The end of the file's name.
    pub(crate) file: &'a str,
    pub(crate) function: &'a str,
    /// Text that its line contains.
    pub(crate) says: &'a str,
    /// What stays unchanged, or is not woken.
    pub(crate) what: &'a str,
    pub(crate) why: &'a str,
}

/// Which word an operation changes.
#[derive(Deserialize)]
pub(crate) struct WordAt<'a> {
    pub(crate) lock: Lock,
    /// The end of the file's name.
    pub(crate) file: &'a str,
    /// Text that the line contains.
    pub(crate) says: &'a str,
    /// The name of the word.
    pub(crate) word: &'a str,
}

pub(crate) static PLACES: LazyLock<Places<'static>> = LazyLock::new(|| {
    toml::from_str(include_str!("places.toml")).unwrap_or_else(|error| panic!("places.toml: {error}"))
});
