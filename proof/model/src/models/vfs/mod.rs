//! The file system's own protocols, on the smallest locks that do.

mod dcache;
mod journal;
mod locks;

use super::Protected;
use crate::check::Model;
use crate::platform::{Handle, Loom, LoomHost, Setup, keep, on_charge, rest, saw, spawn};
use locks::{Lean, Patched};

/// All models of the file system.
pub(super) fn all() -> Vec<Model> {
    [journal::MODELS, dcache::MODELS].concat()
}

type Shows = &'static [&'static str];
