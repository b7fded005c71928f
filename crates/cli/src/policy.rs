//! The lock policies: one record each, from which help, list and errors derive.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// A way to run a program's pthread mutexes.
#[derive(Debug)]
pub(crate) struct Policy {
    /// What the user types.
    pub(crate) name: &'static str,
    /// One line for help and list.
    pub(crate) help: &'static str,
    /// What the preload library is told in [`POLICY_VARIABLE`]; `None`: the library is not loaded at all.
    pub(crate) setting: Option<&'static str>,
}

/// The environment variable in which the preload library finds its policy.
pub(crate) const POLICY_VARIABLE: &str = "TURNWISE_LOCK";

/// All policies, in the order in which users read them.
pub(crate) static POLICIES: [Policy; 5] = [
    Policy { name: "libc", help: "the C library's own locks; nothing is interposed", setting: None },
    Policy {
        name: "adaptive",
        help: "queued spinners, spinning only while the owner runs, bounded waits",
        setting: Some("adaptive"),
    },
    Policy { name: "mcs", help: "MCS queue spin lock: first come, first served; never sleeps", setting: Some("mcs") },
    Policy { name: "ttas", help: "test-and-test-and-set spin lock with back-off; never sleeps", setting: Some("ttas") },
    Policy {
        name: "ticket",
        help: "ticket spin lock: first come, first served; never sleeps",
        setting: Some("ticket"),
    },
];

/// The policy that nothing is compared without.
pub(crate) fn libc() -> &'static Policy {
    &POLICIES[0]
}

/// What `run` and `compare` use unless told.
pub(crate) const DEFAULT: &str = "adaptive";

/// The policy that `run` and `compare` use unless told.
pub(crate) fn default() -> &'static Policy {
    by_name(DEFAULT).expect("the table has it")
}

impl Policy {
    /// As policy files' tables have it.
    pub(crate) fn in_table(&self) -> turnwise_preload_abi::Policy {
        turnwise_preload_abi::Policy::by_name(self.name).expect("both tables have the same names")
    }
}

/// The policy of that name.
pub(crate) fn by_name(name: &str) -> Option<&'static Policy> {
    POLICIES.iter().find(|policy| policy.name == name)
}

/// Parses a policy; clap lists the names and suggests the nearest.
pub(crate) fn parser() -> impl TypedValueParser<Value = &'static Policy> {
    let names = POLICIES.iter().map(|policy| PossibleValue::new(policy.name).help(policy.help));
    PossibleValuesParser::new(names).map(|name| by_name(&name).expect("clap admits only names of the table"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_found() {
        for policy in &POLICIES {
            assert!(std::ptr::eq(by_name(policy.name).unwrap(), policy), "{} is shadowed", policy.name);
            assert_eq!(policy.in_table().name(), policy.name);
        }
        assert!(by_name("mutex").is_none());
    }

    #[test]
    fn only_libc_is_not_interposed() {
        let bare: Vec<_> =
            POLICIES.iter().filter(|policy| policy.setting.is_none()).map(|policy| policy.name).collect();
        assert_eq!(bare, [libc().name]);
        assert!(by_name(DEFAULT).is_some_and(|policy| policy.setting.is_some()));
    }
}
