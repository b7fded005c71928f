//! The environment variables by which the program `turnwise` talks to the libraries that it loads.

/// Names one of [`crate::Lock`] for all locks of the process; empty or unset: the adaptive one.
pub const LOCK: &str = "TURNWISE_LOCK";
/// The path of a [`crate::Table`]: each lock goes by its rules, and [`LOCK`] is void. Empty or unset: none.
pub const POLICY_TABLE: &str = "TURNWISE_POLICY_TABLE";
/// `1`: the preload library says on standard error what it does.
pub const VERBOSE: &str = "TURNWISE_VERBOSE";
/// The path of the page of [`crate::run_probe`].
pub const RUN_PROBE: &str = "TURNWISE_RUN_PROBE";
/// The path of the file that the recorder writes to.
pub const RECORDING: &str = "TURNWISE_RECORDING";
