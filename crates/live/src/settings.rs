//! Settings of locks that change while the program runs, and their place in the file.
//!
//! The program's owner, or root, writes them; the program reads them when a thread begins to wait. The word
//! [`crate::layout::Header::settings`] states which of two tables is in force, so that one can be written while threads
//! read the other:
//!
//! | bits | meaning |
//! |---|---|
//! | 0..32 | 0: there are no settings; 1 or 2: that table is in force |
//! | 32..64 | a number that grows with each change |
//!
//! After the two tables come a policy file's settings: [`FILE_RULES`] rules of [`kind::FILE`], which the program writes
//! as it makes the file, for readers only. It uses the policy file itself, after the settings here.
//!
//! Invariants:
//! 1. The program takes from a table only lengths of time within [`Setting::bounds`], and only if the word is the same
//!    before and after. Any other content of the region means that there are no settings.
//! 2. Writers take turns by a lock on the file (`flock`), which ends with them. One that dies between changes leaves
//!    the table in force unchanged.

use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};
use zerocopy::{FromBytes, IntoBytes};

/// A setting for a wait. All are lengths of time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Setting {
    /// The longest spin before sleeping.
    Spin = 0,
    /// The time after which an overtaken waiter gets the lock next.
    FairAfter = 1,
    /// The time without sleep after which a thread yields its CPU to others.
    YieldAfter = 2,
}

/// The number of settings.
pub const SETTINGS: usize = turnwise_preload_abi::SETTINGS;

impl Setting {
    /// All settings.
    pub const ALL: [Setting; SETTINGS] = [Setting::Spin, Setting::FairAfter, Setting::YieldAfter];

    /// By number: the name that users enter, the shortest and the longest time, and what the setting decides.
    const TABLE: [(&'static str, (u32, u32), &'static str); SETTINGS] = [
        ("spin", (0, 10_000_000), "the longest spin of a waiter before it sleeps; off: it sleeps at once"),
        ("fair-after", (0, 1_000_000_000), "after how long a waiter that was overtaken gets the next turn (hand-off)"),
        ("yield-after", (10_000, 1_000_000_000), "the contention without sleep after which a thread yields its CPU"),
    ];

    /// Returns the name that users enter.
    #[must_use]
    pub const fn name(self) -> &'static str {
        Self::TABLE[self as usize].0
    }

    /// Returns the setting with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Setting> {
        Setting::ALL.into_iter().find(|setting| setting.name() == name)
    }

    /// Returns the shortest and the longest time that is allowed, in nanoseconds.
    #[must_use]
    pub const fn bounds(self) -> (u32, u32) {
        Self::TABLE[self as usize].1
    }

    /// Returns whether 0 is written `off`.
    #[must_use]
    pub const fn can_be_off(self) -> bool {
        matches!(self, Setting::Spin)
    }

    /// Returns what the setting decides, in a sentence.
    #[must_use]
    pub const fn about(self) -> &'static str {
        Self::TABLE[self as usize].2
    }
}

/// The values set for a wait.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash, Debug)]
pub struct Values([Option<u32>; SETTINGS]);

impl Values {
    /// Returns a setting's value in nanoseconds; `None`: it is not set.
    #[must_use]
    pub fn get(&self, setting: Setting) -> Option<u32> {
        self.0[setting as usize]
    }

    /// Sets a setting, if the value is within its bounds; returns whether it is.
    pub fn set(&mut self, setting: Setting, ns: u32) -> bool {
        let (least, most) = setting.bounds();
        let fits = (least..=most).contains(&ns);
        if fits {
            self.0[setting as usize] = Some(ns);
        }
        fits
    }

    /// Converts the settings of a policy file's rule, except for values out of bounds.
    #[must_use]
    pub fn of_rule(rule: turnwise_preload_abi::Settings) -> Values {
        let mut values = Values::default();
        for (setting, ns) in Setting::ALL.into_iter().zip(rule) {
            let _ = ns.is_some_and(|ns| values.set(setting, ns));
        }
        values
    }

    /// Returns the values in the form of a policy file's rule.
    #[must_use]
    pub const fn in_rule(&self) -> turnwise_preload_abi::Settings {
        self.0
    }

    /// Returns whether no value is set.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    /// Returns the values that are set, in the order of [`Setting::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Setting, u32)> {
        Setting::ALL.into_iter().filter_map(|setting| Some((setting, self.get(setting)?)))
    }

    /// Sets the values that `other` has.
    pub fn overlay(&mut self, other: &Values) {
        for (place, value) in self.0.iter_mut().zip(other.0) {
            *place = value.or(*place);
        }
    }
}

/// The number of rules that a table has room for.
pub const RULES: usize = 32;
/// The most bytes of a rule's name that are kept.
pub const LABEL: usize = 72;

/// The values of [`Rule::kind`].
pub mod kind {
    /// No rule; it ends the list.
    pub const NONE: u32 = 0;
    /// For all waits.
    pub const ALL: u32 = 1;
    /// For waits at call sites whose return address is in the range.
    pub const SITE: u32 = 2;
    /// For waits for locks whose address is in the range.
    pub const LOCK: u32 = 3;
    /// For waits for locks to which a rule of the program's policy file applies; `from` is the rule's number. It is not
    /// in a table, but after them.
    pub const FILE: u32 = 4;
}

/// A rule: settings for some waits. A later rule of a table takes precedence over an earlier one.
#[derive(FromBytes, IntoBytes)]
#[repr(C)]
pub struct Rule {
    /// One of [`kind`].
    pub kind: AtomicU32,
    /// The settings that it has: a bit for each, by number.
    pub set: AtomicU32,
    /// The first address.
    pub from: AtomicU64,
    /// The address after the last.
    pub to: AtomicU64,
    /// The settings in nanoseconds, by their numbers; the others are 0.
    pub ns: [AtomicU32; 8],
    /// For readers: the user's name for it.
    pub label: [AtomicU8; LABEL],
}

impl Rule {
    /// Adds its settings to others; `false`: they are invalid.
    pub(crate) fn add_to(&self, values: &mut Values) -> bool {
        let set = self.set.load(Relaxed);
        let mut in_force = Setting::ALL.into_iter().filter(|setting| set >> (*setting as u32) & 1 != 0);
        set >> SETTINGS == 0 && in_force.all(|setting| values.set(setting, self.ns[setting as usize].load(Relaxed)))
    }

    /// Stores settings in a rule that has none.
    pub(crate) fn set_values(&self, values: &Values) {
        for (setting, ns) in values.iter() {
            self.set.fetch_or(1 << setting as u32, Relaxed);
            self.ns[setting as usize].store(ns, Relaxed);
        }
    }
}

/// A table of rules. The region has two.
#[derive(FromBytes, IntoBytes)]
#[repr(C)]
pub struct Table {
    /// The rules; [`kind::NONE`] ends them.
    pub rules: [Rule; RULES],
}

/// The number of tables.
pub const TABLES: usize = 2;

/// The number of policy file rules that there is room for: all that one can have.
pub const FILE_RULES: usize = turnwise_preload_abi::RULES_MAX + 1;

const _: () = {
    assert!(size_of::<Table>() == crate::layout::PAGE && SETTINGS <= 8);
    assert!((FILE_RULES * size_of::<Rule>()).is_multiple_of(crate::layout::PAGE));
    assert!(Setting::ALL[SETTINGS - 1] as usize == SETTINGS - 1);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_values_within_bounds_are_taken() {
        let mut values = Values::default();
        assert!(values.is_empty());
        for setting in Setting::ALL {
            assert_eq!(Setting::named(setting.name()), Some(setting));
            let (least, most) = setting.bounds();
            assert!(values.set(setting, least) && values.set(setting, most) && !values.set(setting, most + 1));
            assert!(least == 0 || !values.set(setting, least - 1));
            assert!(!setting.can_be_off() || least == 0);
            assert_eq!(values.get(setting), Some(most));
        }
        assert_eq!(values.iter().count(), SETTINGS);
    }

    #[test]
    fn a_policy_files_values_are_checked_too() {
        let expected: [(_, &[_]); 2] = [
            ([Some(0), Some(1_000_000_000), Some(9_999)], &[(Setting::Spin, 0), (Setting::FairAfter, 1_000_000_000)]),
            ([Some(u32::MAX), None, Some(10_000)], &[(Setting::YieldAfter, 10_000)]),
        ];
        for (rule, expected) in expected {
            let taken = Values::of_rule(rule);
            assert_eq!(taken.iter().collect::<Vec<_>>(), expected);
            assert_eq!(Values::of_rule(taken.in_rule()), taken);
        }
    }

    #[test]
    fn what_is_set_later_goes_before() {
        let (mut all, mut one) = (Values::default(), Values::default());
        assert!(all.set(Setting::Spin, 5) && all.set(Setting::FairAfter, 6) && one.set(Setting::Spin, 0));
        all.overlay(&one);
        assert_eq!(all.iter().collect::<Vec<_>>(), [(Setting::Spin, 0), (Setting::FairAfter, 6)]);
    }
}
