//! Explains why a rule matches nothing, and what to do.

use super::module::Module;
use super::names::is_about;
use super::rule::{Rule, Subject};
use super::scope::{LookupScope, is_path};
use std::borrow::Cow;
use toml::Spanned;
use turnwise_present::names::nearest;
use turnwise_present::toml_file::Problem;
use turnwise_profile::symbols::code::is_end_of_path;
use turnwise_profile::symbols::without_parameters;

impl LookupScope {
    /// Explains why a rule found nothing in the modules `scope`; `None`: it already has a warning.
    pub(super) fn why_nothing(&self, rule: &Rule, scope: &[usize]) -> Option<Problem> {
        if scope.is_empty() {
            return self.no_module(rule);
        }
        match &rule.subject {
            Subject::All => None,
            Subject::Symbol(name, _) => Some(self.no_symbol(name, scope, false)),
            Subject::Function(name) => Some(self.no_symbol(name, scope, true)),
            Subject::Lines { written, file, .. } => Some(self.no_lines(written, file, scope)),
        }
    }

    fn no_module(&self, rule: &Rule) -> Option<Problem> {
        let module = rule.module.as_ref().filter(|name| !is_path(name.get_ref()))?;
        let what = format!("no program here starts with a module {}", module.get_ref());
        let remedy = match &rule.subject {
            Subject::All => "if it is loaded later, this is fine; otherwise correct the name",
            _ => "if it is loaded later, give its path, so that it can be read; otherwise correct the name",
        };
        let known = self.modules.iter().map(|module| Cow::Borrowed(module.name.as_str()));
        let remedy = match nearest(module.get_ref(), known) {
            Some(name) => format!("did you mean `{name}`? {remedy}"),
            None => remedy.to_owned(),
        };
        Some(Problem::warning(module.span(), what, remedy))
    }

    fn no_symbol(&self, name: &Spanned<String>, scope: &[usize], is_function: bool) -> Problem {
        let (mut known, mut is_other) = (Vec::new(), false);
        for index in scope {
            // A variable of the C library's is never meant, and its names are many.
            let is_offered = !is_system(&self.modules[*index].name);
            self.modules[*index].for_each_symbol(|symbol| {
                if symbol.is_function != is_function {
                    is_other |= is_about(name.get_ref(), symbol.name);
                } else if is_offered {
                    known.push(without_parameters(symbol.name));
                }
            });
        }
        let known = known.iter().map(|name| Cow::Borrowed(name.as_str()));
        let remedy = match nearest(name.get_ref(), known) {
            _ if is_other && is_function => "a variable has this name: name it with `symbol`".to_owned(),
            _ if is_other => "a function has this name: name the locks that it makes with `function`".to_owned(),
            Some(near) => format!("did you mean `{near}`?"),
            None => self.without_names(scope, |module| module.is_stripped()),
        };
        let what = format!("no {} `{}`", if is_function { "function" } else { "variable" }, name.get_ref());
        Problem::warning(name.span(), what, remedy)
    }

    fn no_lines(&self, written: &Spanned<String>, file: &str, scope: &[usize]) -> Problem {
        let mut modules = scope.iter().map(|index| &self.modules[*index]);
        let is_known = modules.any(|module| module.code().files().any(|path| is_end_of_path(file, path)));
        let (what, remedy) = if is_known {
            (
                "no code was compiled from these lines",
                "name the line of the call, or several: `file.c:100-140`".to_owned(),
            )
        } else {
            ("no such source file", self.without_names(scope, |module| !module.code().is_there))
        };
        Problem::warning(written.span(), format!("{what}: {}", written.get_ref()), remedy)
    }

    /// Returns the advice if no name is similar: it may be in a stripped module.
    fn without_names(&self, scope: &[usize], lacks: impl Fn(&Module) -> bool) -> String {
        let lacking: Vec<&str> =
            scope.iter().map(|index| &self.modules[*index]).filter(|m| lacks(m)).map(|m| m.name.as_str()).collect();
        let (who, verb) = match lacking.as_slice() {
            [] => return "correct the name; `*` stands for any text".to_owned(),
            [one] => ((*one).to_owned(), "has"),
            [first, rest @ ..] => (format!("{first} and {} more", rest.len()), "have"),
        };
        format!("correct the name; or, since {who} {verb} no names to look in, install debug packages or build with -g")
    }
}

/// Returns whether a module is a part of the C library or of the loader, or a module of the compiler's.
fn is_system(module: &str) -> bool {
    const PARTS: [&str; 8] = ["libc", "libm", "libpthread", "libdl", "librt", "ld-linux", "libgcc_s", "libstdc++"];
    let stem = module.split(['.', '-']).next().unwrap_or(module);
    PARTS.iter().any(|part| stem == *part || part.contains('-') && module.starts_with(part))
}

#[cfg(test)]
mod tests {
    use super::is_system;

    #[test]
    fn parts_of_the_system_offer_no_names() {
        assert!(
            ["libc.so.6", "libc-2.36.so", "ld-linux-x86-64.so.2", "libstdc++.so.6"].iter().all(|name| is_system(name))
        );
        assert!(!["server", "libcache.so", "libc", "libmysql.so.2"].iter().skip(3).any(|name| is_system(name)));
        assert!(!is_system("server") && !is_system("libcache.so.1"));
    }
}
