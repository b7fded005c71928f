//! The binary layout of a table. Numbers are in the machine's own byte order and unaligned: a table is made for one
//! machine, for the programs that turnwise starts there. The parts follow each other in the order of [`Header`]'s
//! counts.
//!
//! | part | record | order |
//! |---|---|---|
//! | header | [`Header`] | |
//! | rules | [`RuleRecord`] | as they are tried |
//! | ranges | [`RangeRecord`] | by module, by rule, by address; those of a rule in a module are disjoint |
//! | text | bytes | |

use core::fmt;
use zerocopy::native_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

pub(crate) const MAGIC: [u8; 8] = *b"twpolicy";
/// The version of the layout, raised with every change.
pub(crate) const VERSION: u32 = 4;
/// The maximum number of rules: a rule's number fits in a byte, so that every lock has room for it.
pub const RULES_MAX: usize = 255;
/// The number of settings that a rule may have; the live view defines which is which (`turnwise_live::Setting`).
pub const SETTINGS: usize = 3;
/// The values that a rule sets, by the numbers of the settings, in nanoseconds.
pub type Settings = [Option<u32>; SETTINGS];
/// The value of a setting that a rule does not have.
pub(crate) const UNSET: u32 = u32::MAX;

/// The header, with which a table begins.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(crate) struct Header {
    pub(crate) magic: [u8; 8],
    pub(crate) version: U32,
    /// The number of the default policy.
    pub(crate) default: U32,
    /// The number of rule records; the following fields count those of the other parts.
    pub(crate) rules: U32,
    pub(crate) ranges: U32,
    pub(crate) text: U32,
}

/// A piece of the text.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(crate) struct Piece {
    pub(crate) start: U32,
    pub(crate) length: U32,
}

/// The record of a rule.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(crate) struct RuleRecord {
    pub(crate) policy: u8,
    pub(crate) kind: u8,
    pub(crate) label: Piece,
    pub(crate) program: Piece,
    pub(crate) module: Piece,
    /// The settings, in nanoseconds; [`UNSET`]: the rule does not have it.
    pub(crate) settings: [U32; SETTINGS],
}

/// The record of a range of addresses to which a rule applies, of locks or of calls: which, the rule's kind states.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(crate) struct RangeRecord {
    /// The module's [`fingerprint`](crate::fingerprint), to which the addresses are relative.
    pub(crate) module: U64,
    pub(crate) rule: U32,
    pub(crate) start: U64,
    /// The first address after the range.
    pub(crate) end: U64,
}

impl RangeRecord {
    /// Returns the key by which the records are sorted, for an address in the range or one of its ends.
    pub(crate) fn place(&self, address: U64) -> (u64, usize, u64) {
        (self.module.get(), self.rule.get() as usize, address.get())
    }
}

/// The criterion by which a rule selects locks, besides the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    /// No further criterion: all locks.
    Any = 0,
    /// By the name of the module that contains or initialises the lock.
    Module = 1,
    /// By the addresses of locks.
    Object = 2,
    /// By the addresses of calls.
    Call = 3,
}

impl Kind {
    pub(crate) fn of(number: u8) -> Option<Kind> {
        [Kind::Any, Kind::Module, Kind::Object, Kind::Call].into_iter().find(|kind| *kind as u8 == number)
    }
}

/// The reason that bytes are not a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// They do not begin with the magic number.
    NoTable,
    /// They are from another version of turnwise.
    OtherVersion,
    /// They are truncated, or something in them points outside.
    Damaged,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::NoTable => "is not a table of lock policies",
            Fault::OtherVersion => "is from another version of turnwise",
            Fault::Damaged => "is damaged",
        })
    }
}
