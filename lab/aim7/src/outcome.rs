//! The result of a run of AIM7.

use super::meter::Meters;
use serde::Serialize;
use turnwise_simbench::report::ProfileRow;

/// The result with this many users, on metal or in the simulator.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Users: N.
    pub users: u32,
    /// CPUs that they had.
    pub cpus: u32,
    /// Jobs that were completed in the measured time, each a `scale`-th of AIM7's.
    pub jobs: u64,
    /// The measured time, in seconds of that world.
    pub seconds: f64,
    /// Jobs a minute, in AIM7's jobs. Of whole runs 60 * N * J / T, of a window of a simulation 60 * jobs / T.
    pub jpm: f64,
    /// How evenly users finish: 100 * (1 - coefficient of variation of their times); `None` for a window.
    pub jti: Option<f64>,
    /// Times that a thread slept.
    pub voluntary: u64,
    /// Times that a thread was preempted.
    pub involuntary: u64,
    /// CPU time for one of AIM7's jobs, in milliseconds.
    pub cpu_ms_per_job: f64,
    /// CPU time over the time that the CPUs had.
    pub busy: f64,
    /// Transactions that the journals committed in all.
    pub commits: u64,
    /// Time of some operations by the program of the process, in the measured time.
    pub meters: Meters,
    /// Where the CPUs' time went, idle time included, most first; empty on metal.
    pub profile: Vec<ProfileRow>,
    /// Of that, what each command spent, and in which parts of the kernel; empty on metal.
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

/// Returns AIM7's measure of evenness: 100 less the coefficient of variation of the times in percent.
#[must_use]
pub(super) fn jti(times_s: &[f64]) -> f64 {
    let count = times_s.len().max(1) as f64;
    let mean = times_s.iter().sum::<f64>() / count;
    let variance = times_s.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / count;
    if mean == 0.0 { 100.0 } else { 100.0 * (1.0 - variance.sqrt() / mean) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_users_have_a_jti_of_100() {
        assert_eq!(jti(&[2.0, 2.0, 2.0]), 100.0);
        // The mean is 2, the deviation 1.
        assert_eq!(jti(&[1.0, 3.0]), 50.0);
    }
}
