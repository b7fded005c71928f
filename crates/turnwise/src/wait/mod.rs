//! How the sleeping locks wait: how they spin, when they give their CPU away, when they promise the next turn.
//!
//! All numbers are in one table, [`Policy`]; those that may differ from wait to wait are in `settings.rs`. `spin.rs`
//! has the one way to spin, `quantum.rs` turns on a CPU, `lookout.rs` a condition variable's looks; `stamp.rs` marks
//! promises with the process that they were made in, and `lapse.rs` ends those whose threads do not come. None of it is
//! needed for correctness, but for these two: a thread without a slot never spins, and sleeps.

mod lapse;
mod lookout;
mod policy;
mod settings;
mod stamp;

#[cfg(feature = "spin")]
mod quantum;
#[cfg(feature = "spin")]
mod spin;

pub(crate) use lapse::{Kept, Lapse};
pub use lookout::Lookout;
#[cfg(feature = "set-policy")]
pub use policy::set_policy;
pub use policy::{Field, OutOfBounds, Policy, policy};
#[cfg(feature = "spin")]
pub(crate) use quantum::yield_quantum;
pub use settings::{ByPolicy, Settings, Tuned};
#[cfg(feature = "spin")]
pub(crate) use spin::{Contender, Found, spin};
pub(crate) use stamp::Stamp;
