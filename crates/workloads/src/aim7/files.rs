//! The users' files: file systems, what is on them from the start, and what jobs do there.
//!
//! | path | what |
//! |---|---|
//! | `/bin`, `/lib` of the first file system | programs and libraries: what `dir_rtns_1` reads and an exec opens |
//! | `/usr/local/aim7` of the first file system | the users' working directory |
//! | `/disk/N` | the directories for users' files, spread over the file systems; each has `fakeh` and `common` |
//!
//! A user's own files are named after its number, and go when it ends.

use super::jobs::{Disk, Job, Step};
use super::meter::{Comm, Meter};
use super::scene::Scene;
use super::setup::Setup;
use anyhow::{Context as _, Result, ensure};
use turnwise_vfs::{Config, Context, Errno, Follow, LockSet, OpenFlags, Path, Vfs};

/// Entries of a directory of programs.
const PROGRAMS: u32 = 120;
/// Files that a compilation looks at.
const HEADERS: u32 = 57;
/// What all programs map, beside themselves.
const LIBRARIES: [&str; 3] = ["/lib/ld.so", "/lib/libc.so", "/lib/libm.so"];
const WORKING_DIRECTORY: &[u8] = b"/usr/local/aim7";
/// A block of a file, in bytes.
const BLOCK: usize = 1024;

type Place<'s, H, L> = Path<'s, H, L>;

/// All file systems.
pub struct Files<H: Scene, L: LockSet<H::Platform>> {
    systems: Vec<Vfs<H, L>>,
    directories: u32,
}

impl<H: Scene, L: LockSet<H::Platform>> Files<H, L> {
    /// File systems with everything that so many users need.
    pub(super) fn new(setup: &Setup, users: u32, file_kib: u32) -> Result<Self> {
        let bytes = u64::from(file_kib) * 1024 * u64::from(users + setup.directories) * 2 + (64 << 20);
        let config = Config { journal: setup.journal, data_bytes: Some(bytes), ..Config::default() };
        let systems = (0..setup.file_systems).map(|_| Vfs::new(config.clone())).collect();
        let files = Files { systems, directories: setup.directories };
        files.furnish(file_kib).context("the file system refuses what a run needs")?;
        Ok(files)
    }

    fn furnish(&self, file_kib: u32) -> Result<()> {
        let first = &self.systems[0];
        let root = first.root();
        let cx = Context::new(&root, &root);
        for directory in ["/bin", "/lib", "/usr", "/usr/local", "/usr/local/aim7"] {
            first.mkdir(&cx, directory.as_bytes(), 0o755)?;
        }
        let names = (0..PROGRAMS).map(|number| format!("/bin/program{number}"));
        let programs = ["/bin/sh", "/bin/ls", "/bin/true"].map(str::to_owned);
        for file in names.chain(programs).chain(LIBRARIES.map(str::to_owned)) {
            create(first, &cx, file.as_bytes(), 0o755)?;
        }
        for directory in 0..self.directories {
            self.furnish_directory(directory, file_kib)?;
        }
        Ok(())
    }

    fn furnish_directory(&self, directory: u32, file_kib: u32) -> Result<()> {
        let system = self.system(directory);
        let root = system.root();
        let cx = Context::new(&root, &root);
        match system.mkdir(&cx, b"/disk", 0o755) {
            Err(errno) if errno != Errno::EXIST => return Err(errno.into()),
            _ => {}
        }
        let at = format!("/disk/{directory}");
        system.mkdir(&cx, at.as_bytes(), 0o777)?;
        system.mkdir(&cx, format!("{at}/fakeh").as_bytes(), 0o777)?;
        for header in 0..HEADERS {
            create(system, &cx, format!("{at}/fakeh/h{header}").as_bytes(), 0o644)?;
        }
        let common = system.open(&cx, format!("{at}/common").as_bytes(), WRITE, 0o644)?;
        for block in 0..file_kib {
            common.write(u64::from(block) * BLOCK as u64, &[b'c'; BLOCK])?;
        }
        Ok(())
    }

    /// The file system that a directory is on.
    fn system(&self, directory: u32) -> &Vfs<H, L> {
        &self.systems[directory as usize % self.systems.len()]
    }

    /// What a user has open from start to end.
    pub(super) fn home(&self, number: u32, directory: u32) -> Result<Home<'_, H, L>> {
        let roots: Vec<_> = self.systems.iter().map(Vfs::root).collect();
        let first = &self.systems[0];
        let at = first.lookup(&Context::new(&roots[0], &roots[0]), WORKING_DIRECTORY, Follow::Yes)?;
        let home = Home { files: self, roots, at, number, directory, rounds: 0, mine: Vec::new(), cursor: 0 };
        Ok(home)
    }

    /// Transactions that all journals have committed.
    pub(super) fn commits(&self) -> u64 {
        self.systems.iter().filter_map(Vfs::journal).map(|journal| u64::from(journal.commits())).sum()
    }

    /// Inodes on all file systems.
    pub fn count(&self) -> u64 {
        self.systems.iter().map(|system| system.stats().inodes).sum()
    }
}

const WRITE: OpenFlags = OpenFlags::CREATE.union(OpenFlags::WRITE).union(OpenFlags::TRUNCATE);

/// Creates a file that is empty.
fn create<H: Scene, L: LockSet<H::Platform>>(
    system: &Vfs<H, L>,
    cx: &Context<'_, '_, H, L>,
    path: &[u8],
    mode: u32,
) -> Result<()> {
    system.open(cx, path, WRITE, mode)?;
    Ok(())
}
