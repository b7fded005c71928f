//! Writing a table.

use crate::layout::{
    GROUP_BYTES, HEADER_BYTES, Kind, MAGIC, MODULE_BYTES, Policy, RANGE_BYTES, RULE_BYTES, RULES_MAX, VERSION,
};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

/// A rule to write; the fields are those of [`crate::Rule`].
#[derive(Clone, Debug)]
pub struct NewRule {
    /// The lock that it gives.
    pub policy: Policy,
    /// What it goes by.
    pub kind: Kind,
    /// What to call it in messages.
    pub label: String,
    /// Pattern for the program, empty: any.
    pub program: String,
    /// Pattern for the module's file name, with [`Kind::Module`].
    pub module: String,
}

/// Where a rule holds in a module.
#[derive(Clone, Debug)]
pub struct ModuleRanges {
    /// The module's [`fingerprint`](crate::fingerprint).
    pub fingerprint: u64,
    /// The rule's number, from 0.
    pub rule: usize,
    /// Addresses as in the module's file, in any order; they may overlap.
    pub ranges: Vec<Range<u64>>,
}

/// A table to write.
#[derive(Clone, Debug)]
pub struct NewTable {
    /// The lock that no rule gives.
    pub default: Policy,
    /// In the order in which they are tried.
    pub rules: Vec<NewRule>,
    /// In any order.
    pub modules: Vec<ModuleRanges>,
}

/// The table would have more rules than [`RULES_MAX`], or more than 4 GiB.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooMany;

impl fmt::Display for TooMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "more than {RULES_MAX} rules, or places beyond number")
    }
}

impl core::error::Error for TooMany {}

/// The parts as they grow.
#[derive(Default)]
struct Parts {
    rules: Vec<u8>,
    modules: Vec<u8>,
    groups: Vec<u8>,
    ranges: Vec<u8>,
    text: Vec<u8>,
}

impl NewTable {
    /// The bytes.
    ///
    /// # Errors
    /// The table is too large.
    pub fn bytes(&self) -> Result<Vec<u8>, TooMany> {
        if self.rules.len() > RULES_MAX {
            return Err(TooMany);
        }
        let mut parts = Parts::default();
        for rule in &self.rules {
            parts.rule(rule)?;
        }
        let mut modules: BTreeMap<u64, BTreeMap<usize, Vec<Range<u64>>>> = BTreeMap::new();
        for module in &self.modules {
            let ranges = modules.entry(module.fingerprint).or_default().entry(module.rule).or_default();
            ranges.extend(module.ranges.iter().cloned());
        }
        for (fingerprint, groups) in modules {
            parts.module(fingerprint, groups)?;
        }
        self.assemble(&parts)
    }

    fn assemble(&self, parts: &Parts) -> Result<Vec<u8>, TooMany> {
        let all = [
            (&parts.rules, RULE_BYTES),
            (&parts.modules, MODULE_BYTES),
            (&parts.groups, GROUP_BYTES),
            (&parts.ranges, RANGE_BYTES),
            (&parts.text, 1),
        ];
        let length = HEADER_BYTES + all.iter().map(|(part, _)| part.len()).sum::<usize>();
        let mut bytes = MAGIC.to_vec();
        for number in [VERSION, number(length)?, self.default as u32, 0] {
            put(&mut bytes, number);
        }
        let mut place = HEADER_BYTES;
        for (part, record) in all {
            put(&mut bytes, number(place)?);
            put(&mut bytes, number(part.len() / record)?);
            place += part.len();
        }
        for (part, _) in all {
            bytes.extend_from_slice(part);
        }
        Ok(bytes)
    }
}

impl Parts {
    fn rule(&mut self, rule: &NewRule) -> Result<(), TooMany> {
        put(&mut self.rules, rule.policy as u32);
        put(&mut self.rules, rule.kind as u32);
        for text in [&rule.label, &rule.program, &rule.module] {
            put(&mut self.rules, number(self.text.len())?);
            put(&mut self.rules, number(text.len())?);
            self.text.extend_from_slice(text.as_bytes());
        }
        Ok(())
    }

    fn module(&mut self, fingerprint: u64, groups: BTreeMap<usize, Vec<Range<u64>>>) -> Result<(), TooMany> {
        self.modules.extend_from_slice(&fingerprint.to_ne_bytes());
        put(&mut self.modules, number(self.groups.len() / GROUP_BYTES)?);
        put(&mut self.modules, number(groups.len())?);
        for (rule, ranges) in groups {
            let ranges = disjoint(ranges);
            for field in [rule, 0, self.ranges.len() / RANGE_BYTES, ranges.len()] {
                put(&mut self.groups, number(field)?);
            }
            for range in ranges {
                self.ranges.extend_from_slice(&range.start.to_ne_bytes());
                self.ranges.extend_from_slice(&range.end.to_ne_bytes());
            }
        }
        Ok(())
    }
}

/// The same addresses, in order, with neighbours joined.
fn disjoint(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

fn put(bytes: &mut Vec<u8>, number: u32) {
    bytes.extend_from_slice(&number.to_ne_bytes());
}

fn number(value: usize) -> Result<u32, TooMany> {
    u32::try_from(value).map_err(|_| TooMany)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn overlapping_ranges_become_disjoint() {
        assert_eq!(disjoint(vec![5..9, 1..2, 2..4, 7..8, 20..20]), [1..4, 5..9]);
    }

    #[test]
    fn too_many_rules_are_refused() {
        let rule = NewRule {
            policy: Policy::Mcs,
            kind: Kind::Any,
            label: String::new(),
            program: String::new(),
            module: String::new(),
        };
        let table = |count| NewTable { default: Policy::Libc, rules: vec![rule.clone(); count], modules: vec![] };
        assert!(table(RULES_MAX).bytes().is_ok());
        assert_eq!(table(RULES_MAX + 1).bytes(), Err(TooMany));
    }
}
