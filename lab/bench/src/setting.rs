//! `--set NAME=VALUE`: another number in the policy by which our locks wait.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use turnwise::wait::{Field, Policy, set_policy};

/// A number of [`Policy`] that a command line changes.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    field: &'static Field,
    value: u64,
}

impl FromStr for Setting {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let form = "write NAME=VALUE, for example spin_ns_per_cpu=20000";
        let (name, value) = text.split_once('=').ok_or_else(|| anyhow::anyhow!("no '=' in it: {form}"))?;
        let Some(field) = Field::named(name) else {
            let names: Vec<_> = Policy::FIELDS.iter().map(|field| field.name).collect();
            anyhow::bail!("waiting has no number {name}; it has {}", names.join(", "));
        };
        let value: u64 = value.parse().map_err(|_| anyhow::anyhow!("{value} is not a whole number: {form}"))?;
        let (from, to) = field.bounds;
        anyhow::ensure!((from..=to).contains(&value), "{name} is from {from} to {to} ({})", field.unit);
        Ok(Setting { field, value })
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.field.name, self.value)
    }
}

/// Applies these to all our locks in this process, from now on.
///
/// # Errors
/// One number is set twice.
pub fn hold(settings: &[Setting]) -> anyhow::Result<()> {
    let mut policy = Policy::DEFAULT;
    let mut set = BTreeMap::new();
    for setting in settings {
        if let Some(before) = set.insert(setting.field.name, setting.value) {
            anyhow::bail!("--set has {} twice: {before} and {}", setting.field.name, setting.value);
        }
        setting.field.set(&mut policy, setting.value).expect("its bounds were looked at");
    }
    if !settings.is_empty() {
        set_policy(Box::leak(Box::new(policy)));
    }
    Ok(())
}

/// Returns the table of what can be set, for `--list`.
#[must_use]
pub fn list() -> String {
    let row = |field: &Field| {
        let first = field.about.split_once(". ").map_or(field.about, |(first, _)| first);
        let first = first.split_whitespace().collect::<Vec<_>>().join(" ");
        let value = format!("{}={}", field.name, field.get(&Policy::DEFAULT));
        format!("  {value:<28} {}: {}\n", field.unit, first.trim_end_matches('.'))
    };
    let rows: String = Policy::FIELDS.iter().map(row).collect();
    format!("numbers of waiting, as they ship (`--set NAME=VALUE` changes one)\n{rows}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_settings_are_named() {
        let wrong = [
            ("spin_ns_per_cpu", "no '='"),
            ("spin=3", "waiting has no number spin; it has spin_ns_per_cpu, "),
            ("spin_ns_per_cpu=many", "many is not a whole number"),
            ("poll_ns=0", "poll_ns is from 1 to 1000000 (ns)"),
        ];
        for (text, part) in wrong {
            let error = text.parse::<Setting>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
        let twice = ["spin_ns_per_cpu=1", "spin_ns_per_cpu=2"].map(|text| text.parse().unwrap());
        assert!(hold(&twice).unwrap_err().to_string().contains("twice: 1 and 2"));
    }

    #[test]
    fn every_number_is_listed_with_what_ships() {
        let list = list();
        assert!(list.contains("\n  handoff_after_ns=4000000 "), "{list}");
        assert_eq!(list.lines().count(), 1 + Policy::FIELDS.len());
    }
}
