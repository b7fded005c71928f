//! The names of the bits of each lock's words (`places.toml`): the parts of a word that a mutant leaves unchanged.

use crate::lock::Lock;
use crate::places::{PLACES, WordAt};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A part of a word: its name, and its bits.
pub type Field = (&'static str, u64);

static WORDS: LazyLock<BTreeMap<&str, Vec<Field>>> = LazyLock::new(|| {
    let fields = |texts: &[&'static str]| texts.iter().copied().map(field).collect();
    PLACES.words.iter().map(|(word, texts)| (*word, fields(texts))).collect()
});

fn field(text: &'static str) -> Field {
    let parsed = || {
        let (name, bits) = text.rsplit_once(' ')?;
        let (first, last) = bits.split_once('-')?;
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        Some((name, u64::MAX >> (63 - last) & u64::MAX << first))
    };
    parsed().unwrap_or_else(|| panic!("a name, first and last bit: {text}"))
}

/// Returns the bits of one part; `part`: the word and the part.
pub(crate) fn bits(part: &str) -> u64 {
    let (word, name) = part.split_once(' ').unwrap_or_else(|| panic!("a word and its part: {part}"));
    let found = WORDS[word].iter().find(|field| field.0 == name);
    found.unwrap_or_else(|| panic!("no such part of a word: {part}")).1
}

/// Returns the bits of all these parts, which `|` separates.
pub(crate) fn all_of(word: &str, parts: &str) -> u32 {
    parts.split('|').map(|part| bits(&format!("{word} {part}")) as u32).sum()
}

/// Returns the parts of the word that an operation on this line of this file changes.
pub fn on(lock: Lock, file: &str, line: &str) -> &'static [Field] {
    let fits = |at: &&WordAt<'_>| at.lock == lock && file.ends_with(at.file) && line.contains(at.says);
    &WORDS[PLACES.word_at.iter().find(fits).map_or("whole", |at| at.word)]
}
