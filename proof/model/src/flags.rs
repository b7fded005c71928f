//! The names of the bits of each lock's words (`places.toml`): the parts of a word that a mutant leaves unchanged.

use crate::lock::Lock;
use crate::places::PLACES;
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
    let file = file.rsplit('/').next().unwrap_or_default();
    let word = match lock {
        Lock::Mutex => "mutex",
        Lock::RwSem if !line.contains(".owner.") => "rwsem",
        Lock::BigReader if line.contains("gate.") => "gate",
        Lock::BigReader if !line.contains("met.") => "slot",
        Lock::Semaphore => "semaphore",
        Lock::Condvar | Lock::PreloadCond if line.contains("history.") => "history",
        Lock::Condvar if line.contains("sequence.") || file == "spin_then_sleep.rs" => "sequence",
        Lock::PreloadCond if file == "spin_then_sleep.rs" => "cond",
        Lock::LockRef if !line.contains("released.") => "lockref",
        Lock::Spin if file == "queued.rs" && line.contains(".word.") => "queued",
        Lock::Spin if file == "ticket.rs" => "ticket",
        Lock::PreloadCond if line.contains("self.word.") => "cond",
        Lock::PreloadCond => "inside",
        Lock::PreloadWord if line.contains("self.line.") => "line",
        Lock::Slots if line.contains("self.free.") => "free",
        // Numbers and pointers of a file system, not the flags of a lock.
        Lock::Journal | Lock::Dcache => return &[],
        _ => "whole",
    };
    &WORDS[word]
}
