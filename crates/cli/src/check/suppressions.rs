//! Files of hazards that are accepted, each with the reason.

use anyhow::{Context, Result, bail};
use std::fmt;
use std::path::Path;
use turnwise_preload_abi::matches;
use turnwise_present::{input_file, printable};
use turnwise_profile::hazards::Hazard;

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Suppression {
    file: String,
    line: usize,
    of: Of,
    pattern: String,
    pub(super) reason: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Lock,
    Site,
}

impl fmt::Display for Suppression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = if self.of == Of::Lock { "lock" } else { "site" };
        let Suppression { file, line, pattern, reason, .. } = self;
        write!(f, "{file}:{line}: {of} {pattern} because {reason}")
    }
}

/// All lines of a file, and which of them covered something.
#[derive(Default)]
pub(super) struct Suppressions(Vec<(Suppression, bool)>);

impl Suppressions {
    pub(super) fn read(file: &Path) -> Result<Suppressions> {
        let shown = printable(&file.display().to_string()).into_owned();
        let text = input_file::read_to_string(file).with_context(|| format!("--suppress {shown}"))?;
        parse(&shown, &text)
    }

    /// Returns the first suppression that covers a hazard: it names one of its locks or sites.
    pub(super) fn covering(&mut self, hazard: &Hazard) -> Option<Suppression> {
        let covers = |suppression: &Suppression| {
            let names = if suppression.of == Of::Lock { &hazard.locks } else { &hazard.sites };
            names.iter().any(|name| matches(suppression.pattern.as_bytes(), name.as_bytes()))
        };
        let (found, is_used) = self.0.iter_mut().find(|(suppression, _)| covers(suppression))?;
        *is_used = true;
        Some(found.clone())
    }

    /// Returns those that covered nothing.
    pub(super) fn unused(self) -> Vec<Suppression> {
        self.0.into_iter().filter(|(_, is_used)| !is_used).map(|(suppression, _)| suppression).collect()
    }
}

fn parse(file: &str, text: &str) -> Result<Suppressions> {
    let mut all = Vec::new();
    for (line, entry) in (1..).zip(text.lines().map(str::trim)) {
        if entry.is_empty() || entry.starts_with('#') {
            continue;
        }
        let place = format!("{file}:{line}");
        let (of, rest) = match entry.split_once(char::is_whitespace) {
            Some(("lock", rest)) => (Of::Lock, rest),
            Some(("site", rest)) => (Of::Site, rest),
            _ => bail!("{place}: expected `lock PATTERN because REASON` or `site PATTERN because REASON`"),
        };
        let split = rest.split_once(" because ").map(|(pattern, reason)| (pattern.trim(), reason.trim()));
        let Some((pattern, reason)) = split.filter(|(pattern, reason)| !pattern.is_empty() && !reason.is_empty())
        else {
            bail!("{place}: no reason is given: add ` because ` and why this can cause no deadlock");
        };
        let (file, pattern, reason) = (file.to_owned(), pattern.to_owned(), reason.to_owned());
        all.push((Suppression { file, line, of, pattern, reason }, false));
    }
    Ok(Suppressions(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hazard(locks: &[&str], sites: &[&str]) -> Hazard {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Hazard {
            kind: "cycle",
            locks: owned(locks),
            sites: owned(sites),
            places: Vec::new(),
            steps: Vec::new(),
            sentence: None,
        }
    }

    #[test]
    fn a_hazard_is_covered_by_one_of_its_locks_or_sites() {
        let text =
            "# accepted\n\nlock made in f #* because they are never shared\nsite *(x.c:7) because it runs once\n";
        let mut read = parse("file", text).unwrap();
        assert_eq!(read.covering(&hazard(&["a", "made in f"], &["g (x.c:70)"])), None);
        let by = read.covering(&hazard(&["a", "b"], &["h (x.c:8)", "g (x.c:7)"])).unwrap();
        assert_eq!(by.to_string(), "file:4: site *(x.c:7) because it runs once");
        let unused: Vec<usize> = read.unused().iter().map(|suppression| suppression.line).collect();
        assert_eq!(unused, [3]);
        let mut read = parse("file", text).unwrap();
        assert_eq!(read.covering(&hazard(&["made in f #2"], &[])).unwrap().line, 3);
    }

    #[test]
    fn an_entry_without_a_reason_is_refused_with_its_place() {
        for (text, complaint) in [
            ("lock a\n", "file:1: no reason"),
            ("# x\nlock a because \n", "file:2: no reason"),
            ("\nlock because b\n", "file:2: no reason"),
            ("a because b\n", "file:1: expected `lock PATTERN because REASON`"),
            ("lock", "file:1: expected"),
        ] {
            let error = parse("file", text).err().expect(text).to_string();
            assert!(error.starts_with(complaint), "{error}");
        }
    }
}
