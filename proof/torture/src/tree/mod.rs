//! A file system as the scenarios see it, on the locks of any kernel, in memory that makes a late use crash.

mod fence;

use fence::Fenced;
use turnwise::platform::Native;
use turnwise_vfs::locks::LockSet;
use turnwise_vfs::{Config, Context, Errno, Follow, OpenFlags, Path, RenameFlags, Vfs};

/// What is done to a tree. Paths begin at its root.
pub trait Tree: Send + Sync {
    /// Makes a directory.
    fn make_directory(&self, path: &str) -> Result<(), Errno>;
    /// Makes a file that is not there yet.
    fn make_file(&self, path: &str) -> Result<(), Errno>;
    /// Removes an empty directory.
    fn remove_directory(&self, path: &str) -> Result<(), Errno>;
    /// Removes a file's name.
    fn remove_file(&self, path: &str) -> Result<(), Errno>;
    /// Moves a name.
    fn rename(&self, from: &str, to: &str) -> Result<(), Errno>;
    /// Finds a name and stays there for `visit`.
    fn visit(&self, path: &str, visit: &mut dyn FnMut(&dyn Spot)) -> Result<(), Errno>;
    /// Returns which inode a name leads to, without staying there.
    fn look(&self, path: &str) -> Result<u64, Errno>;
    /// Reclaims up to this many unused dentries; returns how many it did.
    fn shrink(&self, dentries: usize) -> usize;
    /// Files and directories that there are, found or not.
    fn inodes(&self) -> u64;
}

/// Where a thread is in a tree.
pub trait Spot {
    /// Returns which inode it is.
    fn number(&self) -> u64;
    /// Returns the way from the root to here.
    fn path(&self) -> Result<String, Errno>;
    /// Returns the way from the root to here, as a process with this working directory sees it.
    fn working_directory(&self) -> Result<String, Errno>;
    /// Returns the way to the parent, which a rename may exchange.
    fn parent(&self) -> Result<String, Errno>;
}

/// A file system with these locks, few chains, and a cache that holds next to nothing.
pub struct FileSystem<L: LockSet<Native>> {
    fs: Box<Vfs<Fenced, L>>,
}

impl<L: LockSet<Native>> Default for FileSystem<L> {
    fn default() -> Self {
        let config = Config { buckets_log2: 2, cache_bytes: 0, ..Config::default() };
        FileSystem { fs: Box::new(Vfs::new(config).expect("room for one directory")) }
    }
}

struct At<'a, L: LockSet<Native>>(Path<'a, Fenced, L>);

fn text(path: Vec<u8>) -> String {
    String::from_utf8_lossy(&path).into_owned()
}

impl<L: LockSet<Native>> FileSystem<L> {
    fn with<'a, R>(&'a self, work: impl FnOnce(&Context<'_, 'a, Fenced, L>) -> R) -> R {
        let root = self.fs.root();
        work(&Context::new(&root, &root))
    }
}

impl<L: LockSet<Native>> Tree for FileSystem<L> {
    fn make_directory(&self, path: &str) -> Result<(), Errno> {
        self.with(|cx| self.fs.mkdir(cx, path.as_bytes(), 0o755).map(drop))
    }

    fn make_file(&self, path: &str) -> Result<(), Errno> {
        let flags = OpenFlags::CREATE | OpenFlags::EXCL;
        self.with(|cx| self.fs.open(cx, path.as_bytes(), flags, 0o644).map(drop))
    }

    fn remove_directory(&self, path: &str) -> Result<(), Errno> {
        self.with(|cx| self.fs.rmdir(cx, path.as_bytes()))
    }

    fn remove_file(&self, path: &str) -> Result<(), Errno> {
        self.with(|cx| self.fs.unlink(cx, path.as_bytes()))
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), Errno> {
        self.with(|cx| self.fs.rename(cx, from.as_bytes(), to.as_bytes(), RenameFlags::empty()))
    }

    fn visit(&self, path: &str, visit: &mut dyn FnMut(&dyn Spot)) -> Result<(), Errno> {
        let at = At(self.with(|cx| self.fs.lookup(cx, path.as_bytes(), Follow::Yes))?);
        visit(&at);
        Ok(())
    }

    fn look(&self, path: &str) -> Result<u64, Errno> {
        self.with(|cx| self.fs.stat(cx, path.as_bytes(), Follow::Yes).map(|stat| stat.number))
    }

    fn shrink(&self, dentries: usize) -> usize {
        self.fs.shrink(dentries)
    }

    fn inodes(&self) -> u64 {
        self.fs.stats().inodes
    }
}

impl<L: LockSet<Native>> Spot for At<'_, L> {
    fn number(&self) -> u64 {
        self.0.inode_number()
    }

    fn path(&self) -> Result<String, Errno> {
        let fs = self.0.file_system();
        let root = fs.root();
        fs.d_path(&Context::new(&root, &root), &self.0).map(text)
    }

    fn working_directory(&self) -> Result<String, Errno> {
        let fs = self.0.file_system();
        let root = fs.root();
        fs.getcwd(&Context::new(&root, &self.0)).map(text)
    }

    fn parent(&self) -> Result<String, Errno> {
        At(self.0.file_system().dget_parent(&self.0)).path()
    }
}
