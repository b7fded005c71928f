//! The result of a run of AIM7.

use super::meter::Meters;
use serde::Serialize;
use turnwise_simbench::report::ProfileRow;

/// The result.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Jobs that were completed in the measured time, each a `scale`-th of AIM7's.
    pub jobs: u64,
    /// The measured time, in seconds of that world.
    pub seconds: f64,
    /// Jobs a minute, in AIM7's jobs. Of whole runs 60 * N * J / T, of a window of a simulation 60 * jobs / T.
    pub jpm: f64,
    /// CPU time for one of AIM7's jobs, in milliseconds.
    pub cpu_ms_per_job: f64,
    /// CPU time over the time that the CPUs had.
    pub busy: f64,
    /// Transactions that the journals committed in all.
    pub commits: u64,
    /// What processes did in the measured time, by what they ran.
    pub meters: Meters,
    /// Where the CPUs' time went, idle time included, most first.
    pub profile: Vec<ProfileRow>,
    /// Of that, what each command spent, and in which parts of the kernel.
    pub scopes: Vec<ScopeRow>,
}

/// Time in a function, on behalf of a command, within a named part of the kernel.
#[derive(Clone, Debug, Serialize)]
pub struct ScopeRow {
    /// What the process ran: see [`super::Comm::name`].
    pub command: String,
    /// The part: `path_get`, `dput` or `d_path`; empty: none of them.
    pub scope: String,
    /// The function.
    pub function: String,
    /// Of the time that CPUs were busy.
    pub share: f64,
}

impl Outcome {
    /// Returns the share of CPU time, idle time excluded, of the functions whose names contain one of these.
    #[must_use]
    pub fn busy_share(&self, names: &[&str]) -> f64 {
        let busy = |row: &&ProfileRow| row.kind != "idle";
        let named = |row: &&ProfileRow| names.iter().any(|name| row.function.contains(name));
        let sum = |rows: &mut dyn Iterator<Item = &ProfileRow>| rows.map(|row| row.share).sum::<f64>();
        let all = sum(&mut self.profile.iter().filter(busy));
        if all == 0.0 { 0.0 } else { sum(&mut self.profile.iter().filter(busy).filter(named)) / all }
    }

    /// Returns the share of such functions in one command's CPU time, within a named part of the kernel or, without a
    /// name, anywhere.
    #[must_use]
    pub fn command_share(&self, command: &str, scope: Option<&str>, names: &[&str]) -> f64 {
        let there = |row: &ScopeRow| row.command == command && scope.is_none_or(|scope| row.scope == scope);
        let named = |row: &&ScopeRow| there(row) && names.iter().any(|name| row.function.contains(name));
        self.scopes.iter().filter(named).map(|row| row.share).sum()
    }
}
