//! What breaks a rule and is allowed to for now: a count per rule and file, which only goes down.

use super::Finding;
use anyhow::{Context, Result, bail};

const FILE: &str = "xtask/ratchet.toml";

/// The exceptions of `xtask/ratchet.toml`.
#[derive(Debug)]
pub(crate) struct Ratchet {
    allowed: Vec<Allowed>,
}

#[derive(Debug)]
struct Allowed {
    rule: String,
    file: String,
    count: usize,
    line: usize,
}

/// Reads the file of exceptions.
pub(crate) fn load() -> Result<Ratchet> {
    parse(&std::fs::read_to_string(FILE).with_context(|| format!("cannot read {FILE}"))?)
}

pub(crate) fn parse(text: &str) -> Result<Ratchet> {
    let table: toml::Table = text.parse().with_context(|| format!("{FILE} is not valid TOML"))?;
    let entries = table.get("allow").and_then(toml::Value::as_array).map_or(&[][..], Vec::as_slice);
    let lines = (1..).zip(text.lines()).filter(|(_, line)| line.starts_with("[[allow]]")).map(|(number, _)| number);
    let allowed = entries.iter().zip(lines).map(|(entry, line)| allow(entry, line)).collect::<Result<_>>()?;
    Ok(Ratchet { allowed })
}

fn allow(entry: &toml::Value, line: usize) -> Result<Allowed> {
    let text = |key| {
        let value = entry.get(key).and_then(toml::Value::as_str);
        value.map(str::to_string).with_context(|| format!("{FILE}:{line}: `{key}` is missing or not a string"))
    };
    let rule = text("rule")?;
    if !super::rules().any(|r| r.name == rule) {
        bail!("{FILE}:{line}: no rule is called `{rule}`; `cargo xtask tidy --list` lists them");
    }
    text("why")?;
    let count = entry.get("count").and_then(toml::Value::as_integer).and_then(|n| usize::try_from(n).ok());
    let count = count.filter(|n| *n > 0).with_context(|| format!("{FILE}:{line}: `count` must be at least 1"))?;
    Ok(Allowed { rule, file: text("file")?, count, line })
}

impl Ratchet {
    /// Removes what is allowed, and complains about what is allowed but no longer needed.
    pub(crate) fn apply(&self, mut findings: Vec<Finding>) -> Vec<Finding> {
        for allowed in &self.allowed {
            let is_it = |f: &Finding| f.rule == allowed.rule && f.file == allowed.file;
            let found = findings.iter().filter(|f| is_it(f)).count();
            if found <= allowed.count {
                findings.retain(|f| !is_it(f));
            }
            if found < allowed.count {
                findings.push(Finding {
                    rule: "ratchet",
                    file: FILE.into(),
                    line: allowed.line,
                    message: format!(
                        "{} {} are allowed in {}, {found} are left",
                        allowed.count, allowed.rule, allowed.file
                    ),
                    remedy: "lower the count (or remove the entry), so that it cannot rise again",
                });
            }
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding() -> Finding {
        Finding { rule: "line-length", file: "a.rs".into(), line: 1, message: String::new(), remedy: "" }
    }

    fn left(count: usize, found: usize) -> Vec<&'static str> {
        let text = format!("[[allow]]\nrule = \"line-length\"\nfile = \"a.rs\"\ncount = {count}\nwhy = \"x\"\n");
        let left = parse(&text).unwrap().apply(vec![finding(); found]);
        left.iter().map(|f| f.rule).collect()
    }

    #[test]
    fn the_count_is_exact() {
        assert_eq!(left(2, 2), [""; 0]);
        assert_eq!(left(2, 1), ["ratchet"]);
        assert_eq!(left(2, 3), ["line-length"; 3]);
    }

    #[test]
    fn bad_entries_are_refused() {
        let error = |text| parse(text).unwrap_err().to_string();
        assert!(error("[[allow]]\nrule = \"no-such\"\n").contains("no rule is called"));
        assert!(error("[[allow]]\nrule = \"whitespace\"\nfile = \"a\"\ncount = 1\n").contains("`why`"));
        assert!(error("allow = ").contains("TOML"));
    }
}
