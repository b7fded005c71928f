//! Finds what a rule matches in the modules.

use super::compile::Match;
use super::module::Module;
use super::names::{demangled, is_about};
use super::rule::{Rule, Subject};
use super::scope::LookupScope;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;
use turnwise_present::toml_file::Problem;

/// The size of `pthread_mutex_t`, the smaller of the locks.
const LOCK_BYTES: u64 = size_of::<libc::pthread_mutex_t>() as u64;

impl LookupScope {
    /// Returns what a rule matches; for each match with the index of its module.
    pub(super) fn find(&self, rule: &Rule, warnings: &mut Vec<Problem>) -> Vec<(usize, Match)> {
        let scope = self.scope(rule);
        let found: Vec<(usize, Match)> = scope
            .iter()
            .flat_map(|index| matches(&self.modules[*index], &rule.subject).into_iter().map(|found| (*index, found)))
            .collect();
        if found.is_empty() {
            warnings.extend(self.why_nothing(rule, &scope));
        } else if let Subject::Symbol(name, _) = &rule.subject {
            warnings.extend(odd_variables(name, &found));
        }
        found
    }
}

/// Returns the parts of a module that a rule's subject matches.
fn matches(module: &Module, subject: &Subject) -> Vec<Match> {
    let nameless = |ranges| Match { module: module.name.clone(), name: String::new(), ranges };
    match subject {
        Subject::All => vec![nameless(Vec::new())],
        Subject::Symbol(symbol, distance) => named(module, symbol.get_ref(), false, *distance),
        Subject::Function(function) => named(module, function.get_ref(), true, None),
        Subject::Lines { file, first, last, .. } => {
            let ranges = module.code().lines(file, *first, *last);
            if ranges.is_empty() { Vec::new() } else { vec![nameless(ranges)] }
        }
    }
}

/// Returns a warning about odd variables that a rule names.
fn odd_variables(name: &Spanned<String>, found: &[(usize, Match)]) -> Option<Problem> {
    if name.get_ref().bytes().all(|byte| byte == b'*') {
        let what = "this matches the locks in every variable of the program and of all that it loads";
        let remedy = "name a variable; for all locks of one shared object, use `module` alone; for all, `default`";
        return Some(Problem::warning(name.span(), what, remedy));
    }
    let is_pattern = name.get_ref().contains(['*', '?']);
    let mut ranges = found.iter().flat_map(|(_, found)| found.ranges.iter().map(move |range| (&found.name, range)));
    if is_pattern && !ranges.clone().all(|(_, range)| is_too_small(range)) {
        return None; // it matches locks and others
    }
    let (variable, small) = ranges.find(|(_, range)| is_too_small(range))?;
    let what = format!("`{variable}` has {} bytes, fewer than a lock", small.end - small.start);
    let remedy = "if it is a pointer, the lock is elsewhere: name the function that makes it (`function = \"…\"`)";
    Some(Problem::warning(name.span(), what, remedy))
}

fn is_too_small(range: &Range<u64>) -> bool {
    // One byte: the size is unknown, or the rule gave a distance.
    range.end - range.start < LOCK_BYTES && range.end - range.start > 1
}

/// Returns the functions or variables of a module whose names match, each with its place.
fn named(module: &Module, pattern: &str, is_function: bool, distance: Option<u64>) -> Vec<Match> {
    let mut found: BTreeMap<String, Vec<Range<u64>>> = BTreeMap::new();
    if is_function {
        for (name, ranges) in module.code().functions(|name| is_about(pattern, name)) {
            found.entry(demangled(name).into_owned()).or_default().extend(ranges.iter().cloned());
        }
    }
    module.for_each_symbol(|symbol| {
        if symbol.is_function != is_function || !is_about(pattern, symbol.name) {
            return;
        }
        let range = match distance {
            Some(distance) => symbol.range.start + distance..symbol.range.start + distance + 1,
            None => symbol.range.clone(),
        };
        let ranges = found.entry(demangled(symbol.name).into_owned()).or_default();
        // Where lines are known, they reach to the next function.
        if !ranges.iter().any(|known| known.start <= range.start && range.end <= known.end) {
            ranges.push(range);
        }
    });
    found.into_iter().map(|(name, ranges)| Match { module: module.name.clone(), name, ranges }).collect()
}
