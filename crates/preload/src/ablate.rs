//! Other numbers in the policy by which the locks wait, for `cargo xtask ablate`.

extern crate std;

use core::ffi::CStr;
use std::sync::OnceLock;
use turnwise::wait::{Field, Policy, set_policy};
use turnwise_interpose::variable;

/// Variable that holds `NAME=VALUE,…`; empty or unset: the policy that ships.
pub(crate) const VARIABLE: &str = "TURNWISE_ABLATE";

static POLICY: OnceLock<Policy> = OnceLock::new();

/// Puts the numbers that the environment names in force. Text that is not one is returned and changes nothing.
pub(crate) fn prepare() -> Result<(), &'static CStr> {
    match variable(VARIABLE) {
        Some(text) if !text.is_empty() => {
            let policy = parse(text).ok_or(text)?;
            set_policy(POLICY.get_or_init(|| policy));
            Ok(())
        }
        _ => Ok(()),
    }
}

fn parse(text: &CStr) -> Option<Policy> {
    let mut policy = Policy::DEFAULT;
    for setting in text.to_str().ok()?.split(',') {
        let (name, value) = setting.split_once('=')?;
        Field::named(name)?.set(&mut policy, value.parse().ok()?).ok()?;
    }
    Some(policy)
}
