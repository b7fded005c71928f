//! The environment variables by which the program `turnwise` instructs the libraries that it loads.

/// Variable that names the [`crate::Lock`] for all locks of the process; empty or unset: the adaptive one.
pub const LOCK: &str = "TURNWISE_LOCK";
/// Variable with the path of a [`crate::Table`], whose rules for each lock replace [`LOCK`]. Empty or unset: none.
pub const POLICY_TABLE: &str = "TURNWISE_POLICY_TABLE";
/// Variable that, set to `1`, makes the preload library report its actions on standard error.
pub const VERBOSE: &str = "TURNWISE_VERBOSE";
/// Variable that turns the live view off if `0`, and on even where system calls are filtered if `1`.
pub const LIVE: &str = "TURNWISE_LIVE";
/// Variable that holds the path of the page of [`crate::run_probe`].
pub const RUN_PROBE: &str = "TURNWISE_RUN_PROBE";
/// Variable that holds the path of the file that the recorder writes to.
pub const RECORDING: &str = "TURNWISE_RECORDING";
