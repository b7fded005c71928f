//! The environment variables by which the program `turnwise` instructs the libraries that it loads.

/// Names the [`crate::Lock`] for all locks of the process; empty or unset: the adaptive one.
pub const LOCK: &str = "TURNWISE_LOCK";
/// Holds the path of a [`crate::Table`], whose rules apply to each lock, and [`LOCK`] is ignored. Empty or unset: none.
pub const POLICY_TABLE: &str = "TURNWISE_POLICY_TABLE";
/// Set to `1`, makes the preload library report on standard error what it does.
pub const VERBOSE: &str = "TURNWISE_VERBOSE";
/// Set to `0`, turns the live view off; set to `1`, has it also where system calls are filtered.
pub const LIVE: &str = "TURNWISE_LIVE";
/// Holds the path of the page of [`crate::run_probe`].
pub const RUN_PROBE: &str = "TURNWISE_RUN_PROBE";
/// Holds the path of the file that the recorder writes to.
pub const RECORDING: &str = "TURNWISE_RECORDING";
