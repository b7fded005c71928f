//! The numbers that govern waiting, in one table.

use core::fmt;
#[cfg(feature = "set-policy")]
use core::sync::atomic::AtomicPtr;
#[cfg(feature = "set-policy")]
use core::sync::atomic::Ordering::{Acquire, Release};

/// One number of a [`Policy`].
///
/// ```
/// use turnwise::wait::{Field, Policy};
///
/// let field = Field::named("spin_ns").expect("there is one");
/// assert_eq!((field.unit, field.get(&Policy::DEFAULT)), ("ns", Policy::DEFAULT.spin_ns));
/// ```
#[derive(Clone, Copy)]
pub struct Field {
    /// The field's name in [`Policy`].
    pub name: &'static str,
    /// The unit: `ns`, or a plain word.
    pub unit: &'static str,
    /// What the field decides, and why it has its value.
    pub about: &'static str,
    /// The smallest and the largest value that make sense.
    pub bounds: (u64, u64),
    place: fn(&mut Policy) -> &mut u64,
}

impl Field {
    /// Finds the field with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Field> {
        Policy::FIELDS.iter().find(|field| field.name == name)
    }

    /// Returns the field's value in `policy`.
    #[must_use]
    pub fn get(&self, policy: &Policy) -> u64 {
        let mut copy = *policy;
        *(self.place)(&mut copy)
    }

    /// Changes the field in `policy`.
    ///
    /// # Errors
    /// If the value is outside of [`Field::bounds`]: nothing is changed.
    pub fn set(&self, policy: &mut Policy, value: u64) -> Result<(), OutOfBounds> {
        if !(self.bounds.0..=self.bounds.1).contains(&value) {
            return Err(OutOfBounds { field: *self, value });
        }
        *(self.place)(policy) = value;
        Ok(())
    }
}

impl fmt::Debug for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A value that [`Field::set`] refused.
///
/// ```
/// use turnwise::wait::{Field, Policy};
///
/// let mut policy = Policy::DEFAULT;
/// let refused = Field::named("restless").expect("there is one").set(&mut policy, 0).unwrap_err();
/// assert_eq!(refused.to_string(), "restless is from 1 to 1000000 (failures), not 0");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct OutOfBounds {
    field: Field,
    value: u64,
}

impl fmt::Display for OutOfBounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Field { name, unit, bounds: (from, to), .. } = self.field;
        write!(f, "{name} is from {from} to {to} ({unit}), not {}", self.value)
    }
}

impl core::error::Error for OutOfBounds {}

macro_rules! table {
    ($($(#[doc = $about:literal])* $name:ident = $value:literal $unit:ident, $from:literal..=$to:literal;)*) => {
        /// The numbers that govern how the sleeping locks wait.
        ///
        /// ```
        /// use turnwise::wait::Policy;
        ///
        /// assert_eq!(Policy::DEFAULT.spin_short_ns, 500);
        /// ```
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[expect(clippy::exhaustive_structs, reason = "experiments change some numbers of `DEFAULT`")]
        pub struct Policy {
            $($(#[doc = $about])* pub $name: u64,)*
        }

        impl Policy {
            /// The policy that ships.
            pub const DEFAULT: Policy = Policy { $($name: $value,)* };

            /// All fields, in the order of the table.
            pub const FIELDS: &'static [Field] = &[$(Field {
                name: stringify!($name),
                unit: stringify!($unit),
                about: concat!($($about, "\n",)*),
                bounds: ($from, $to),
                place: |policy| &mut policy.$name,
            },)*];
        }
    };
}

table! {
    /// The longest spin before sleeping: about twice what a sleep and the wake-up cost both sides together (20 to 25 us
    /// on the machines measured), since a long spin is mostly rest, away from the lock's line.
    spin_ns = 50_000 ns, 0..=1_000_000_000;
    /// The longest spin before sleeping per CPU, if that is more in total. A line of spinners is at most as long as
    /// there are CPUs: where each has its turn within this, the last need not give up and sleep. On 80 simulated CPUs
    /// most did otherwise, and waited milliseconds (`docs/design/wait.md`).
    spin_ns_per_cpu = 2_000 ns, 0..=1_000_000_000;
    /// The longest spin of a patient thread, whose lock is taken again and again by the same owner: a sleeper would be
    /// woken for nothing as often, at the owner's expense. The kernel's spinners have no limit at all while the owner
    /// runs.
    spin_patient_ns = 800_000 ns, 0..=1_000_000_000;
    /// A spin that lasts longer than this offers the CPU before it goes on, and counts as late.
    spin_short_ns = 500 ns, 0..=1_000_000_000;
    /// The longest spin of a thread that was just woken, before it sleeps again.
    spin_woken_ns = 10_000 ns, 0..=1_000_000_000;
    /// How many exchanges lost within `spin_short_ns` show that a crowd competes, for which standing in line costs less
    /// than fighting.
    short_tries = 2 exchanges, 1..=1_000;
    /// A thread that has contended for a lock for this long without sleeping offers its CPU once. Where threads
    /// outnumber CPUs, the operating system would let each run for some milliseconds, so that each waits for dozens of
    /// them; with this they take turns a hundred times as often, for one switch a turn.
    turn_ns = 64_000 ns, 1..=1_000_000_000;
    /// How long the first in line leaves the lock to its owner where owners come back soon: many times what it takes to
    /// hand the lock over, with what it guards, on the simulated machines, and a line of 224 threads goes round in 2 ms
    /// (`docs/lab/0034-turns-in-line.md`). A trial is a quarter of it. Also how soon a thread is back that has left the
    /// lock to a claimant and would take it again after one section: such a thread sleeps
    /// (`docs/lab/0063-who-leaves-the-lock.md`).
    owner_turn_ns = 8_000 ns, 0..=1_000_000;
    /// How much credit a line needs to have turns; each trial that an owner passes gives three. 0: it always has them.
    turns_after = 8 credits, 0..=14;
    /// How many failed spins in a row count as chance: after them a thread leaves spins out.
    skips_forgiven = 1 spins, 0..=100;
    /// How many times at most it doubles the number that it leaves out: one attempt in 64 finds out whether sections
    /// have become short. With sections that sleep, 8 threads on 4 locks and 2 CPUs take 2.7 times the CPU time without
    /// (`docs/lab/0028-contenders-not-cpus.md`).
    skip_bits_max = 6 doublings, 0..=7;
    /// The share of successes (256 is all) from which on most spins on a lock end with it: its sections are short.
    score_pays = 128 shares, 0..=256;
    /// The share of early successes (256 is all) from which on looks within `spin_short_ns` pay. Where they hardly ever
    /// find the lock free, its owner takes it again as soon as it has released it; then each early look that succeeds
    /// moves the lock and all that it guards for a section or two.
    early_pays = 140 shares, 0..=255;
    /// By how much each patient wait raises that share, so that the next early look comes after `patient_waits`.
    early_again = 2 shares, 1..=255;
    /// Patient waits between two tries to look early; with `early_again` it makes no more than `early_pays`.
    patient_waits = 32 waits, 0..=255;
    /// How many failures in a row to take the lock, to announce itself or to fall asleep make a waiter join the line of
    /// spinners again.
    restless = 3 failures, 1..=1_000_000;
    /// A waiter that has waited this long, was woken, and finds the lock taken again claims the next turn.
    claim_after_ns = 4_000_000 ns, 0..=1_000_000_000_000;
    /// How many CPUs let a crowd compete for a lock without sharing CPUs: a lock that is promised to a sleeper, or not
    /// looked at, leaves many of them idle.
    many_cpus = 16 CPUs, 1..=4_294_967_295;
    /// How long the only waiter of a condition variable looks for its notification before it sleeps: about what a sleep
    /// and the wake-up cost both sides together.
    condvar_look_ns = 20_000 ns, 0..=1_000_000_000;
    /// The longest spin for the lock half of a [`LockRef`](crate::LockRef) before sleeping: about what a sleep and the
    /// wake-up cost both sides together.
    lockref_spin_ns = 20_000 ns, 0..=1_000_000_000;
    /// How long an optimistic reader of a [`SeqRwLock`](crate::SeqRwLock) spins for the end of a change.
    seqrwlock_spin_ns = 1_000 ns, 0..=1_000_000_000;
    /// How often readers of a [`BigReaderLock`](crate::BigReaderLock) meet other readers, on one CPU and without
    /// meeting a writer, before one spreads the lock over the CPUs.
    spread_after = 64 reads, 1..=1_000_000;
}

/// The policy in force at this moment.
#[cfg(feature = "set-policy")]
static CURRENT: AtomicPtr<Policy> = AtomicPtr::new(core::ptr::from_ref(&Policy::DEFAULT).cast_mut());

/// Returns the policy in force: the one that ships. Its numbers are constants in the code.
#[cfg(not(feature = "set-policy"))]
#[inline(always)]
#[must_use]
pub fn policy() -> &'static Policy {
    &Policy::DEFAULT
}

/// Returns the policy in force.
#[cfg(feature = "set-policy")]
#[inline]
#[must_use]
pub fn policy() -> &'static Policy {
    // ORDERING policy.set: pairs with the store in `set_policy`: with the pointer we see the numbers.
    // SAFETY: the pointer is to the constant or to what `set_policy` was given: neither is ever written again.
    unsafe { &*CURRENT.load(Acquire) }
}

/// Puts this policy in force in the whole process, from the next wait on. It is for experiments: [`Policy::DEFAULT`] is
/// the one that ships.
#[cfg(feature = "set-policy")]
pub fn set_policy(policy: &'static Policy) {
    // ORDERING policy.set: pairs with the load in `policy`.
    CURRENT.store(core::ptr::from_ref(policy).cast_mut(), Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_field_has_its_own_place_and_a_default_within_its_bounds() {
        for (n, field) in Policy::FIELDS.iter().enumerate() {
            let mut policy = Policy::DEFAULT;
            let before = field.get(&policy);
            assert!(field.bounds.0 <= before && before <= field.bounds.1, "{field:?}");
            assert!(!field.about.is_empty() && !field.unit.is_empty(), "{field:?}");
            let other = if before == field.bounds.1 { field.bounds.0 } else { before + 1 };
            field.set(&mut policy, other).unwrap();
            assert_eq!(field.get(&policy), other);
            let changed = Policy::FIELDS.iter().filter(|f| f.get(&policy) != f.get(&Policy::DEFAULT));
            assert_eq!(changed.count(), 1, "{field:?}");
            assert_eq!(Policy::FIELDS.iter().position(|f| f.name == field.name), Some(n), "two of one name");
        }
    }

    #[test]
    fn a_value_out_of_bounds_changes_nothing() {
        let mut policy = Policy::DEFAULT;
        let field = Field::named("restless").unwrap();
        let error = field.set(&mut policy, 0).unwrap_err();
        assert_eq!(std::string::ToString::to_string(&error), "restless is from 1 to 1000000 (failures), not 0");
        assert_eq!(policy, Policy::DEFAULT);
        assert!(Field::named("no_such").is_none());
    }
}
