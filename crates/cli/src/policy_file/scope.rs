//! The programs and modules that rules are looked up in.

use super::module::{Module, modules_of};
use super::rule::{Rule, Subject};
use crate::program::{self, Native};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fs::canonicalize;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use turnwise_preload_abi::{matches, matches_path};
use turnwise_present::toml_file::Problem;

/// The programs and modules that the rules are looked up in.
pub(super) struct LookupScope {
    /// The path of each program, and the indices of its modules.
    programs: Vec<(PathBuf, Vec<usize>)>,
    pub(super) modules: Vec<Module>,
    by_path: BTreeMap<PathBuf, usize>,
}

impl LookupScope {
    /// Reads `program` with all modules that it starts with, and those that the rules name; also returns problems with
    /// the latter.
    pub(super) fn of(program: &Path, rules: &[Rule]) -> Result<(LookupScope, Vec<Problem>)> {
        let mut scope = LookupScope { programs: Vec::new(), modules: Vec::new(), by_path: BTreeMap::new() };
        scope.add(&program::native_of(program)?)?;
        let problems = rules.iter().flat_map(|rule| scope.add_named(rule)).collect();
        Ok((scope, problems))
    }

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

    /// Adds the program and the module that a rule names.
    fn add_named(&mut self, rule: &Rule) -> Vec<Problem> {
        [self.add_named_program(rule), self.add_named_module(rule)].into_iter().flatten().collect()
    }

    fn add_named_program(&mut self, rule: &Rule) -> Option<Problem> {
        let program = rule.program.as_ref().filter(|name| !self.has_program(name.get_ref()))?;
        let name = program.get_ref();
        if name.contains(['*', '?']) {
            let what = "no program of this name is known here";
            let remedy = "a rule for a symbol, function or line needs the program's own name or path: its file is read \
                          before it starts";
            let is_needed = !matches!(rule.subject, Subject::All);
            return is_needed.then(|| Problem::warning(program.span(), what, remedy));
        }
        let native = program::resolve(name.as_ref()).and_then(|path| program::native_of(&path));
        let error = native.and_then(|native| self.add(&native)).err()?;
        let what = format!("cannot inspect this program: {error:#}");
        Some(Problem::warning(program.span(), what, "correct its name, or give its path"))
    }

    fn add_named_module(&mut self, rule: &Rule) -> Option<Problem> {
        let module = rule.module.as_ref().filter(|name| is_path(name.get_ref()))?;
        let path = canonicalize(module.get_ref()).map_err(anyhow::Error::from);
        let error = path.and_then(|path| self.module(&path)).err()?;
        let what = format!("cannot inspect this module: {error:#}");
        let remedy = "correct the path; a name without slash is for a module that the program starts with";
        Some(Problem::warning(module.span(), what, remedy))
    }

    fn has_program(&self, pattern: &str) -> bool {
        self.programs.iter().any(|(path, _)| speaks_of(pattern, path))
    }

    /// Returns the modules that a rule is looked up in.
    pub(super) fn scope(&self, rule: &Rule) -> Vec<usize> {
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
}

fn speaks_of(pattern: &str, program: &Path) -> bool {
    let real = if is_path(pattern) { real_path(pattern) } else { pattern.to_owned() };
    matches_path(real.as_bytes(), program.as_os_str().as_bytes())
}

/// Returns whether it is a path to a file, rather than a name or a pattern.
pub(super) fn is_path(name: &str) -> bool {
    name.contains('/') && !name.contains(['*', '?'])
}

/// Returns the kernel's path, without links.
pub(super) fn real_path(path: &str) -> String {
    canonicalize(path).map_or(path.to_owned(), |path| path.to_string_lossy().into_owned())
}
