//! The C API's chores: the header, made of `crates/capi/src`, and the installation.

mod header;
mod install;

pub(crate) use header::Header;
pub(crate) use install::{Install, lay};
