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
/// let field = Field::named("yield_after_ns").expect("there is one");
/// assert_eq!((field.unit, field.get(&Policy::DEFAULT)), ("ns", Policy::DEFAULT.yield_after_ns));
/// ```
#[derive(Clone, Copy)]
pub struct Field {
    /// The field's name in [`Policy`].
    pub name: &'static str,
    /// The unit: `ns`, or an ordinary word.
    pub unit: &'static str,
    /// What the field decides, and why it has its value.
    pub about: &'static str,
    /// The smallest and the largest value that make sense.
    pub bounds: (u64, u64),
    place: fn(&mut Policy) -> &mut u64,
}

impl Field {
    /// Returns the field with this name, if there is one.
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
    /// If the value is outside [`Field::bounds`]; then nothing is changed.
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
/// let refused = Field::named("yield_after_ns").expect("there is one").set(&mut policy, 0).unwrap_err();
/// assert_eq!(refused.to_string(), "yield_after_ns is from 1 to 1000000000 (ns), not 0");
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
        /// assert_eq!(Policy::DEFAULT.tries, 3);
        /// ```
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[expect(clippy::exhaustive_structs, reason = "experiments change some numbers of `DEFAULT`")]
        pub struct Policy {
            $($(#[doc = $about])* pub $name: u64,)*
        }

        impl Policy {
            /// The default policy.
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
    /// The longest spin before sleeping, for each CPU that the threads may run on: a queue of spinners is at most as
    /// long as the number of CPUs, and each spinner has one batch. On two CPUs no program shows it; on 16 to 224
    /// simulated ones throughput is a third with 1 us, and as good with 20 us and 1 ms (`docs/lab/README.md`, 0086).
    spin_ns_per_cpu = 100_000 ns, 0..=1_000_000_000;
    /// How long a spinner waits for any one section: about what a sleep and the wake-up cost the waiter. Once a section
    /// was longer, it is an eighth of this value, until one was shorter. Tokyo Cabinet's B+ tree loses 20% with twice
    /// as much, SQLite 16% with half. Twice this is how long a batch may be, how long the only waiter of a condition
    /// variable polls for its notification, and one of a [`LockRef`](crate::LockRef) or a
    /// [`BigReaderLock`](crate::BigReaderLock) for the release: about what both sides pay for a sleep. An eighth is the
    /// longest pause between polls of a [`Semaphore`](crate::Semaphore), and how long an optimistic reader of a
    /// [`SeqRwLock`](crate::SeqRwLock) spins for the end of a change.
    still_ns = 10_000 ns, 0..=1_000_000_000;
    /// How many exchanges without a poll a spinner makes against an owner that was faster to take the lock again, and
    /// how many polls show it whether an owner does so.
    tries = 3 tries, 0..=1_000;
    /// The time between two polls by the one thread that polls: about the length of a short section.
    poll_ns = 70 ns, 1..=1_000_000;
    /// How long, in transfers of a cache line between CPUs, that thread stays away from an owner that takes the lock
    /// again and again: a batch of sections makes up for moving the lock and the data it guards.
    batch_lines = 256 lines, 0..=1_000_000;
    /// A thread that has contended for a lock for this long without sleeping yields its CPU once. Where threads
    /// outnumber CPUs, the operating system would let each run for some milliseconds, so that each waits for dozens of
    /// such slices; with this they take turns a hundred times as often, for one context switch a turn. A spinner of
    /// a spin lock without a deadline and without back-off yields as often.
    yield_after_ns = 64_000 ns, 1..=1_000_000_000;
    /// Experiment: how often a thread yields its CPU for an owner that is off its own.
    off_yields = 1 yields, 0..=1_000_000;
    /// Experiment: an owner that has run for this many intervals since its last yield yields at the release that it is
    /// asked for. 0: not at all.
    owner_intervals = 8 intervals, 0..=1_000_000;
    /// A waiter that has waited this long, was woken, and finds the lock taken again requests a hand-off.
    handoff_after_ns = 4_000_000 ns, 0..=1_000_000_000_000;
    /// How long a free lock stays reserved for a thread that does not come: hundreds of times the length of a wake-up,
    /// and the time slices of a dozen other threads on the same CPU.
    reserved_ns = 50_000_000 ns, 1..=1_000_000_000_000;
}

impl Policy {
    /// Returns how long a spinner stays away after a poll that found the cache line changed, if `before` earlier polls
    /// did: an eighth of a batch, then twice as long each time, where a transfer of a line takes `line_ns`.
    ///
    /// ```
    /// use turnwise::wait::Policy;
    ///
    /// let away = |before| Policy::DEFAULT.away_ns(40, before);
    /// assert_eq!((away(0), away(3)), (32 * 40, 256 * 40));
    /// ```
    #[must_use]
    pub fn away_ns(&self, line_ns: u32, before: u32) -> u32 {
        let lines = self.batch_lines.saturating_mul(1 << before.min(5)) / 8;
        let most = (2 * self.still_ns).max(self.poll_ns).min(u32::MAX.into());
        u64::from(line_ns).saturating_mul(lines).clamp(self.poll_ns, most) as u32
    }
}

/// The policy currently in force.
#[cfg(feature = "set-policy")]
static CURRENT: AtomicPtr<Policy> = AtomicPtr::new(core::ptr::from_ref(&Policy::DEFAULT).cast_mut());

/// Returns the policy in force: the default one. Its numbers are compile-time constants.
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
    // ORDERING policy.set: pairs with the store in `set_policy`: the pointer brings the numbers with it.
    // SAFETY: the pointer is to the constant or to the argument of `set_policy`: neither is ever written again.
    unsafe { &*CURRENT.load(Acquire) }
}

/// Puts this policy in force in the whole process, from the next wait on. It is for experiments: [`Policy::DEFAULT`] is
/// in force otherwise.
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
        let field = Field::named("yield_after_ns").unwrap();
        let error = field.set(&mut policy, 0).unwrap_err();
        assert_eq!(std::string::ToString::to_string(&error), "yield_after_ns is from 1 to 1000000000 (ns), not 0");
        assert_eq!(policy, Policy::DEFAULT);
        assert!(Field::named("no_such").is_none());
    }
}
