//! What one user does with files.

use super::files::{BLOCK, CREATE, Files, HEADERS};
use super::jobs::{Disk, Job, Step};
use super::programs::{TERMINAL, WORKING_DIRECTORY};
use anyhow::{Result, ensure};
use turnwise_sim::Sim;
use turnwise_simbench::Simulated;
use turnwise_vfs::{Context, File, Follow, LockSet, OpenFlags, Path, Vfs};

/// A user's root and working directory, and the files that it has.
pub(super) struct Home<'s, L: LockSet<Sim>> {
    files: &'s Files<L>,
    /// One for each file system.
    roots: Vec<Path<'s, Simulated, L>>,
    at: Path<'s, Simulated, L>,
    number: u32,
    /// Where files of the present job go.
    directory: u32,
    /// By directory: whether the repeatedly created file is there, and one that gets links.
    created: Vec<bool>,
    linked: Vec<bool>,
    programs: File<'s, Simulated, L>,
    pub(super) terminal: File<'s, Simulated, L>,
    /// Where to continue reading there.
    cursor: u64,
    looked: u32,
}

impl<'s, L: LockSet<Sim>> Home<'s, L> {
    pub(super) fn new(files: &'s Files<L>, number: u32, directory: u32) -> Result<Self> {
        let roots: Vec<_> = files.systems.iter().map(Vfs::root).collect();
        let (first, cx) = (&files.systems[0], Context::new(&roots[0], &roots[0]));
        let at = first.lookup(&cx, WORKING_DIRECTORY.as_bytes(), Follow::Yes)?;
        let open = |path: &str| first.open(&cx, path.as_bytes(), OpenFlags::RDONLY, 0);
        let (programs, terminal) = (open("/bin")?, open(TERMINAL)?);
        let (created, linked) = (vec![false; files.directories as usize], vec![false; files.directories as usize]);
        let (cursor, looked) = (0, number);
        Ok(Home { files, roots, at, number, directory, created, linked, programs, terminal, cursor, looked })
    }

    /// Moves a job on disks to the next directory.
    pub(super) fn next_directory(&mut self, job: &Job) {
        let on_disk = |step: &Step| {
            matches!(step, Step::CreateClose { .. } | Step::Links { .. } | Step::Disk(_) | Step::Sources { .. })
        };
        if job.steps.iter().any(on_disk) {
            self.directory = (self.directory + 1) % self.files.directories;
        }
    }

    /// Returns the file system of the present directory.
    fn system(&self) -> &'s Vfs<Simulated, L> {
        &self.files.systems[self.files.system(self.directory)]
    }

    fn cx(&self) -> Context<'_, 's, Simulated, L> {
        let root = &self.roots[self.files.system(self.directory)];
        Context::new(root, root)
    }

    /// Returns the first file system, and a context at the working directory.
    pub(super) fn first(&self) -> (&'s Vfs<Simulated, L>, Context<'_, 's, Simulated, L>) {
        (&self.files.systems[0], Context::new(&self.roots[0], &self.at))
    }

    /// Returns a file of this user in the present directory.
    fn own(&self, kind: &str) -> Vec<u8> {
        format!("/disk/{}/{kind}{}", self.directory, self.number).into_bytes()
    }

    /// Does `creat` and `close` of the same file.
    pub(super) fn create_close(&mut self) -> Result<()> {
        drop(self.system().open(&self.cx(), &self.own("create"), CREATE, 0o777)?);
        self.created[self.directory as usize] = true;
        Ok(())
    }

    /// Removes that file, if there is one.
    pub(super) fn remove_created(&mut self) -> Result<()> {
        if std::mem::take(&mut self.created[self.directory as usize]) {
            self.system().unlink(&self.cx(), &self.own("create"))?;
        }
        Ok(())
    }

    /// Creates the file that gets links, unless it is there.
    pub(super) fn ready_to_link(&mut self) -> Result<()> {
        if !std::mem::replace(&mut self.linked[self.directory as usize], true) {
            self.system().open(&self.cx(), &self.own("link"), CREATE, 0o777)?;
        }
        Ok(())
    }

    /// Makes a link to it and removes it at once: as many of both as AIM7 does, which makes all of them first.
    pub(super) fn link_and_unlink(&mut self) -> Result<()> {
        let (system, cx) = (self.system(), self.cx());
        let name = self.own("another");
        drop(system.link(&cx, &self.own("link"), &name)?);
        Ok(system.unlink(&cx, &name)?)
    }

    /// Removes the file itself, if there is one.
    pub(super) fn remove_linked(&mut self) -> Result<()> {
        if std::mem::take(&mut self.linked[self.directory as usize]) {
            self.system().unlink(&self.cx(), &self.own("link"))?;
        }
        Ok(())
    }

    /// Reads this many entries of the directory of programs; after the last one comes the first.
    pub(super) fn read_entries(&mut self, mut entries: u32) -> Result<()> {
        while entries > 0 {
            let (mut seen, mut cursor) = (0, self.cursor);
            self.programs.readdir(self.cursor, |entry| {
                seen += 1;
                cursor = entry.next;
                seen < entries
            })?;
            ensure!(seen > 0 || self.cursor > 0, "the directory of programs is empty");
            self.cursor = if seen < entries { 0 } else { cursor };
            entries -= seen.min(entries);
        }
        Ok(())
    }

    /// Gets the path of the working directory.
    pub(super) fn working_directory(&mut self) -> Result<()> {
        let (first, cx) = self.first();
        let path = first.getcwd(&cx)?;
        ensure!(path == WORKING_DIRECTORY.as_bytes(), "the working directory is called {}", path.escape_ascii());
        Ok(())
    }

    /// Takes references to root and working directory for a forked process, which gives them back as it ends.
    pub(super) fn take_paths(&self) -> [Path<'s, Simulated, L>; 2] {
        [self.roots[0].clone(), self.at.clone()]
    }

    /// Returns the path of an open file of the first file system.
    pub(super) fn path_of(&self, file: &File<'s, Simulated, L>) -> Result<Vec<u8>> {
        let (first, cx) = self.first();
        Ok(first.d_path(&cx, file.path())?)
    }

    /// Makes a named pipe, which is removed once it is open.
    pub(super) fn make_fifo(&mut self) -> Result<()> {
        let (system, cx, name) = (self.system(), self.cx(), self.own("fifo"));
        drop(system.mkfifo(&cx, &name, 0o666)?);
        Ok(system.unlink(&cx, &name)?)
    }

    /// Creates a file of this many blocks, works on it, and removes it.
    pub(super) fn disk(&mut self, disk: Disk, blocks: u32, chance: &mut fastrand::Rng, block: &mut [u8]) -> Result<()> {
        let (system, cx, name) = (self.system(), self.cx(), self.own("disk"));
        let block = &mut block[..BLOCK];
        let mut at = |number: u32| {
            let number = if disk.random { chance.u32(0..blocks) } else { number };
            u64::from(number) * BLOCK as u64
        };
        let common = format!("/disk/{}/common", self.directory).into_bytes();
        let common = disk.from_shared.then(|| system.open(&cx, &common, OpenFlags::RDONLY, 0)).transpose()?;
        let file = system.open(&cx, &name, CREATE, 0o666)?;
        for number in 0..blocks {
            let offset = u64::from(number) * BLOCK as u64;
            if let Some(common) = &common {
                ensure!(common.read(offset, block)? == BLOCK, "the shared file is too short");
            }
            write(&file, offset, block, disk.sync)?;
        }
        if disk.rewrites {
            (0..blocks).try_for_each(|number| write(&file, at(number), block, disk.sync))?;
        }
        drop(file);
        if disk.reads {
            let file = system.open(&cx, &name, OpenFlags::RDONLY, 0)?;
            for number in 0..blocks {
                ensure!(file.read(at(number), block)? == BLOCK, "a block that was written is not there");
            }
        }
        Ok(system.unlink(&cx, &name)?)
    }

    /// Reads the attributes of a file that a compilation looks at.
    pub(super) fn look_at_source(&mut self) -> Result<()> {
        self.looked = (self.looked + 1) % HEADERS;
        let name = format!("/disk/{}/fakeh/h{}", self.directory, self.looked);
        let stat = self.system().stat(&self.cx(), name.as_bytes(), Follow::Yes)?;
        ensure!(stat.links == 1, "{name} has {} names", stat.links);
        Ok(())
    }

    /// Makes a file that a compilation makes, and removes it.
    pub(super) fn make_source(&mut self) -> Result<()> {
        let (system, cx, name) = (self.system(), self.cx(), self.own("fakeh/object"));
        drop(system.open(&cx, &name, CREATE, 0o666)?);
        Ok(system.unlink(&cx, &name)?)
    }

    /// Removes the user's files.
    pub(super) fn leave(mut self) -> Result<()> {
        for directory in 0..self.files.directories {
            self.directory = directory;
            self.remove_created()?;
            self.remove_linked()?;
        }
        Ok(())
    }
}

fn write<L: LockSet<Sim>>(file: &File<'_, Simulated, L>, offset: u64, block: &[u8], sync: bool) -> Result<()> {
    ensure!(file.write(offset, block)? == block.len(), "a block did not fit");
    if sync {
        file.sync();
    }
    Ok(())
}
