//! Settings from a policy file, for a running program.

use super::target::Program;
use crate::policy_file::{PolicyFile, Subject, number, symbol_of};
use anyhow::{Result, bail};
use std::collections::BTreeSet;
use std::path::Path;
use turnwise_live::{Rule, Target};
use turnwise_preload_abi::matches;

/// Returns the rules of the file that have settings, for the locks that the program has waited for so far. Rules that
/// cannot be applied go to standard error, with the reason.
pub(super) fn rules(path: &Path, program: &mut Program) -> Result<Vec<Rule>> {
    let file = PolicyFile::read(path)?;
    let name = program.snapshot.name.clone();
    let mut rules = Vec::new();
    let mut found = false;
    for rule in file.rules.iter().filter(|rule| !rule.values.is_empty()) {
        found = true;
        let about = format!("{}:{} ({})", file.origin, rule.line, rule.conditions());
        let of_other = |pattern: &str| !matches(file_name(pattern).as_bytes(), name.as_bytes());
        if rule.program.as_ref().is_some_and(|pattern| of_other(pattern.get_ref())) {
            eprintln!("{about}: not applied: this program is {name}");
            continue;
        }
        let targets = match &rule.subject {
            Subject::All if rule.module.is_none() => BTreeSet::from([Target::All]),
            Subject::Symbol(pattern, distance) => {
                program.variables(|variable| is_symbol(pattern.get_ref(), *distance, variable))
            }
            _ => {
                eprintln!(
                    "{about}: not applied: a running program does not tell which call made a lock; name the lock by \
                     `symbol`, or use --lock with its address"
                );
                continue;
            }
        };
        if targets.is_empty() {
            eprintln!("{about}: not applied: no thread has waited for such a lock yet");
        }
        let label = rule.conditions();
        let label = if label.is_empty() { "*".to_owned() } else { label };
        // The first matching rule decides.
        for target in targets {
            if !rules.iter().any(|known: &Rule| known.target == target) {
                rules.push(Rule { target, values: rule.values, label: label.clone() });
            }
        }
    }
    if !found {
        bail!("{}: no rule has settings: add one such as `spin = \"off\"` below a [[rule]]", file.origin);
    }
    if rules.is_empty() {
        bail!("{}: none of its settings applies to process {}: nothing is changed", file.origin, program.snapshot.pid);
    }
    Ok(rules)
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns whether a variable, with `+distance` if the lock is inside, is one that a rule names.
fn is_symbol(pattern: &str, distance: Option<u64>, variable: &str) -> bool {
    let (name, inside) = symbol_of(variable);
    let inside = inside.and_then(number).unwrap_or(0);
    matches(pattern.as_bytes(), name.as_bytes()) && distance.is_none_or(|distance| distance == inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_those_of_the_policy_file() {
        assert!(is_symbol("cache", None, "cache") && is_symbol("cache", None, "cache+0x28"));
        assert!(is_symbol("c*e", Some(0x28), "cache+0x28") && is_symbol("cache", Some(0x28), "cache+40"));
        assert!(!is_symbol("cache", Some(0), "cache+0x28") && !is_symbol("log", None, "cache"));
        assert!(is_symbol("operator+", None, "operator+"));
    }
}
