//! The condition variable.

use crate::check::Model;

pub(super) const MODELS: &[Model] = &[];
