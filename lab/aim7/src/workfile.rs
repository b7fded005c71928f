//! Workfiles: which jobs a user runs, and how often. `workfiles.toml` has AIM7's.
//!
//! A job of weight `w` is run `w / total * 100` times by each user, rounded, and at least once. The pitfall of AIM7 is
//! kept: of a job that is listed twice the later weight counts, while the total has both.

use super::jobs::Job;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// About how many jobs each user runs.
const JOBS_PER_USER: f64 = 100.0;

/// A mix of jobs.
#[derive(Clone, Default, Debug)]
pub struct Workfile {
    /// How large the jobs' files are.
    pub sizes: Sizes,
    /// The weights that count, in the order of their first lines.
    pub items: Vec<(&'static Job, u32)>,
    /// The sum of all weights, those that do not count included.
    pub total: u32,
}

/// A workfile as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    sizes: Sizes,
    /// Weights, each with the jobs that have it.
    jobs: Vec<(u32, Vec<String>)>,
}

/// Sizes of files, in KiB.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    /// The size of every file (AIM7's FILESIZE).
    pub file_kib: u32,
    /// The total size of the files of all users (AIM7's POOLSIZE).
    pub pool_kib: u32,
}

/// The default where a workfile sets nothing: that of AIM7's own configuration.
impl Default for Sizes {
    fn default() -> Sizes {
        Sizes { file_kib: 10, pool_kib: 1024 }
    }
}

impl Sizes {
    /// Returns the size of a file with this many users, in KiB.
    #[must_use]
    pub fn of_a_file(self, users: u32) -> u32 {
        self.file_kib.saturating_add(self.pool_kib / users.max(1))
    }
}

/// AIM7's workfiles, by their names.
pub static WORKFILES: LazyLock<BTreeMap<&str, Workfile>> = LazyLock::new(|| {
    let all: BTreeMap<&str, Written> = toml::from_str(include_str!("workfiles.toml")).expect("the file is tested");
    let read = |Written { sizes, jobs }: Written| {
        let weights = jobs.iter().flat_map(|(weight, jobs)| jobs.iter().map(|job| (*weight, job.as_str())));
        Workfile { sizes, ..Workfile::of(weights).expect("the file is tested") }
    };
    all.into_iter().map(|(name, written)| (name, read(written))).collect()
});

impl Workfile {
    /// Returns the workfile of this name.
    ///
    /// # Errors
    /// There is none.
    pub fn load(name: &str) -> Result<Workfile> {
        WORKFILES.get(name).cloned().with_context(|| format!("no workfile {name}"))
    }

    /// Returns a mix of jobs with these weights.
    ///
    /// # Errors
    /// There is no such job.
    pub fn of<'a>(weights: impl IntoIterator<Item = (u32, &'a str)>) -> Result<Workfile> {
        let mut workfile = Workfile::default();
        for (weight, name) in weights {
            let job = Job::find(name).with_context(|| format!("no job {name}"))?;
            workfile.total += weight;
            match workfile.items.iter_mut().find(|(known, _)| std::ptr::eq(*known, job)) {
                Some((_, former)) => *former = weight,
                None => workfile.items.push((job, weight)),
            }
        }
        Ok(workfile)
    }

    /// Returns how often each user runs each job.
    pub fn loads(&self) -> impl Iterator<Item = (&'static Job, u32)> {
        let total = f64::from(self.total);
        self.items.iter().map(move |&(job, weight)| {
            let share = f64::from(weight) / total * JOBS_PER_USER;
            (job, (share.round() as u32).max(1))
        })
    }

    /// Jobs that each user runs: J.
    #[must_use]
    pub fn jobs(&self) -> u32 {
        self.loads().map(|(_, load)| load).sum()
    }
}
