//! The file system's own protocols, on the smallest locks that do.

pub(super) mod dcache;
pub(super) mod journal;
mod locks;

use super::*;
use crate::platform::{LoomHost, on_charge};
use locks::{Lean, Patched};
