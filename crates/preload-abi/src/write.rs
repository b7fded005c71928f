//! Writes a table.

use crate::layout::{Header, MAGIC, Piece, RULES_MAX, RangeRecord, RuleRecord, UNSET, VERSION};
use crate::policy::Policy;
use crate::table::Rule;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;
use zerocopy::IntoBytes;
use zerocopy::native_endian::{U32, U64};

/// A rule to write.
pub type NewRule = Rule<String>;

/// The addresses of a module to which a rule applies.
#[derive(Clone, Debug)]
pub struct ModuleRanges {
    /// The module's [`fingerprint`](crate::fingerprint).
    pub fingerprint: u64,
    /// The rule's number, counted from 0.
    pub rule: usize,
    /// Addresses as in the module's file, in any order; they may overlap.
    pub ranges: Vec<Range<u64>>,
}

/// A table to write.
#[derive(Clone, Debug)]
pub struct NewTable {
    /// The policy of locks that no rule selects.
    pub default: Policy,
    /// The rules, in the order in which they are tried.
    pub rules: Vec<NewRule>,
    /// The addresses to which rules apply, in any order.
    pub modules: Vec<ModuleRanges>,
}

/// The error that the table would have more rules than [`RULES_MAX`], or 2^32 records of a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooMany;

impl fmt::Display for TooMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "more than {RULES_MAX} rules, or places beyond number")
    }
}

impl core::error::Error for TooMany {}

impl NewTable {
    /// Encodes the table.
    ///
    /// # Errors
    /// The table is too large.
    pub fn bytes(&self) -> Result<Vec<u8>, TooMany> {
        if self.rules.len() > RULES_MAX {
            return Err(TooMany);
        }
        let mut text = Vec::new();
        let rules = self.rules.iter().map(|rule| record(rule, &mut text)).collect::<Result<Vec<_>, _>>()?;
        let ranges = self.range_records()?;
        let header = Header {
            magic: MAGIC,
            version: VERSION.into(),
            default: u32::from(self.default.number()).into(),
            rules: number(rules.len())?,
            ranges: number(ranges.len())?,
            text: number(text.len())?,
        };
        Ok([header.as_bytes(), rules.as_bytes(), ranges.as_bytes(), &text].concat())
    }

    fn range_records(&self) -> Result<Vec<RangeRecord>, TooMany> {
        let mut places: BTreeMap<_, Vec<Range<u64>>> = BTreeMap::new();
        for module in &self.modules {
            places.entry((module.fingerprint, module.rule)).or_default().extend(module.ranges.iter().cloned());
        }
        let mut records = Vec::new();
        for ((fingerprint, rule), ranges) in places {
            let (module, rule) = (fingerprint.into(), number(rule)?);
            let record =
                |Range { start, end }| RangeRecord { module, rule, start: U64::new(start), end: U64::new(end) };
            records.extend(disjoint(ranges).into_iter().map(record));
        }
        Ok(records)
    }
}

/// Makes a rule's record; its texts are appended to `text`.
fn record(rule: &NewRule, text: &mut Vec<u8>) -> Result<RuleRecord, TooMany> {
    let mut piece = |added: &str| {
        let piece = Piece { start: number(text.len())?, length: number(added.len())? };
        text.extend_from_slice(added.as_bytes());
        Ok(piece)
    };
    let (label, program, module) = (piece(&rule.label)?, piece(&rule.program)?, piece(&rule.module)?);
    let settings = rule.settings.map(|ns| U32::new(ns.unwrap_or(UNSET)));
    Ok(RuleRecord { policy: rule.policy.number(), kind: rule.kind as u8, label, program, module, settings })
}

/// Sorts ranges, and joins those that overlap or touch.
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

fn number(value: usize) -> Result<U32, TooMany> {
    u32::try_from(value).map(U32::new).map_err(|_| TooMany)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{Kind, Settings};
    use alloc::vec;

    #[test]
    fn overlapping_ranges_become_disjoint() {
        assert_eq!(disjoint(vec![5..9, 1..2, 2..4, 7..8, 20..20]), [1..4, 5..9]);
    }

    #[test]
    fn too_many_rules_are_refused() {
        let rule = NewRule {
            policy: Policy::QUEUED,
            kind: Kind::Any,
            label: String::new(),
            program: String::new(),
            module: String::new(),
            settings: Settings::default(),
        };
        let table = |count| NewTable { default: Policy::Libc, rules: vec![rule.clone(); count], modules: vec![] };
        assert!(table(RULES_MAX).bytes().is_ok());
        assert_eq!(table(RULES_MAX + 1).bytes(), Err(TooMany));
    }
}
