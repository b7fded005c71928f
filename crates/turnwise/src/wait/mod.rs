//! How the sleeping locks wait: for how long they spin, when they give their CPU away, when they promise the next turn.
//!
//! All numbers are in one table, [`Policy`]; those that may differ from wait to wait are in `settings.rs`. What a
//! thread learns about its waits is in `record.rs` and `quantum.rs`, and lives in its slot; what a lock knows for
//! others is in `note.rs`, what a condition variable learns in `lookout.rs`; `stamp.rs` marks promises with the process
//! that they were made in, and `lapse.rs` ends those whose threads do not come. None of it is needed for correctness,
//! but for these two: a thread without a slot never spins, and sleeps.

mod lapse;
mod lookout;
mod policy;
mod settings;
mod stamp;

#[cfg(feature = "spin")]
mod note;
#[cfg(feature = "spin")]
mod quantum;
#[cfg(feature = "spin")]
mod record;
#[cfg(feature = "spin")]
mod turn;

pub(crate) use lapse::{Kept, Lapse};
pub use lookout::Lookout;
#[cfg(feature = "spin")]
pub(crate) use note::Note;
#[cfg(feature = "set-policy")]
pub use policy::set_policy;
pub use policy::{Field, OutOfBounds, Policy, policy};
#[cfg(feature = "spin")]
pub(crate) use quantum::yield_quantum;
#[cfg(feature = "spin")]
pub(crate) use record::SpinHistory;
pub use settings::{ByPolicy, Settings, Tuned};
pub(crate) use stamp::Stamp;
#[cfg(feature = "spin")]
pub(crate) use turn::{Known, OwnTurn};

#[cfg(feature = "spin")]
use crate::platform::{Deadline, Platform, SpinEnd};

/// Whether there are enough CPUs for a crowd to compete for a lock without sharing CPUs ([`Policy::many_cpus`]).
#[cfg(feature = "spin")]
#[inline]
pub(crate) fn many_cpus<P: Platform>() -> bool {
    u64::from(P::cpus()) >= policy().many_cpus
}

/// Returns when a wait with this deadline must stop spinning, on [`Platform::now`].
#[cfg(feature = "spin")]
pub(crate) fn spin_limit<P: Platform>(deadline: Option<Deadline>) -> u64 {
    deadline.map_or(u64::MAX, Deadline::monotonic::<P>)
}

/// Whether a spin ended since the caller's deadline, `limit`, has come: its budget was not spent.
#[cfg(feature = "spin")]
pub(crate) fn caller_is_late<P: Platform, T>(end: &Result<T, SpinEnd>, limit: u64) -> bool {
    matches!(end, Err(SpinEnd::Deadline)) && limit < u64::MAX && P::now() >= limit
}
