//! Compiles rules and modules to a table.

use super::parse::PolicyFile;
use super::rule::{Rule, Subject};
use super::scope::{LookupScope, is_path, real_path};
use anyhow::{Context, Result};
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use turnwise_preload_abi::{Kind, ModuleRanges, NewRule, NewTable};
use turnwise_present::toml_file::{Problem, shown};

/// A policy file for one program.
pub(crate) struct Compiled {
    pub(crate) table: Vec<u8>,
    pub(crate) found: Vec<Vec<Match>>,
    /// Warnings about a table that can nevertheless be used.
    pub(crate) warnings: Vec<Problem>,
}

impl Compiled {
    /// Formats the warnings for people.
    pub(crate) fn shown_warnings(&self, file: &PolicyFile) -> String {
        shown(&self.warnings, &file.origin, &file.text)
    }
}

/// A variable, function or module that a rule matches.
pub(crate) struct Match {
    /// The module's file name.
    pub(crate) module: String,
    /// The variable or function, as its author wrote it; empty for a whole module and for lines.
    pub(crate) name: String,
    pub(crate) ranges: Vec<Range<u64>>,
}

/// Resolves the rules in `program` and in the programs that they name; fails if a file cannot be read, or the rules
/// match more places than a table can have.
pub(crate) fn compile(file: &PolicyFile, program: &Path) -> Result<Compiled> {
    let (scope, mut warnings) = LookupScope::of(program, &file.rules)?;
    let (mut rules, mut places, mut found) = (Vec::new(), Vec::new(), Vec::new());
    for (number, rule) in file.rules.iter().enumerate() {
        let matches = scope.find(rule, &mut warnings);
        for (module, found) in &matches {
            let fingerprint = scope.modules[*module].fingerprint;
            places.push(ModuleRanges { fingerprint, rule: number, ranges: found.ranges.clone() });
        }
        rules.push(table_rule(file, rule));
        found.push(matches.into_iter().map(|(_, found)| found).collect());
    }
    let table = NewTable { default: file.default, rules, modules: places }.bytes();
    warnings.sort_by_key(|problem| problem.place.start);
    Ok(Compiled { table: table.context("the rules match too many places")?, found, warnings })
}

fn table_rule(file: &PolicyFile, rule: &Rule) -> NewRule {
    let text = |value: &Option<Spanned<String>>| value.as_ref().map_or(String::new(), |text| text.get_ref().clone());
    let kind = match (&rule.subject, &rule.module) {
        (Subject::Symbol(..), _) => Kind::Object,
        (Subject::Function(_) | Subject::Lines { .. }, _) => Kind::Call,
        (Subject::All, Some(_)) => Kind::Module,
        (Subject::All, None) => Kind::Any,
    };
    let program = text(&rule.program);
    let program = if is_path(&program) { real_path(&program) } else { program };
    // A module that is given by its path is still compared by its file's name.
    let module = text(&rule.module).rsplit('/').next().unwrap_or_default().to_owned();
    let (label, settings) = (rule.label(&file.origin), rule.values.in_rule());
    NewRule { policy: rule.policy, kind, label, program, module, settings }
}
