//! What can be switched off or changed: the list of variants.

use anyhow::{Result, bail};
use turnwise::wait::{Field, Policy};

/// A number of the policy, and values that switch off its effect, or let it happen always.
struct Number {
    name: &'static str,
    ends: &'static [(u64, &'static str)],
    /// The only lock that uses it, where that is neither mutex nor rwsem: part of the names of its cells.
    own: Option<&'static str>,
}

/// Half of each number and twice as much are variants, too.
const NUMBERS: &[Number] = &[
    number("spin_ns_per_cpu", &[(0, "no spin beyond the close polls and a head's first 32 pauses")]),
    number(
        "still_ns",
        &[
            (0, "a head sleeps at a line unchanged; no batches, no spin once woken, no poll of a condition variable"),
            (80_000, "eight times: on 2 CPUs half of the whole spin"),
        ],
    ),
    number(
        "close_polls",
        &[(0, "no close polls, no exchanges without polls, and polls never find that an owner is back")],
    ),
    number("poll_ns", &[(1, "a poll at each pause, and long sections are noticed later"), (280, "four times")]),
    number("batch_lines", &[(0, "no batches: a rest is as long as that between two polls")]),
    number(
        "yield_after_ns",
        &[(1_000_000_000, "no yield of the CPU but where the owner is off its own"), (1, "a yield at each wait")],
    ),
    number("handoff_after_ns", &[(1_000_000_000_000, "no hand-offs"), (0, "a request at the first failed wake-up")]),
    number("reserved_ns", &[(1_000_000_000_000, "hand-offs never lapse"), (1, "they lapse at once")]),
    Number {
        own: Some("seqlock:"),
        ..number("seqrwlock_spin_ns", &[(0, "an optimistic reader does not wait for the end of a change")])
    },
    Number {
        own: Some(":big-reader"),
        ..number("spread_after", &[(1_000_000, "one word for all readers for longer")])
    },
];

/// Mechanisms that are not numbers: name, what is removed, and the variable that switches it off, with its value.
const MECHANISMS: &[(&str, &str, &str, &str)] =
    &[("no-rseq", "whether an owner is on its CPU is unknown", "GLIBC_TUNABLES", "glibc.pthread.rseq=0")];

/// One change to how the locks wait.
#[derive(Debug)]
pub(super) struct Variant {
    /// `NAME=VALUE`, or the name of a mechanism.
    pub(super) name: String,
    pub(super) what: &'static str,
    pub(super) set: Vec<String>,
    pub(super) variables: Vec<(String, String)>,
    own: Option<&'static str>,
}

const fn number(name: &'static str, ends: &'static [(u64, &'static str)]) -> Number {
    Number { name, ends, own: None }
}

impl Number {
    fn variants(&self) -> Vec<Variant> {
        let default = Field::named(self.name).map_or(0, |field| field.get(&Policy::DEFAULT));
        let variant = |(value, what)| {
            let name = format!("{}={value}", self.name);
            Variant { set: vec![name.clone()], name, what, variables: Vec::new(), own: self.own }
        };
        self.ends.iter().copied().chain([(default / 2, "half"), (default * 2, "twice")]).map(variant).collect()
    }
}

impl Variant {
    /// Returns whether the locks of a program or cell depend on what it changes.
    pub(super) fn concerns(&self, cell: &str) -> bool {
        match self.own {
            Some(own) => cell.contains(own),
            None => NUMBERS.iter().filter_map(|number| number.own).all(|own| !cell.contains(own)),
        }
    }
}

/// Returns all variants, in the order of the table.
pub(super) fn all() -> Vec<Variant> {
    let mechanism = |&(name, what, variable, value): &(&str, &'static str, &str, &str)| {
        let variables = vec![(variable.to_owned(), value.to_owned())];
        Variant { name: name.to_owned(), what, set: Vec::new(), variables, own: None }
    };
    NUMBERS.iter().flat_map(Number::variants).chain(MECHANISMS.iter().map(mechanism)).collect()
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
        let names: Vec<&str> = NUMBERS.iter().map(|number| number.name).collect();
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

    #[test]
    fn locks_with_numbers_of_their_own_are_left_to_those() {
        let [spin, seqlock] =
            ["spin_ns_per_cpu=0", "seqrwlock_spin_ns=0"].map(|name| chosen(&[name.to_owned()]).unwrap().remove(0));
        assert!(spin.concerns("Tokyo hash") && spin.concerns("rwlock:8x95/5") && !spin.concerns("seqlock:read"));
        assert!(!spin.concerns("rwlock:8x95/5:big-reader"));
        assert!(seqlock.concerns("seqlock:read") && !seqlock.concerns("Tokyo hash"));
    }
}
