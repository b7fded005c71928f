//! The parameters of a run of AIM7.

use super::workfile::Workfile;
use anyhow::{Result, ensure};
use std::sync::Arc;
use turnwise_vfs::journal;

/// The parameters of a run.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The mix of jobs.
    pub workfile: Arc<Workfile>,
    /// The file systems' journals; `None`: they have none.
    pub journal: Option<journal::Config>,
    /// File systems: F. Directories are spread over them.
    pub file_systems: u32,
    /// Directories that files go into; a user starts at a random one, and takes the next for each job.
    pub directories: u32,
    /// The private computation of a job, in nanoseconds: one number for all jobs.
    pub compute_ns: u32,
    /// The time of that on this machine, in thousandths: above 1000 where memory is far away.
    pub tax_permille: u32,
    /// Each job does only the n-th part of everything that it does, computing included; the mix stays as it is.
    pub scale: u32,
    /// Whether a profiler asks for the path of every mapped file (`perf record`).
    pub profiler: bool,
    /// Random seed.
    pub seed: u64,
}

impl Setup {
    /// Creates the workfile on one file system with a directory and without a journal; 3 ms of computing, as in AIM7's
    /// file server mix on one node of the papers' machine.
    #[must_use]
    pub fn new(workfile: Workfile) -> Setup {
        Setup {
            workfile: Arc::new(workfile),
            journal: None,
            file_systems: 1,
            directories: 1,
            compute_ns: 3_000_000,
            tax_permille: 1000,
            scale: 1,
            profiler: false,
            seed: 1,
        }
    }

    /// # Errors
    /// It makes no sense.
    pub(super) fn check(&self) -> Result<()> {
        ensure!(self.scale > 0, "jobs cannot be divided by 0");
        ensure!(self.file_systems > 0, "files need a file system");
        ensure!(self.directories > 0, "files need a directory");
        let (file_systems, directories) = (self.file_systems, self.directories);
        ensure!(
            file_systems <= directories,
            "{directories} directories cannot be spread over {file_systems} file systems"
        );
        ensure!(directories <= 4096, "{directories} directories: at most 4096");
        Ok(())
    }

    /// Returns the computing time of a job here, in nanoseconds.
    pub(super) fn computing_ns(&self) -> u64 {
        u64::from(self.compute_ns) * u64::from(self.tax_permille) / 1000 / u64::from(self.scale)
    }
}
