//! The users' files: file systems, their initial content, and what jobs do there.
//!
//! | path | what |
//! |---|---|
//! | of the first file system those in `programs.rs` | programs and libraries, the users' working directory |
//! | `/disk/N` | the directories for users' files, spread over the file systems; each has `fakeh` and `common` |
//!
//! A user's own files are named after its number, and are removed when it ends.

use super::programs;
use super::setup::Setup;
use anyhow::{Context as _, Result};
use turnwise_sim::Sim;
use turnwise_simbench::Simulated;
use turnwise_vfs::journal::Journal;
use turnwise_vfs::{Config, Context, Errno, LockSet, OpenFlags, Vfs};

/// Files that a compilation reads the attributes of.
pub(super) const HEADERS: u32 = 57;
/// A block of a file, in bytes.
pub(super) const BLOCK: usize = 1024;

/// The flags of `creat`.
pub(super) const CREATE: OpenFlags = OpenFlags::CREATE.union(OpenFlags::WRONLY).union(OpenFlags::TRUNC);

/// All file systems.
pub struct Files<L: LockSet<Sim>> {
    pub(super) systems: Vec<Vfs<Simulated, L>>,
    pub(super) directories: u32,
}

impl<L: LockSet<Sim>> Files<L> {
    /// Creates file systems with everything that this many users need.
    pub(super) fn new(setup: &Setup, users: u32, file_kib: u32) -> Result<Self> {
        // Each user has a file or two at a time, in whole pages.
        let most = (u64::from(file_kib) + 8) * 1024 * 2 * u64::from(users + setup.directories);
        let config = Config { journal: setup.journal, data_bytes: Some(most), buckets_log2: 14, ..Config::default() };
        let systems = (0..setup.file_systems).map(|_| Vfs::new(config)).collect();
        let files = Files { systems, directories: setup.directories };
        files.furnish(file_kib).context("the file system refuses what a run needs")?;
        Ok(files)
    }

    fn furnish(&self, file_kib: u32) -> Result<()> {
        let first = &self.systems[0];
        let root = first.root();
        let cx = Context::new(&root, &root);
        programs::furnish(first, &cx)?;
        (0..self.directories).try_for_each(|directory| self.furnish_directory(directory, file_kib))
    }

    fn furnish_directory(&self, directory: u32, file_kib: u32) -> Result<()> {
        let system = &self.systems[self.system(directory)];
        let root = system.root();
        let cx = Context::new(&root, &root);
        match system.mkdir(&cx, b"/disk", 0o755) {
            Err(errno) if errno != Errno::EXIST => return Err(errno.into()),
            _ => {}
        }
        let at = format!("/disk/{directory}");
        for made in [at.clone(), format!("{at}/fakeh")] {
            system.mkdir(&cx, made.as_bytes(), 0o777)?;
        }
        for header in 0..HEADERS {
            system.open(&cx, format!("{at}/fakeh/h{header}").as_bytes(), CREATE, 0o644)?;
        }
        let common = system.open(&cx, format!("{at}/common").as_bytes(), CREATE, 0o644)?;
        for block in 0..u64::from(file_kib) {
            common.write(block * BLOCK as u64, &[b'c'; BLOCK])?;
        }
        Ok(())
    }

    /// Returns the file system that a directory is on.
    pub(super) fn system(&self, directory: u32) -> usize {
        directory as usize % self.systems.len()
    }

    /// Commits the transactions of one file system, until [`Files::dismiss`]: the work of the kernel's thread for it.
    pub(super) fn commit_on(&self, system: usize) {
        self.systems[system].journal().into_iter().for_each(Journal::serve);
    }

    /// Ends the committing threads.
    pub(super) fn dismiss(&self) {
        self.systems.iter().filter_map(Vfs::journal).for_each(Journal::dismiss);
    }

    /// Returns the number of file systems with a journal: this many threads commit.
    pub(super) fn journals(&self) -> usize {
        self.systems.iter().filter_map(Vfs::journal).count()
    }

    /// Transactions that all journals have committed.
    pub fn commits(&self) -> u64 {
        self.systems.iter().filter_map(Vfs::journal).map(|journal| u64::from(journal.commits())).sum()
    }

    /// Inodes on all file systems.
    pub fn count(&self) -> u64 {
        self.systems.iter().map(|system| system.usage().inodes_used).sum()
    }
}
