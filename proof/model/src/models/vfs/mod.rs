//! The file system's own protocols, on the smallest locks that do.

mod dcache;
mod journal;
mod locks;

use super::*;
use crate::platform::{LoomHost, on_charge};
use locks::{Lean, Patched};

/// Returns all models of the file system.
pub(super) fn all() -> Vec<Model> {
    [journal::MODELS, dcache::MODELS].concat()
}
