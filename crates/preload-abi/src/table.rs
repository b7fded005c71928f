//! Reading a table.

use crate::glob::matches;
use crate::layout::{
    Fault, GROUP_BYTES, HEADER_BYTES, Kind, MAGIC, MODULE_BYTES, Policy, RANGE_BYTES, RULE_BYTES, RULES_MAX, VERSION,
    field,
};

/// A place in a program: in which module, and where there.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// The module's [`fingerprint`](crate::fingerprint).
    pub fingerprint: u64,
    /// The address relative to where the module was loaded: what its file says.
    pub address: u64,
    /// The module's file name, without folders.
    pub module: &'a [u8],
}

/// A rule.
#[derive(Clone, Copy)]
pub struct Rule<'a> {
    /// The lock that it gives.
    pub policy: Policy,
    /// What it goes by.
    pub kind: Kind,
    /// What to call it in messages.
    pub label: &'a [u8],
    /// Pattern for the program, empty: any. See [`Rule::holds_in`].
    pub program: &'a [u8],
    /// Pattern for the module's file name, with [`Kind::Module`].
    pub module: &'a [u8],
}

impl Rule<'_> {
    /// Whether it speaks of the program of this path.
    pub fn holds_in(&self, program: &[u8]) -> bool {
        self.program.is_empty() || matches_path(self.program, program)
    }
}

/// Whether `pattern` describes the file of this path: a pattern without slash is for the file's name alone.
pub fn matches_path(pattern: &[u8], path: &[u8]) -> bool {
    matches(pattern, if pattern.contains(&b'/') { path } else { file_name(path) })
}

/// What stands behind the last slash.
pub(crate) fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

/// One part of the table: records of the same size.
#[derive(Clone, Copy)]
struct Part<'a> {
    bytes: &'a [u8],
    record: usize,
}

impl<'a> Part<'a> {
    fn count(&self) -> usize {
        self.bytes.len() / self.record
    }

    fn get(&self, index: usize) -> Option<Record<'a>> {
        let start = index.checked_mul(self.record)?;
        self.bytes.get(start..start.checked_add(self.record)?).map(Record)
    }

    /// The records from `first`.
    fn slice(&self, first: usize, count: usize) -> Option<Part<'a>> {
        let (start, length) = (first.checked_mul(self.record)?, count.checked_mul(self.record)?);
        let bytes = self.bytes.get(start..start.checked_add(length)?)?;
        Some(Part { bytes, record: self.record })
    }

    /// The number of leading records for which `before` holds, if it holds for none behind.
    fn partition_point(&self, before: impl Fn(Record<'a>) -> bool) -> usize {
        let (mut low, mut high) = (0, self.count());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.get(middle) {
                Some(record) if before(record) => low = middle + 1,
                _ => high = middle,
            }
        }
        low
    }
}

#[derive(Clone, Copy)]
struct Record<'a>(&'a [u8]);

impl Record<'_> {
    /// The number at this place; all places are inside, since records have their full length.
    fn u32(self, at: usize) -> u32 {
        let bytes = self.0.get(at..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |bytes| u32::from_ne_bytes(*bytes))
    }

    fn u64(self, at: usize) -> u64 {
        let bytes = self.0.get(at..).and_then(|rest| rest.first_chunk());
        bytes.map_or(0, |bytes| u64::from_ne_bytes(*bytes))
    }
}

/// A table.
#[derive(Clone, Copy)]
pub struct Table<'a> {
    default: Policy,
    rules: Part<'a>,
    modules: Part<'a>,
    groups: Part<'a>,
    ranges: Part<'a>,
    text: &'a [u8],
}

impl<'a> Table<'a> {
    /// The table in these bytes.
    ///
    /// # Errors
    /// They are none. Whatever they are, no later call panics.
    pub fn parse(bytes: &'a [u8]) -> Result<Table<'a>, Fault> {
        if bytes.get(..MAGIC.len()) != Some(&MAGIC) {
            return Err(Fault::NoTable);
        }
        let header = Record(bytes.get(..HEADER_BYTES).ok_or(Fault::Damaged)?);
        if header.u32(field::VERSION) != VERSION {
            return Err(Fault::OtherVersion);
        }
        if header.u32(field::LENGTH) as usize != bytes.len() {
            return Err(Fault::Damaged);
        }
        let part = |at, record| {
            let (start, count) = (header.u32(at) as usize, header.u32(at + 4) as usize);
            let length = count.checked_mul(record).ok_or(Fault::Damaged)?;
            let end = start.checked_add(length).ok_or(Fault::Damaged)?;
            Ok(Part { bytes: bytes.get(start..end).ok_or(Fault::Damaged)?, record })
        };
        let table = Table {
            default: Policy::of(header.u32(field::DEFAULT)).ok_or(Fault::Damaged)?,
            rules: part(field::RULES, RULE_BYTES)?,
            modules: part(field::MODULES, MODULE_BYTES)?,
            groups: part(field::GROUPS, GROUP_BYTES)?,
            ranges: part(field::RANGES, RANGE_BYTES)?,
            text: part(field::TEXT, 1)?.bytes,
        };
        let sound = table.rules.count() <= RULES_MAX && (0..table.rules.count()).all(|n| table.rule(n).is_some());
        if sound { Ok(table) } else { Err(Fault::Damaged) }
    }

    /// The lock that no rule gives.
    pub fn default_policy(&self) -> Policy {
        self.default
    }

    /// How many rules there are.
    pub fn rules(&self) -> usize {
        self.rules.count()
    }

    /// The rule of this number, from 0.
    pub fn rule(&self, number: usize) -> Option<Rule<'a>> {
        let record = self.rules.get(number)?;
        let text = |at| {
            let (start, length) = (record.u32(at) as usize, record.u32(at + 4) as usize);
            self.text.get(start..start.checked_add(length)?)
        };
        Some(Rule {
            policy: Policy::of(record.u32(0))?,
            kind: Kind::of(record.u32(4))?,
            label: text(8)?,
            program: text(16)?,
            module: text(24)?,
        })
    }

    /// The first rule for a lock that lies at `object` and is made by a call at `call`, among the rules that are
    /// `active`; `None`: the default.
    pub fn decide(&self, object: Option<Place>, call: Option<Place>, active: impl Fn(usize) -> bool) -> Option<usize> {
        let groups_of = |place: Option<Place>| place.and_then(|place| self.groups_of(place.fingerprint));
        let (of_object, of_call) = (groups_of(object), groups_of(call));
        let within = |groups: Option<Part>, number, place: Option<Place>| match (groups, place) {
            (Some(groups), Some(place)) => self.covers(groups, number, place.address),
            _ => false,
        };
        (0..self.rules.count()).filter(|number| active(*number)).find(|number| {
            let Some(rule) = self.rule(*number) else { return false };
            let in_module = |place: Option<Place>| place.is_some_and(|place| matches(rule.module, place.module));
            match rule.kind {
                Kind::Any => true,
                Kind::Module => in_module(object) || in_module(call),
                Kind::Object => within(of_object, *number, object),
                Kind::Call => within(of_call, *number, call),
            }
        })
    }

    fn groups_of(&self, fingerprint: u64) -> Option<Part<'a>> {
        let index = self.modules.partition_point(|module| module.u64(0) < fingerprint);
        let module = self.modules.get(index).filter(|module| module.u64(0) == fingerprint)?;
        self.groups.slice(module.u32(8) as usize, module.u32(12) as usize)
    }

    /// Whether the rule's ranges in this module have the address. A rule has one group in a module: its kind says
    /// whether the addresses are of locks or of calls.
    fn covers(&self, groups: Part, rule: usize, address: u64) -> bool {
        let index = groups.partition_point(|group| (group.u32(0) as usize) < rule);
        let Some(group) = groups.get(index).filter(|group| group.u32(0) as usize == rule) else { return false };
        let Some(ranges) = self.ranges.slice(group.u32(8) as usize, group.u32(12) as usize) else { return false };
        let index = ranges.partition_point(|range| range.u64(8) <= address);
        ranges.get(index).is_some_and(|range| range.u64(0) <= address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::{ModuleRanges, NewRule, NewTable};
    use alloc::vec;
    use alloc::vec::Vec;

    fn rule(policy: Policy, kind: Kind, program: &str, module: &str) -> NewRule {
        NewRule { policy, kind, label: "label".into(), program: program.into(), module: module.into() }
    }

    fn bytes() -> Vec<u8> {
        NewTable {
            default: Policy::Adaptive,
            rules: vec![
                rule(Policy::Mcs, Kind::Object, "", ""),
                rule(Policy::Libc, Kind::Call, "", ""),
                rule(Policy::Ttas, Kind::Module, "", "lib*.so"),
                rule(Policy::Ticket, Kind::Any, "/opt/*", ""),
            ],
            modules: vec![
                ModuleRanges { fingerprint: 9, rule: 0, ranges: vec![0x200..0x240, 0x100..0x128] },
                ModuleRanges { fingerprint: 9, rule: 1, ranges: vec![0x1000..0x1800, 0x1800..0x2000] },
                ModuleRanges { fingerprint: 3, rule: 1, ranges: vec![0..0x8, 4..0x10] },
            ],
        }
        .bytes()
        .unwrap()
    }

    fn place(fingerprint: u64, address: u64) -> Option<Place<'static>> {
        Some(Place { fingerprint, address, module: b"prog" })
    }

    #[test]
    fn the_first_rule_that_fits_decides() {
        let bytes = bytes();
        let table = Table::parse(&bytes).unwrap();
        let decide = |object, call| table.decide(object, call, |number| number != 3);
        assert_eq!(decide(place(9, 0x100), None), Some(0));
        assert_eq!(decide(place(9, 0x127), place(9, 0x1000)), Some(0));
        assert_eq!(decide(place(9, 0x128), place(9, 0x1fff)), Some(1));
        assert_eq!(decide(place(9, 0x23f), None), Some(0));
        assert_eq!(decide(place(9, 0x1000), place(9, 0x200)), None, "objects and calls are told apart");
        assert_eq!(decide(place(8, 0x100), place(3, 0x10)), None);
        assert_eq!(decide(None, place(3, 0xf)), Some(1));
        let library = Some(Place { fingerprint: 1, address: 7, module: b"libx.so" });
        assert_eq!(decide(library, None), Some(2));
        assert_eq!(decide(None, library), Some(2));
        assert_eq!(table.decide(None, None, |_| true), Some(3));
        assert_eq!(table.default_policy(), Policy::Adaptive);
    }

    #[test]
    fn programs_by_name_and_by_path() {
        let bytes = bytes();
        let last = Table::parse(&bytes).unwrap().rule(3).unwrap();
        assert!(last.holds_in(b"/opt/bin/server") && !last.holds_in(b"/usr/bin/opt"));
        let by_name = Rule { program: b"serv*", ..last };
        assert!(by_name.holds_in(b"/usr/bin/server") && !by_name.holds_in(b"/server/bin/x"));
        assert!(Rule { program: b"", ..last }.holds_in(b"/x"));
    }

    #[test]
    fn damaged_tables_are_refused_and_never_panic() {
        let whole = bytes();
        assert_eq!(Table::parse(b"").err(), Some(Fault::NoTable));
        for length in 8..whole.len() {
            assert!(Table::parse(&whole[..length]).is_err());
        }
        let mut older = whole.clone();
        older[field::VERSION] += 1;
        assert_eq!(Table::parse(&older).err(), Some(Fault::OtherVersion));
        for at in 8..whole.len() {
            for byte in [0, 1, 0x7f, 0xff] {
                let mut changed = whole.clone();
                changed[at] = byte;
                if let Ok(table) = Table::parse(&changed) {
                    table.decide(place(9, 0x100), place(9, 0x1000), |_| true);
                }
            }
        }
    }
}
