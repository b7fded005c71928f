//! Reads and changes the settings for the locks of a program.

use super::copy::read_at;
use super::error::{Error, Fault};
use super::{Channel, folders, process};
use crate::layout::{Header, POLICY_FILE, Part};
use crate::settings::{self, FILE_RULES, LABEL, RULES, TABLES, Table, Values, kind};
use core::mem::offset_of;
use core::ops::Range;
use core::sync::atomic::Ordering::Relaxed;
use rustix::fs::FlockOperation;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use std::{io, thread};
use zerocopy::{FromZeros, IntoBytes};

/// The waits to which a rule applies.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Target {
    /// All waits.
    All,
    /// Waits at call sites in this range of addresses.
    Sites(Addresses),
    /// Waits for locks in this range of addresses.
    Locks(Addresses),
    /// Waits for locks to which the rule of this number of the program's policy file applies: from the program's start,
    /// and unchangeable. The view does not tell which locks these are. The other rules take precedence.
    FileRule(u32),
}

/// A range of addresses: the first, and the one after the last.
pub type Addresses = (u64, u64);

impl Target {
    /// Returns whether the rule applies to a wait for the lock at `address` at the call site `site`.
    #[must_use]
    pub fn covers(&self, address: u64, site: u64) -> bool {
        let has = |(from, to): Addresses, place: u64| (from..to).contains(&place);
        match *self {
            Target::All => true,
            Target::Sites(range) => site != 0 && has(range, site - 1),
            Target::Locks(range) => has(range, address),
            Target::FileRule(_) => false,
        }
    }

    fn parts(&self) -> (u32, Range<u64>) {
        match *self {
            Target::All => (kind::ALL, 0..0),
            Target::Sites((from, to)) => (kind::SITE, from..to),
            Target::Locks((from, to)) => (kind::LOCK, from..to),
            Target::FileRule(number) => (kind::FILE, u64::from(number)..0),
        }
    }
}

/// The settings for some waits. Among several rules for a wait, those for locks take precedence over those for call
/// sites, and these over those for all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    /// The waits that it applies to.
    pub target: Target,
    /// The settings.
    pub values: Values,
    /// The user's name for these waits.
    pub label: String,
}

/// The time to wait for other processes that change settings.
const PATIENCE: Duration = Duration::from_secs(3);
/// The number of times that a table that changes meanwhile is read.
const TRIES: u32 = 8;

/// Changes the settings of one process. Any number of them may do so at the same time.
#[derive(Debug)]
pub struct Tuner {
    file: File,
    path: PathBuf,
}

impl Channel {
    /// Returns the rules in force: those of the program's policy file that have settings, then those set at run time.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn rules(&self) -> Result<Vec<Rule>, Error> {
        let both = || Ok([file_rules(&self.file)?, rules(&self.file)?].concat());
        both().map_err(|error| Error::io(&self.path, error))
    }

    /// Prepares to change the rules.
    ///
    /// # Errors
    /// The process has ended, or the file is not the caller's to write.
    pub fn tuner(&self) -> Result<Tuner, Error> {
        if !self.is_alive() {
            return Err(Error::new(&self.path, Fault::Gone(self.pid)));
        }
        let file = folders::open_to_write(&self.path)?;
        super::copy::header(&self.path, &file)?;
        Ok(Tuner { file, path: self.path.clone() })
    }
}

impl Tuner {
    /// Changes the rules, while no other process does. A rule without values is dropped.
    ///
    /// # Errors
    /// There are more rules than there is room for; then no rule is changed. Or the file cannot be written.
    pub fn change<T>(&self, change: impl FnOnce(&mut Vec<Rule>) -> T) -> Result<T, Error> {
        let fault = |error| Error::io(&self.path, error);
        self.lock().map_err(fault)?;
        let result = self.change_locked(change);
        let unlocked = rustix::fs::flock(&self.file, FlockOperation::Unlock);
        let result = result?;
        unlocked.map_err(|errno| fault(errno.into()))?;
        Ok(result)
    }

    fn lock(&self) -> io::Result<()> {
        let until = Instant::now() + PATIENCE;
        loop {
            match rustix::fs::flock(&self.file, FlockOperation::NonBlockingLockExclusive) {
                Err(rustix::io::Errno::WOULDBLOCK) if Instant::now() < until => thread::sleep(PATIENCE / 300),
                Err(rustix::io::Errno::WOULDBLOCK) => {
                    return Err(io::Error::other("another program changes its settings, and does not end"));
                }
                other => return other.map_err(Into::into),
            }
        }
    }

    fn change_locked<T>(&self, change: impl FnOnce(&mut Vec<Rule>) -> T) -> Result<T, Error> {
        let fault = |error| Error::io(&self.path, error);
        let word = word(&self.file).map_err(fault)?;
        let mut rules = table(&self.file, word).map_err(fault)?.unwrap_or_default();
        let result = change(&mut rules);
        rules.retain(|rule| !rule.values.is_empty() && !matches!(rule.target, Target::FileRule(_)));
        rules.sort_by_key(|rule| rule.target.parts().0);
        if rules.len() > RULES {
            return Err(Error::new(&self.path, Fault::TooManyRules(rules.len(), RULES)));
        }
        let version = ((word >> 32) as u32).wrapping_add(1);
        let number = version as usize % TABLES;
        let in_force = if rules.is_empty() { 0 } else { 1 + number as u64 };
        if in_force != 0 {
            let table = &mut written(&rules);
            self.file.write_all_at(table.as_mut_bytes(), Table::offset(number) as u64).map_err(fault)?;
        }
        let word = u64::from(version) << 32 | in_force;
        self.file.write_all_at(&word.to_ne_bytes(), offset_of!(Header, settings) as u64).map_err(fault)?;
        Ok(result)
    }
}

/// Returns the settings of the program's policy file, if it has one.
fn file_rules(file: &File) -> io::Result<Vec<Rule>> {
    if read_at::<u32>(file, offset_of!(Header, policy))? != POLICY_FILE {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for first in (0..FILE_RULES).step_by(RULES) {
        let table: Table = read_at(file, settings::Rule::offset(first))?;
        let taken = table.rules.iter().take_while(|rule| rule.kind.load(Relaxed) == kind::FILE);
        found.extend(taken.map_while(read));
        if found.len() < first + RULES {
            break;
        }
    }
    Ok(found)
}

/// Returns the rules in force. Rules that the program would reject are omitted.
fn rules(file: &File) -> io::Result<Vec<Rule>> {
    for _ in 0..TRIES {
        let before = word(file)?;
        let found = table(file, before)?;
        if word(file)? == before {
            return Ok(found.unwrap_or_default());
        }
    }
    Ok(Vec::new())
}

/// Reads the word that states which settings are in force.
fn word(file: &File) -> io::Result<u64> {
    read_at(file, offset_of!(Header, settings))
}

/// Reads the table in force; `None`: there is none, or it is invalid.
fn table(file: &File, word: u64) -> io::Result<Option<Vec<Rule>>> {
    let number = (word as u32 as usize).wrapping_sub(1);
    if number >= TABLES {
        return Ok(None);
    }
    let table: Table = read_at(file, Table::offset(number))?;
    let taken = table.rules.iter().take_while(|rule| rule.kind.load(Relaxed) != kind::NONE);
    Ok(taken.map(|rule| read(rule).filter(|rule| !matches!(rule.target, Target::FileRule(_)))).collect())
}

/// Reads a rule; `None`: it is invalid.
fn read(rule: &settings::Rule) -> Option<Rule> {
    let range = (rule.from.load(Relaxed), rule.to.load(Relaxed));
    let target = match rule.kind.load(Relaxed) {
        kind::ALL => Target::All,
        kind::SITE => Target::Sites(range),
        kind::LOCK => Target::Locks(range),
        kind::FILE => Target::FileRule(range.0 as u32),
        _ => return None,
    };
    let mut values = Values::default();
    let are_sound = rule.add_to(&mut values);
    let label = process::printable(&String::from_utf8_lossy(&process::before_zero(&rule.label)));
    are_sound.then_some(Rule { target, values, label })
}

fn written(rules: &[Rule]) -> Table {
    let table = Table::new_zeroed();
    for (place, rule) in table.rules.iter().zip(rules) {
        let (kind, range) = rule.target.parts();
        place.kind.store(kind, Relaxed);
        place.from.store(range.start, Relaxed);
        place.to.store(range.end, Relaxed);
        place.set_values(&rule.values);
        let end = rule.label.floor_char_boundary(LABEL);
        for (byte, value) in place.label.iter().zip(rule.label[..end].bytes()) {
            byte.store(value, Relaxed);
        }
    }
    table
}
