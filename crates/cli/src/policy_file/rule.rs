//! A rule of a policy file.

use crate::setting::shown;
use std::ops::Range;
use toml::Spanned;
use turnwise_live::Values;
use turnwise_preload_abi::{Policy, matches};

/// A rule: conditions that must all be met, and the policy that it gives.
pub(crate) struct Rule {
    pub(crate) policy: Policy,
    /// The settings for waits for its locks.
    pub(crate) values: Values,
    pub(crate) program: Option<Spanned<String>>,
    pub(crate) module: Option<Spanned<String>>,
    pub(crate) subject: Subject,
    /// The whole rule in the text.
    pub(crate) place: Range<usize>,
    pub(crate) line: usize,
}

/// The locks of a module that a rule matches.
#[derive(Clone)]
pub(crate) enum Subject {
    /// Any lock.
    All,
    /// A lock in this variable, at this distance from its start, or anywhere in it.
    Symbol(Spanned<String>, Option<u64>),
    /// A lock that this function initialises.
    Function(Spanned<String>),
    /// A lock that these lines of source initialise.
    Lines { written: Spanned<String>, file: String, first: u64, last: u64 },
}

impl Rule {
    /// Returns the rule's name in messages: its place, its conditions, its lock and its settings.
    pub(crate) fn label(&self, origin: &str) -> String {
        let settings = if self.values.is_empty() { String::new() } else { format!(", {}", shown(&self.values)) };
        format!("{origin}:{} ({}): {}{settings}", self.line, self.conditions(), self.policy.name())
    }

    pub(crate) fn conditions(&self) -> String {
        let subject = match &self.subject {
            Subject::All => None,
            Subject::Symbol(name, _) => Some(("symbol", name)),
            Subject::Function(name) => Some(("function", name)),
            Subject::Lines { written, .. } => Some(("line", written)),
        };
        let program = self.program.as_ref().map(|name| ("program", name));
        let module = self.module.as_ref().map(|name| ("module", name));
        let all = [program, module, subject].into_iter().flatten();
        all.map(|(key, value)| format!("{key} {}", value.get_ref())).collect::<Vec<_>>().join(", ")
    }

    /// Returns whether every lock of `other` is one of this rule, as far as the text shows.
    pub(super) fn covers(&self, other: &Rule) -> bool {
        let wider = |mine: &Option<Spanned<String>>, theirs: &Option<Spanned<String>>| match (mine, theirs) {
            (None, _) => true,
            (Some(mine), None) => mine.get_ref() == "*",
            (Some(mine), Some(theirs)) => is_wider(mine.get_ref(), theirs.get_ref()),
        };
        let subject = match (&self.subject, &other.subject) {
            (Subject::All, _) => true,
            (Subject::Symbol(mine, distance), Subject::Symbol(theirs, other)) => match distance {
                None => is_wider(mine.get_ref(), theirs.get_ref()),
                Some(_) => distance == other && mine.get_ref() == theirs.get_ref(),
            },
            (Subject::Function(mine), Subject::Function(theirs)) => is_wider(mine.get_ref(), theirs.get_ref()),
            (Subject::Lines { file, first, last, .. }, Subject::Lines { file: f, first: a, last: z, .. }) => {
                file == f && first <= a && z <= last
            }
            _ => false,
        };
        wider(&self.program, &other.program) && wider(&self.module, &other.module) && subject
    }
}

/// Returns whether the pattern `mine` matches all that `theirs` matches; certain only if `theirs` is not a pattern, or
/// is the same.
fn is_wider(mine: &str, theirs: &str) -> bool {
    let literal = !theirs.contains(['*', '?']);
    mine == theirs
        || mine == "*"
        || literal && mine.contains('/') == theirs.contains('/') && { matches(mine.as_bytes(), theirs.as_bytes()) }
}
