//! What can be switched off or changed, by `variants.toml`.

use anyhow::{Result, bail};
use serde::Deserialize;
use std::sync::LazyLock;
use turnwise::wait::{Field, Policy};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    number: Vec<Number>,
    mechanism: Vec<Variant>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Number {
    name: String,
    ends: Vec<(u64, String)>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| toml::from_str(include_str!("variants.toml")).expect("tests read it"));

/// One change to how the locks wait.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Variant {
    /// `NAME=VALUE`, or the name of a mechanism.
    pub(super) name: String,
    pub(super) what: String,
    #[serde(skip)]
    pub(super) set: Vec<String>,
    #[serde(default)]
    pub(super) variables: Vec<(String, String)>,
}

impl Number {
    fn variants(&'static self) -> impl Iterator<Item = Variant> {
        let default = Field::named(&self.name).map_or(0, |field| field.get(&Policy::DEFAULT));
        let variant = move |(value, what): (u64, String)| {
            let name = format!("{}={value}", self.name);
            Variant { set: vec![name.clone()], name, what, variables: Vec::new() }
        };
        self.ends
            .iter()
            .cloned()
            .chain([(default / 2, "half".to_owned()), (default * 2, "twice".to_owned())])
            .map(variant)
    }
}

/// Returns all variants, in the order of the table.
pub(super) fn all() -> Vec<Variant> {
    TABLE.number.iter().flat_map(Number::variants).chain(TABLE.mechanism.iter().cloned()).collect()
}

/// Returns the variants meant, or all of a number; all, if none is named.
pub(super) fn chosen(names: &[String]) -> Result<Vec<Variant>> {
    if names.is_empty() {
        return Ok(all());
    }
    let mut chosen: Vec<Variant> = Vec::new();
    for name in names {
        let of_number = |variant: &Variant| variant.name.split('=').next() == Some(name);
        let meant: Vec<Variant> = all().into_iter().filter(|v| v.name == *name || of_number(v)).collect();
        if meant.is_empty() {
            bail!("no variant and no number is called `{name}`; there are these:\n{}", list());
        }
        chosen.extend(meant);
    }
    let mut seen = std::collections::BTreeSet::new();
    chosen.retain(|variant| seen.insert(variant.name.clone()));
    Ok(chosen)
}

/// Renders a line for each.
pub(super) fn list() -> String {
    all().iter().map(|Variant { name, what, .. }| format!("  {name:<32}  {what}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_its_variants_and_each_is_within_bounds() {
        let names: Vec<&str> = TABLE.number.iter().map(|number| number.name.as_str()).collect();
        assert_eq!(names, Policy::FIELDS.iter().map(|field| field.name).collect::<Vec<_>>());
        let mut seen = std::collections::BTreeSet::new();
        for variant in all() {
            assert!(seen.insert(variant.name.clone()), "{} twice", variant.name);
            for set in &variant.set {
                let (name, value) = set.split_once('=').unwrap();
                let (field, value) = (Field::named(name).unwrap(), value.parse().unwrap());
                assert_ne!(field.get(&Policy::DEFAULT), value, "{set} changes nothing");
                field.set(&mut Policy::DEFAULT.clone(), value).unwrap();
            }
        }
    }

    fn names(typed: &[&str]) -> Vec<String> {
        let typed: Vec<String> = typed.iter().map(|name| (*name).to_owned()).collect();
        chosen(&typed).unwrap().into_iter().map(|variant| variant.name).collect()
    }

    #[test]
    fn a_variant_is_chosen_by_its_name_or_its_number() {
        assert_eq!(names(&["batch_lines"]), ["batch_lines=0", "batch_lines=128", "batch_lines=512"]);
        assert_eq!(names(&["no-rseq", "batch_lines=0", "batch_lines=0"]), ["no-rseq", "batch_lines=0"]);
        assert_eq!(names(&[]).len(), all().len());
    }

    #[test]
    fn what_is_not_there_is_refused_with_what_is() {
        let said = |name: &str| format!("{:#}", chosen(&[name.to_owned()]).unwrap_err());
        for unknown in ["batch", "batch_lines=", "batch_lines=1", ""] {
            assert!(said(unknown).contains("batch_lines=512 ") && said(unknown).contains("no-rseq"), "{unknown}");
        }
    }
}
