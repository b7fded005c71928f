//! Reads a table.

use crate::glob::{matches, matches_path};
use crate::layout::{Fault, Header, Kind, MAGIC, Piece, RULES_MAX, RangeRecord, RuleRecord, Settings, UNSET, VERSION};
use crate::policy::Policy;
use zerocopy::native_endian::U32;
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

/// A place in a program: a module, and an address in it.
#[derive(Clone, Copy)]
pub struct ModuleOffset<'a> {
    /// The module's [`fingerprint`](crate::fingerprint).
    pub fingerprint: u64,
    /// The address relative to the module's load address, as in its file.
    pub address: u64,
    /// The module's file name, without folders.
    pub module: &'a [u8],
}

/// A rule of a table, with its texts.
#[derive(Clone, Copy, Debug)]
pub struct Rule<T> {
    /// The policy that it gives to locks.
    pub policy: Policy,
    /// The criterion by which it selects locks.
    pub kind: Kind,
    /// The rule's name in messages.
    pub label: T,
    /// The pattern for the program; empty: any. See [`Rule::holds_in`].
    pub program: T,
    /// The pattern for the module's file name, with [`Kind::Module`].
    pub module: T,
    /// The settings for waits for its locks. The values may be any numbers: their users check them.
    pub settings: Settings,
}

impl Rule<&[u8]> {
    /// Returns whether the rule applies to the program at this path.
    pub fn holds_in(&self, program: &[u8]) -> bool {
        self.program.is_empty() || matches_path(self.program, program)
    }
}

/// A table that a policy file was compiled to.
#[derive(Clone, Copy)]
pub struct Table<'a> {
    default: Policy,
    rules: &'a [RuleRecord],
    ranges: &'a [RangeRecord],
    text: &'a [u8],
}

impl<'a> Table<'a> {
    /// Checks the bytes of a table.
    ///
    /// # Errors
    /// The bytes are not a table. Whatever they are, no later call panics.
    pub fn parse(bytes: &'a [u8]) -> Result<Table<'a>, Fault> {
        if !bytes.starts_with(&MAGIC) {
            return Err(Fault::NoTable);
        }
        let (header, mut rest) = Header::ref_from_prefix(bytes).map_err(|_| Fault::Damaged)?;
        if header.version.get() != VERSION {
            return Err(Fault::OtherVersion);
        }
        let table = Table {
            default: u8::try_from(header.default.get()).ok().and_then(Policy::of).ok_or(Fault::Damaged)?,
            rules: part(&mut rest, header.rules)?,
            ranges: part(&mut rest, header.ranges)?,
            text: part(&mut rest, header.text)?,
        };
        if rest.is_empty() && table.is_sound() { Ok(table) } else { Err(Fault::Damaged) }
    }

    fn is_sound(&self) -> bool {
        self.rules.len() <= RULES_MAX
            && (0..self.rules.len()).all(|number| self.rule(number).is_some())
            && self.ranges.is_sorted_by(|one, next| one.place(one.end) <= next.place(next.start))
    }

    /// Returns the policy of locks that no rule selects.
    pub fn default_policy(&self) -> Policy {
        self.default
    }

    /// Returns the number of rules.
    pub fn rules(&self) -> usize {
        self.rules.len()
    }

    /// Returns the rule with this number, counted from 0.
    pub fn rule(&self, number: usize) -> Option<Rule<&'a [u8]>> {
        let record = self.rules.get(number)?;
        let text = |piece: Piece| self.text.get(piece.start.get() as usize..)?.get(..piece.length.get() as usize);
        Some(Rule {
            policy: Policy::of(record.policy)?,
            kind: Kind::of(record.kind)?,
            label: text(record.label)?,
            program: text(record.program)?,
            module: text(record.module)?,
            settings: settings(record),
        })
    }

    /// Returns the settings of the rule with this number.
    #[must_use]
    pub fn settings(&self, number: usize) -> Settings {
        self.rules.get(number).map(settings).unwrap_or_default()
    }

    /// Returns the number of the first rule for a lock that is at `object` and is made by a call at `call`, among the
    /// rules that are `active`; `None`: the default policy applies.
    pub fn decide(
        &self,
        object: Option<ModuleOffset>,
        call: Option<ModuleOffset>,
        active: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        (0..self.rules.len()).filter(|number| active(*number)).find(|number| {
            let Some(rule) = self.rule(*number) else { return false };
            let in_module = |place: Option<ModuleOffset>| place.is_some_and(|place| matches(rule.module, place.module));
            match rule.kind {
                Kind::Any => true,
                Kind::Module => in_module(object) || in_module(call),
                Kind::Object => object.is_some_and(|object| self.covers(*number, object)),
                Kind::Call => call.is_some_and(|call| self.covers(*number, call)),
            }
        })
    }

    /// Returns whether the rule's ranges contain the place.
    fn covers(&self, rule: usize, ModuleOffset { fingerprint, address, .. }: ModuleOffset) -> bool {
        let place = (fingerprint, rule, address);
        let index = self.ranges.partition_point(|range| range.place(range.end) <= place);
        self.ranges.get(index).is_some_and(|range| {
            let start = range.place(range.start);
            (start.0, start.1) == (fingerprint, rule) && start.2 <= address
        })
    }
}

fn settings(record: &RuleRecord) -> Settings {
    record.settings.map(|ns| Some(ns.get()).filter(|ns| *ns != UNSET))
}

/// Takes `count` records from the front of the bytes.
fn part<'a, T>(bytes: &mut &'a [u8], count: U32) -> Result<&'a [T], Fault>
where
    T: FromBytes + KnownLayout + Immutable + Unaligned,
{
    let found = <[T]>::ref_from_prefix_with_elems(bytes, count.get() as usize);
    let (part, rest) = found.map_err(|_| Fault::Damaged)?;
    *bytes = rest;
    Ok(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::{ModuleRanges, NewRule, NewTable};
    use alloc::vec;
    use alloc::vec::Vec;
    use zerocopy::IntoBytes;

    /// The settings of the rules for adaptive locks.
    const SET: Settings = [Some(0), None, Some(u32::MAX - 1)];

    fn rule(policy: Policy, kind: Kind, program: &str, module: &str) -> NewRule {
        let settings = if policy == Policy::ADAPTIVE { SET } else { Settings::default() };
        NewRule { policy, kind, label: "label".into(), program: program.into(), module: module.into(), settings }
    }

    fn bytes() -> Vec<u8> {
        NewTable {
            default: Policy::ADAPTIVE,
            rules: vec![
                rule(Policy::QUEUED, Kind::Object, "", ""),
                rule(Policy::Libc, Kind::Call, "", ""),
                rule(Policy::TTAS, Kind::Module, "", "lib*.so"),
                rule(Policy::ADAPTIVE, Kind::Any, "/opt/*", ""),
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

    fn place(fingerprint: u64, address: u64) -> Option<ModuleOffset<'static>> {
        Some(ModuleOffset { fingerprint, address, module: b"prog" })
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
        assert_eq!(decide(place(9, 0x1000), place(9, 0x200)), None, "objects and calls are distinguished");
        assert_eq!(decide(place(8, 0x100), place(3, 0x10)), None);
        assert_eq!(decide(None, place(3, 0xf)), Some(1));
        let library = Some(ModuleOffset { fingerprint: 1, address: 7, module: b"libx.so" });
        assert_eq!(decide(library, None), Some(2));
        assert_eq!(decide(None, library), Some(2));
        assert_eq!(table.decide(None, None, |_| true), Some(3));
        assert_eq!(table.default_policy(), Policy::ADAPTIVE);
    }

    #[test]
    fn settings_come_back() {
        let bytes = bytes();
        let table = Table::parse(&bytes).unwrap();
        assert_eq!((table.settings(3), table.rule(3).unwrap().settings), (SET, SET));
        assert_eq!([table.settings(0), table.settings(4)], [Settings::default(); 2]);
    }

    #[test]
    fn programs_by_name_and_by_path() {
        let bytes = bytes();
        let last = Table::parse(&bytes).unwrap().rule(3).unwrap();
        assert!(last.holds_in(b"/opt/bin/server") && !last.holds_in(b"/usr/bin/opt"));
        let by_name = Rule { program: &b"serv*"[..], ..last };
        assert!(by_name.holds_in(b"/usr/bin/server") && !by_name.holds_in(b"/server/bin/x"));
        assert!(Rule { program: &b""[..], ..last }.holds_in(b"/x"));
    }

    /// The layout of the result of [`bytes`].
    #[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
    #[repr(C)]
    struct Whole {
        header: Header,
        rules: [RuleRecord; 4],
        ranges: [RangeRecord; 4],
        text: [u8],
    }

    #[track_caller]
    fn refused(expected: Fault, damage: impl FnOnce(&mut Whole)) {
        let mut bytes = bytes();
        damage(Whole::mut_from_bytes(&mut bytes).unwrap());
        assert_eq!(Table::parse(&bytes).err(), Some(expected));
    }

    #[test]
    fn tables_of_another_length_or_version_are_refused() {
        let mut bytes = bytes();
        for length in 0..bytes.len() {
            let expected = if length < MAGIC.len() { Fault::NoTable } else { Fault::Damaged };
            assert_eq!(Table::parse(&bytes[..length]).err(), Some(expected), "{length} bytes");
        }
        bytes.push(0);
        assert_eq!(Table::parse(&bytes).err(), Some(Fault::Damaged));
        refused(Fault::OtherVersion, |whole| whole.header.version = (VERSION + 1).into());
        refused(Fault::NoTable, |whole| whole.header.magic[0] = 0);
    }

    #[test]
    fn counts_that_are_not_those_of_the_records_are_refused() {
        for count in [0, 5, 1 << 28, u32::MAX] {
            refused(Fault::Damaged, |whole| whole.header.rules = count.into());
            refused(Fault::Damaged, |whole| whole.header.ranges = count.into());
            refused(Fault::Damaged, |whole| whole.header.text = count.into());
        }
    }

    #[test]
    fn texts_outside_are_refused() {
        for number in [1 << 10, u32::MAX] {
            refused(Fault::Damaged, |whole| whole.rules[0].label.length = number.into());
            refused(Fault::Damaged, |whole| whole.rules[1].program.start = number.into());
            refused(Fault::Damaged, |whole| whole.rules[2].module.start = number.into());
        }
    }

    #[test]
    fn ranges_that_overlap_or_are_out_of_order_are_refused() {
        refused(Fault::Damaged, |whole| whole.ranges[1].end = 0x201.into());
        refused(Fault::Damaged, |whole| whole.ranges[2].start = 0x127.into());
        refused(Fault::Damaged, |whole| whole.ranges[0].module = 10.into());
        refused(Fault::Damaged, |whole| whole.ranges[2].rule = 2.into());
    }

    #[test]
    fn policies_and_kinds_that_do_not_exist_are_refused() {
        for number in [5, 0x100, u32::MAX] {
            refused(Fault::Damaged, |whole| whole.header.default = number.into());
        }
        refused(Fault::Damaged, |whole| whole.rules[3].policy = 5);
        refused(Fault::Damaged, |whole| whole.rules[3].kind = 4);
    }

    #[test]
    fn no_byte_makes_a_reader_panic() {
        let whole = bytes();
        for at in MAGIC.len()..whole.len() {
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
