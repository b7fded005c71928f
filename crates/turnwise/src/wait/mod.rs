//! How the sleeping locks wait: how they spin, when they yield their CPU, when they hand the lock off.
//!
//! All numbers are in one table, [`Policy`]; those that may differ from wait to wait are in `settings.rs`. `spin.rs`
//! has the one way to spin, `waiter.rs` the one way to sleep, `yield_interval.rs` time slices on a CPU; `stamp.rs`
//! marks hand-offs with the process in which they were made, and `lapse.rs` ends those whose threads do not come.
//! Spinning is not needed for correctness: a thread without a slot sleeps at once.

mod lapse;
mod policy;
mod settings;
mod stamp;
mod waiter;

#[cfg(feature = "spin")]
mod spin;
#[cfg(feature = "spin")]
mod yield_interval;

pub(crate) use lapse::{Lapse, Reserved};
#[cfg(feature = "set-policy")]
pub use policy::set_policy;
pub use policy::{Field, OutOfBounds, Policy, policy};
pub use settings::Tuned;
pub(crate) use stamp::Stamp;
pub(crate) use waiter::{Found, SleepingLock, Waiter};
#[cfg(feature = "spin")]
pub(crate) use yield_interval::yield_after_interval;
