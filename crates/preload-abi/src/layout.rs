//! The bytes of a table. Numbers are in the machine's own order and unaligned: a table is made for one machine, where
//! it lies for the programs that turnwise starts.
//!
//! | part | record | content |
//! |---|---|---|
//! | header | 64 | magic, version, bytes in all, default policy; of each part its place and the number of its records |
//! | rules | 32 | policy, kind, label, program, module (the last three: place and length in the text) |
//! | modules | 16 | fingerprint, first group, number of groups; sorted by fingerprint |
//! | groups | 16 | rule, what (addresses of locks or of calls), first range, number of ranges; sorted by rule |
//! | ranges | 16 | first address, first address behind; relative to the module; sorted, disjoint |
//! | text | 1 | names |

use core::fmt;

pub(crate) const MAGIC: [u8; 8] = *b"twpolicy";
/// Raised with every change of the layout.
pub(crate) const VERSION: u32 = 1;
/// A rule's number fits a byte, so that every lock has room for it.
pub const RULES_MAX: usize = 255;

pub(crate) const HEADER_BYTES: usize = 64;
pub(crate) const RULE_BYTES: usize = 32;
pub(crate) const MODULE_BYTES: usize = 16;
pub(crate) const GROUP_BYTES: usize = 16;
pub(crate) const RANGE_BYTES: usize = 16;

/// Where the header has its fields. A part takes two: its place and its number of records.
pub(crate) mod field {
    pub(crate) const VERSION: usize = 8;
    pub(crate) const LENGTH: usize = 12;
    pub(crate) const DEFAULT: usize = 16;
    pub(crate) const RULES: usize = 24;
    pub(crate) const MODULES: usize = 32;
    pub(crate) const GROUPS: usize = 40;
    pub(crate) const RANGES: usize = 48;
    pub(crate) const TEXT: usize = 56;
}

/// The locks that a rule may name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Policy {
    /// Queued spinners that spin only while the owner runs, then sleep.
    Adaptive = 0,
    /// Queue spin lock.
    Mcs = 1,
    /// Test-and-test-and-set spin lock.
    Ttas = 2,
    /// Ticket spin lock.
    Ticket = 3,
    /// The C library's.
    Libc = 4,
}

impl Policy {
    /// All of them, by number.
    pub const ALL: [Policy; 5] = [Policy::Adaptive, Policy::Mcs, Policy::Ttas, Policy::Ticket, Policy::Libc];

    /// The policy of this number.
    pub fn of(number: u32) -> Option<Policy> {
        Self::ALL.get(number as usize).copied()
    }

    /// What users call it.
    pub fn name(self) -> &'static str {
        match self {
            Policy::Adaptive => "adaptive",
            Policy::Mcs => "mcs",
            Policy::Ttas => "ttas",
            Policy::Ticket => "ticket",
            Policy::Libc => "libc",
        }
    }

    /// The policy that users call so.
    pub fn by_name(name: &str) -> Option<Policy> {
        Self::ALL.into_iter().find(|policy| policy.name() == name)
    }
}

/// What a rule goes by, beside the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Kind {
    /// Nothing else: all locks.
    Any = 0,
    /// The name of the module that the lock lies in or is made by.
    Module = 1,
    /// Addresses of locks: the groups of kind `What::Object`.
    Object = 2,
    /// Addresses of calls: the groups of kind `What::Call`.
    Call = 3,
}

impl Kind {
    pub(crate) fn of(number: u32) -> Option<Kind> {
        [Kind::Any, Kind::Module, Kind::Object, Kind::Call].into_iter().find(|kind| *kind as u32 == number)
    }
}

/// Why bytes are no table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// They do not begin like one.
    NoTable,
    /// It is of another version of turnwise.
    OtherVersion,
    /// It is cut short, or something in it leads outside.
    Damaged,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::NoTable => "is no table of lock policies",
            Fault::OtherVersion => "is of another version of turnwise",
            Fault::Damaged => "is damaged",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_lead_back() {
        for (number, policy) in (0..).zip(Policy::ALL) {
            assert_eq!(Policy::of(number), Some(policy));
            assert_eq!(Policy::by_name(policy.name()), Some(policy));
        }
        assert_eq!(Policy::of(5), None);
        assert_eq!(Policy::by_name("mutex"), None);
    }
}
