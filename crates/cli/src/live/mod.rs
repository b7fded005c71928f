//! The data of `turnwise top` and `turnwise why` about running programs: snapshots of their live views, changes from
//! one to the next, names, and the wait graph.

mod channels;
mod counted;
mod graph;
mod history;
#[cfg(test)]
#[path = "tests/made_up.rs"]
pub(crate) mod made_up;
mod model;
mod modules;
mod names;
mod outside;
mod rows;

pub(crate) use channels::{Watch, Which};
pub(crate) use counted::{BUCKETS, lower_bound};
pub(crate) use graph::Graph;
pub(crate) use model::{LockId, LockView, Model, Process, ProcessId, ThreadView, View, Waiting};
pub(crate) use modules::{Modules, unloads_of};
pub(crate) use names::{Names, channel_of, lock_kind};
pub(crate) use outside::Outside;
pub(crate) use rows::{Row, Sort, Wanted, rows};
