//! How the sleeping locks wait: how they spin, when they yield their CPU, when they hand the lock off.
//!
//! All numbers are in one table, [`Policy`]; those that may differ from wait to wait are in `settings.rs`. `spin.rs`
//! has the one way to spin, `quantum.rs` time slices on a CPU, `lookout.rs` a condition variable's polling; `stamp.rs`
//! marks hand-offs with the process in which they were made, and `lapse.rs` ends those whose threads do not come. Only
//! these two are needed for correctness: a thread without a slot never spins, and sleeps.

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
