//! Rare lines (`places.toml`): events that are rare in a lock's slow paths, and must occur in some model.
//!
//! A line is a function and an operation on the word there, so that nothing has to be noted in the shipped code. A
//! model names those that it must enter ([`crate::check::Model::shows`]); some model must enter each.

use crate::flags;
use crate::lab::{Done, UseSite, UseSites};
use crate::lock::Lock;
use crate::places::PLACES;
use crate::sources::{Sources, function_begun};
use serde::Deserialize;
use std::collections::BTreeSet;

/// A rare line.
#[derive(Deserialize, Debug)]
pub struct Line<'a> {
    /// How models and tables call it.
    pub name: &'a str,
    /// The end of the file's name.
    file: &'a str,
    function: &'a str,
    /// What is done there, as `places.toml` explains.
    what: &'a str,
}

/// Returns the rare lines of a lock.
pub fn of(lock: Lock) -> &'static [Line<'static>] {
    PLACES.lines.get(&lock).map_or(&[], Vec::as_slice)
}

impl Line<'_> {
    /// Returns whether an operation that did this, on this line of the source, is what the line is about.
    fn is(&self, done: &Done, says: &str) -> bool {
        let (verb, what) = self.what.split_once(' ').unwrap_or((self.what, ""));
        let has = |bits: u64| bits & flags::bits(what) == flags::bits(what);
        match verb {
            "any" => true,
            "says" => says.contains(what),
            "sets" => has(done.set),
            "clears" => has(done.cleared),
            "finds" => has(done.stayed),
            "spin-sets" => has(done.spun_set),
            "spin-clears" => has(done.spun_cleared),
            "wakes" => done.wakes > 0,
            _ => panic!("{}: an operation never {verb}", self.name),
        }
    }
}

/// Returns the rare lines of a lock that these places show.
pub fn entered(lock: Lock, sources: &Sources, places: &UseSites) -> BTreeSet<&'static str> {
    let shows = |line: &&Line<'_>, (place, done): (&UseSite, &Done)| {
        place.file.ends_with(line.file)
            && sources.function(place) == line.function
            && line.is(done, sources.line(place))
    };
    of(lock).iter().filter(|line| places.iter().any(|at| shows(line, at))).map(|line| line.name).collect()
}

/// Returns the operations on words, sleeps and wake-ups in the sources that no model reached: file, line and text. The
/// dentry cache is left out: most of its words are numbers of files, which order nothing.
pub fn not_entered(lock: Lock, sources: &Sources, places: &UseSites) -> Vec<String> {
    if lock == Lock::Dcache {
        return Vec::new();
    }
    let entered: BTreeSet<_> = places.keys().map(|place| (place.file, place.line)).collect();
    let mut missing = Vec::new();
    for source in sources.iter() {
        let lines: Vec<_> = source.lines().collect();
        let place = |n: usize| (&lines[..n], &lines[n..]);
        let all = lines.iter().enumerate().filter(|(n, (line, _))| operates(line, place(*n).1) && !inner(place(*n).0));
        let unseen = all.filter(|(_, (_, number))| !entered.contains(&(source.file.as_str(), *number)));
        missing.extend(unseen.map(|(_, (line, number))| format!("{}:{number}: {}", source.file, line.trim())));
    }
    missing
}

/// Returns whether an operation on a word, a sleep or a wake-up begins on this line; `below`: it and those after it.
fn operates(line: &str, below: &[(&str, u32)]) -> bool {
    const CALLS: [&str; 6] = [".store(", ".swap(", ".compare_exchange(", ".fetch_", "P::park(", "P::wake("];
    const ORDERS: [&str; 4] = ["Relaxed", "Acquire", "Release", "AcqRel"];
    let code = !line.trim_start().starts_with("//") && CALLS.iter().any(|call| line.contains(call));
    let ordered = || below.iter().take(2).any(|(line, _)| ORDERS.iter().any(|order| line.contains(order)));
    code && (line.contains("P::") || ordered())
}

/// Returns whether the function at the end of these lines acts for its caller, whose places its operations have.
fn inner(above: &[(&str, u32)]) -> bool {
    let head = above.iter().rposition(|(line, _)| function_begun(line).is_some());
    let attributes = above[..head.unwrap_or(0)].iter().rev().take_while(|(line, _)| line.trim().starts_with("#["));
    { attributes }.any(|(line, _)| line.trim() == "#[track_caller]")
}
