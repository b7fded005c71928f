//! Rules and modules become a table.

use super::debug::Debug;
use super::module::{Module, modules_of};
use super::names::{demangled, is_about, nearest};
use super::parse::{PolicyFile, Rule, Subject};
use super::problem::{Problem, shown};
use crate::program::{self, Native};
use anyhow::{Context, Result};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::canonicalize;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use toml::Spanned;
use turnwise_policy_table::{Kind, ModuleRanges, NewRule, NewTable, Rule as TableRule, matches};

/// The size of `pthread_mutex_t`, the smaller of the locks.
const LOCK_BYTES: u64 = size_of::<libc::pthread_mutex_t>() as u64;

/// A policy file for one program.
pub(crate) struct Compiled {
    /// The table's bytes.
    pub(crate) table: Vec<u8>,
    /// For each rule what it found.
    pub(crate) found: Vec<Vec<Match>>,
    /// What looks wrong, though the table can be used.
    pub(crate) warnings: Vec<Problem>,
}

impl Compiled {
    /// The warnings, for people.
    pub(crate) fn shown_warnings(&self, file: &PolicyFile) -> String {
        shown(&self.warnings, &file.origin, &file.text)
    }
}

/// Something that a rule is about.
pub(crate) struct Match {
    /// The module's file name.
    pub(crate) module: String,
    /// The variable or function, as its author wrote it; empty for a whole module and for lines.
    pub(crate) name: String,
    pub(crate) ranges: Vec<Range<u64>>,
}

/// The programs and modules that the rules are looked up in.
struct World {
    /// Path of each program, and indices of its modules.
    programs: Vec<(PathBuf, Vec<usize>)>,
    modules: Vec<Module>,
    by_path: BTreeMap<PathBuf, usize>,
}

/// Looks the rules up in `program` and in the programs that they name.
///
/// # Errors
/// The program or what it loads cannot be read, or there are more places than a table can have.
pub(crate) fn compile(file: &PolicyFile, program: &Path) -> Result<Compiled> {
    let mut world = World { programs: Vec::new(), modules: Vec::new(), by_path: BTreeMap::new() };
    world.add(&program::native_of(program)?)?;
    let mut warnings = Vec::new();
    for rule in &file.rules {
        warnings.extend(world.add_named(rule));
    }
    let (mut rules, mut places, mut found) = (Vec::new(), Vec::new(), Vec::new());
    for (number, rule) in file.rules.iter().enumerate() {
        let matches = world.find(rule, &mut warnings);
        for (module, found) in &matches {
            let fingerprint = world.modules[*module].fingerprint;
            places.push(ModuleRanges { fingerprint, rule: number, ranges: found.ranges.clone() });
        }
        rules.push(table_rule(file, rule));
        found.push(matches.into_iter().map(|(_, found)| found).collect());
    }
    let table = NewTable { default: file.default, rules, modules: places }.bytes();
    warnings.sort_by_key(|problem| problem.place.start);
    Ok(Compiled { table: table.context("the rules are about too many places")?, found, warnings })
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
    // A path is compared with the one that the kernel tells, in which no link is left.
    let program = if is_path(&program) { real_path(&program) } else { program };
    let module = module_name(&text(&rule.module)).to_owned();
    NewRule { policy: rule.policy, kind, label: rule.label(&file.origin), program, module }
}

fn is_path(name: &str) -> bool {
    name.contains('/') && !name.contains(['*', '?'])
}

fn real_path(path: &str) -> String {
    canonicalize(path).map_or(path.to_owned(), |path| path.to_string_lossy().into_owned())
}

/// A module that is given by its path is still compared by its file's name.
fn module_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

impl World {
    /// A program with all that it starts with.
    fn add(&mut self, program: &Native) -> Result<()> {
        let path = canonicalize(&program.path).with_context(|| format!("cannot find {}", program.path.display()))?;
        if self.programs.iter().any(|(known, _)| *known == path) {
            return Ok(());
        }
        let native = Native { path: path.clone(), loader: program.loader.clone() };
        let modules = modules_of(&native)?.iter().map(|path| self.module(path)).collect::<Result<_>>()?;
        self.programs.push((path, modules));
        Ok(())
    }

    fn module(&mut self, path: &Path) -> Result<usize> {
        if let Some(index) = self.by_path.get(path) {
            return Ok(*index);
        }
        self.modules.push(Module::read(path)?);
        self.by_path.insert(path.to_owned(), self.modules.len() - 1);
        Ok(self.modules.len() - 1)
    }

    /// The program and the module that a rule names by themselves.
    fn add_named(&mut self, rule: &Rule) -> Vec<Problem> {
        let mut warnings = Vec::new();
        if let Some(program) = rule.program.as_ref().filter(|name| !self.has_program(name.get_ref())) {
            let named = Some(program.get_ref()).filter(|name| !name.contains(['*', '?']));
            let found = named.map(|name| program::resolve(name.as_ref()).and_then(|path| program::native_of(&path)));
            let added = found.map(|native| native.and_then(|native| self.add(&native)));
            let (what, remedy) = match (added, &rule.subject) {
                (Some(Ok(())), _) => return self.add_named_module(rule),
                (Some(Err(error)), _) => {
                    (format!("this program cannot be looked at: {error:#}"), "correct its name, or give its path")
                }
                (None, Subject::All) => return self.add_named_module(rule),
                (None, _) => (
                    "no program of this name is known here".to_owned(),
                    "a rule for a symbol, function or line needs the program's own name or path: its file is read before it starts",
                ),
            };
            warnings.push(Problem::warning(program.span(), what, remedy));
        }
        warnings.extend(self.add_named_module(rule));
        warnings
    }

    fn add_named_module(&mut self, rule: &Rule) -> Vec<Problem> {
        let Some(module) = rule.module.as_ref().filter(|name| is_path(name.get_ref())) else { return Vec::new() };
        let added = canonicalize(module.get_ref()).map_err(anyhow::Error::from).and_then(|path| self.module(&path));
        let problem = |error| {
            let what = format!("this module cannot be looked at: {error:#}");
            Problem::warning(
                module.span(),
                what,
                "correct the path; a name without slash is for a module that the program starts with",
            )
        };
        added.err().map(problem).into_iter().collect()
    }

    fn has_program(&self, pattern: &str) -> bool {
        self.programs.iter().any(|(path, _)| speaks_of(pattern, path))
    }

    /// The modules that a rule is looked up in.
    fn scope(&self, rule: &Rule) -> Vec<usize> {
        let program = rule.program.as_ref().map(|name| name.get_ref().as_str());
        let named = rule.module.as_ref().map(|name| name.get_ref().as_str());
        if let Some(path) = named.filter(|name| is_path(name)) {
            return canonicalize(path).ok().and_then(|path| self.by_path.get(&path)).copied().into_iter().collect();
        }
        let programs = self.programs.iter().filter(|(path, _)| program.is_none_or(|pattern| speaks_of(pattern, path)));
        let mut modules: Vec<usize> = programs.flat_map(|(_, modules)| modules.iter().copied()).collect();
        modules.sort_unstable();
        modules.dedup();
        modules.retain(|index| named.is_none_or(|name| matches(name.as_bytes(), self.modules[*index].name.as_bytes())));
        modules
    }

    /// What a rule is about; for each match the index of its module.
    fn find(&self, rule: &Rule, warnings: &mut Vec<Problem>) -> Vec<(usize, Match)> {
        let scope = self.scope(rule);
        let mut found = Vec::new();
        for index in &scope {
            let module = &self.modules[*index];
            let name = module.name.clone();
            match &rule.subject {
                Subject::All => found.push((*index, Match { module: name, name: String::new(), ranges: Vec::new() })),
                Subject::Symbol(symbol, distance) => {
                    found.extend(variables(module, symbol.get_ref(), *distance).map(|found| (*index, found)));
                }
                Subject::Function(function) => {
                    found.extend(functions(module, function.get_ref()).map(|found| (*index, found)));
                }
                Subject::Lines { file, first, last, .. } => {
                    let ranges = module.debug().lines(file, *first, *last);
                    if !ranges.is_empty() {
                        found.push((*index, Match { module: name, name: String::new(), ranges }));
                    }
                }
            }
        }
        if found.is_empty() {
            warnings.extend(self.why_nothing(rule, &scope));
        } else if let Subject::Symbol(name, _) = &rule.subject
            && let Some(small) = found.iter().flat_map(|(_, found)| &found.ranges).find(|range| is_too_small(range))
        {
            let what = format!("`{}` has {} bytes, fewer than a lock", name.get_ref(), small.end - small.start);
            let remedy =
                "if it is a pointer, the lock is elsewhere: name the function that makes it (`function = \"…\"`)";
            warnings.push(Problem::warning(name.span(), what, remedy));
        }
        found
    }

    fn why_nothing(&self, rule: &Rule, scope: &[usize]) -> Option<Problem> {
        if scope.is_empty() {
            // An unknown program or path has its warning already.
            let module = rule.module.as_ref().filter(|name| !is_path(name.get_ref()))?;
            let what = format!("no program here starts with a module {}", module.get_ref());
            let remedy = match &rule.subject {
                Subject::All => "if it is loaded later, this is fine; otherwise correct the name",
                _ => "if it is loaded later, give its path, so that it can be read; otherwise correct the name",
            };
            return Some(Problem::warning(module.span(), what, self.with_module_names(module.get_ref(), remedy)));
        }
        let modules = || scope.iter().map(|index| &self.modules[*index]);
        let without = |has: fn(&Module) -> bool| -> Vec<&str> {
            modules().filter(|module| !has(module)).map(|module| module.name.as_str()).collect()
        };
        Some(match &rule.subject {
            Subject::All => return None,
            Subject::Symbol(name, _) => {
                let near = self.nearest_symbol(name.get_ref(), scope, false);
                let what = format!("no variable `{}`", name.get_ref());
                Problem::warning(name.span(), what, advice(near, "names", &without(|module| !module.is_stripped())))
            }
            Subject::Function(name) => {
                let near = self.nearest_symbol(name.get_ref(), scope, true);
                let what = format!("no function `{}`", name.get_ref());
                Problem::warning(
                    name.span(),
                    what,
                    advice(near, "debug information", &without(|module| module.debug().is_there)),
                )
            }
            Subject::Lines { written, file, .. } => {
                let is_known =
                    modules().any(|module| module.debug().files().any(|path| super::debug::is_end_of_path(file, path)));
                let what = if is_known { "there is no code on these lines" } else { "no such source file" };
                let what = format!("{what}: {}", written.get_ref());
                Problem::warning(
                    written.span(),
                    what,
                    advice(None, "debug information", &without(|module| module.debug().is_there)),
                )
            }
        })
    }

    fn with_module_names(&self, given: &str, remedy: &str) -> String {
        match nearest(given, self.modules.iter().map(|module| Cow::Borrowed(module.name.as_str()))) {
            Some(name) => format!("did you mean `{name}`? {remedy}"),
            None => remedy.to_owned(),
        }
    }

    fn nearest_symbol(&self, given: &str, scope: &[usize], functions: bool) -> Option<String> {
        let mut names = Vec::new();
        for index in scope {
            self.modules[*index].for_each_symbol(|symbol| {
                if symbol.is_function == functions {
                    let shown = demangled(symbol.name);
                    names.push(shown.split(['(', '@']).next().unwrap_or(&shown).to_owned());
                }
            });
        }
        nearest(given, names.iter().map(|name| Cow::Borrowed(name.as_str()))).map(Cow::into_owned)
    }
}

fn speaks_of(pattern: &str, program: &Path) -> bool {
    let real = if is_path(pattern) { real_path(pattern) } else { pattern.to_owned() };
    let rule = TableRule {
        policy: turnwise_policy_table::Policy::Libc,
        kind: Kind::Any,
        label: b"",
        program: real.as_bytes(),
        module: b"",
    };
    rule.holds_in(program.as_os_str().as_bytes())
}

/// What to do about a name that is nowhere.
fn advice(near: Option<String>, what: &str, without: &[&str]) -> String {
    let near = near.map_or(String::new(), |name| format!("did you mean `{name}`? "));
    match without {
        [] => format!("{near}correct the name; `*` stands for any text"),
        [one] => {
            format!("{near}{one} has no {what}: install its debug package or build it with -g; or correct the name")
        }
        [first, rest @ ..] => {
            format!(
                "{near}{first} and {} more have no {what}: install debug packages or build with -g; or correct the name",
                rest.len()
            )
        }
    }
}

fn is_too_small(range: &Range<u64>) -> bool {
    // One byte: the size is not known, or the rule gave a distance.
    range.end - range.start < LOCK_BYTES && range.end - range.start > 1
}

fn variables(module: &Module, pattern: &str, distance: Option<u64>) -> impl Iterator<Item = Match> {
    let mut found: BTreeMap<String, Vec<Range<u64>>> = BTreeMap::new();
    module.for_each_symbol(|symbol| {
        if symbol.is_function || !is_about(pattern, symbol.name) {
            return;
        }
        let range = match distance {
            Some(distance) => symbol.range.start + distance..symbol.range.start + distance + 1,
            None => symbol.range.clone(),
        };
        let ranges = found.entry(demangled(symbol.name).into_owned()).or_default();
        if !ranges.contains(&range) {
            ranges.push(range);
        }
    });
    found.into_iter().map(|(name, ranges)| Match { module: module.name.clone(), name, ranges })
}

fn functions(module: &Module, pattern: &str) -> impl Iterator<Item = Match> {
    let mut found: BTreeMap<String, Vec<Range<u64>>> = BTreeMap::new();
    let debug: &Debug = module.debug();
    for (name, ranges) in debug.functions(|name| is_about(pattern, name)) {
        found.entry(demangled(name).into_owned()).or_default().extend(ranges.iter().cloned());
    }
    module.for_each_symbol(|symbol| {
        if symbol.is_function && is_about(pattern, symbol.name) {
            let ranges = found.entry(demangled(symbol.name).into_owned()).or_default();
            if !ranges.contains(&symbol.range) {
                ranges.push(symbol.range.clone());
            }
        }
    });
    found.into_iter().map(|(name, ranges)| Match { module: module.name.clone(), name, ranges })
}
