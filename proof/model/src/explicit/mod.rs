//! Explicit-state checks of the locks' protocols: every interleaving, without a bound on preemptions.
//!
//! The threads of a check are coroutines that run the shipped code on [`Explicit`], a platform on which every operation
//! may be preceded by any steps of the others. All that a thread can see is memory of the machine, so a state is the
//! bytes of that memory: the shared words, the threads' stacks, the sleepers. The search takes the machine back to an
//! earlier state by copying bytes, and explores no state twice. Words are sequentially consistent.
//!
//! | module | what |
//! |---|---|
//! | [`check`] | a check |
//! | `setting` | how large a check is, and what its machine is like |
//! | `state` | what each thread is about to do, which threads sleep, what time it is; the possible continuations |
//! | `machine` | what the threads request |
//! | `memory` | the memory that a check's objects lie in, and the threads' stacks, saved and restored |
//! | `search` | all states, depth first; whether each leads to an end |
//! | [`platform`] | [`Explicit`] and its words |
//! | `checks` | the checks, one file per lock |
//!
//! `docs/models.md` states what is explored, why equal bytes are equal states, and what the checks do not show.

pub mod check;
mod checks;
mod machine;
mod memory;
pub mod platform;
mod search;
mod setting;
mod state;

pub use check::Check;
pub use checks::of;
pub(crate) use checks::parking;
pub use platform::{Explicit, ExplicitWord};
pub use setting::{Machine, Size};
