//! A file system as the scenarios see it, on the locks of any kernel, in memory that makes a late use crash. Paths
//! begin at its root.

mod fence;

use fence::Fenced;
use turnwise::platform::Native;
use turnwise_vfs::locks::LockSet;
use turnwise_vfs::{Config, Context, Errno, Follow, OpenFlags, Path, Vfs};

/// A file system with these locks, few chains, and a cache that holds next to nothing.
pub(crate) struct FileSystem<L: LockSet<Native>> {
    fs: Box<Vfs<Fenced, L>>,
}

impl<L: LockSet<Native>> Default for FileSystem<L> {
    fn default() -> Self {
        let config = Config { buckets_log2: 2, cache_bytes: 0, ..Config::default() };
        FileSystem { fs: Box::new(Vfs::new(config)) }
    }
}

/// Where a thread is in a tree.
pub(crate) struct At<'a, L: LockSet<Native>>(Path<'a, Fenced, L>);

fn text(path: Vec<u8>) -> String {
    String::from_utf8_lossy(&path).into_owned()
}

impl<L: LockSet<Native>> FileSystem<L> {
    fn with<'a, R>(&'a self, work: impl FnOnce(&Context<'_, 'a, Fenced, L>) -> R) -> R {
        let root = self.fs.root();
        work(&Context::new(&root, &root))
    }

    pub(crate) fn make_directory(&self, path: &str) -> Result<(), Errno> {
        self.with(|cx| self.fs.mkdir(cx, path.as_bytes(), 0o755).map(drop))
    }

    /// Makes a file that is not there yet.
    pub(crate) fn make_file(&self, path: &str) -> Result<(), Errno> {
        let flags = OpenFlags::CREATE | OpenFlags::EXCL;
        self.with(|cx| self.fs.open(cx, path.as_bytes(), flags, 0o644).map(drop))
    }

    pub(crate) fn remove_file(&self, path: &str) -> Result<(), Errno> {
        self.with(|cx| self.fs.unlink(cx, path.as_bytes()))
    }

    pub(crate) fn rename(&self, from: &str, to: &str) -> Result<(), Errno> {
        self.with(|cx| self.fs.rename(cx, from.as_bytes(), to.as_bytes()))
    }

    /// Finds a name, and stays there as long as its place is kept.
    pub(crate) fn find(&self, path: &str) -> Result<At<'_, L>, Errno> {
        self.with(|cx| self.fs.lookup(cx, path.as_bytes(), Follow::Yes)).map(At)
    }

    /// Returns which inode a name leads to, without staying there.
    pub(crate) fn look(&self, path: &str) -> Result<u64, Errno> {
        self.with(|cx| self.fs.stat(cx, path.as_bytes(), Follow::Yes).map(|stat| stat.number))
    }

    /// Reclaims up to this many unused dentries; returns how many it did.
    pub(crate) fn shrink(&self, dentries: usize) -> usize {
        self.fs.shrink(dentries)
    }

    /// Returns the number of files and directories that there are, found or not.
    pub(crate) fn inodes(&self) -> u64 {
        self.fs.stats().inodes
    }
}

impl<L: LockSet<Native>> At<'_, L> {
    /// Returns which inode it is.
    pub(crate) fn number(&self) -> u64 {
        self.0.inode_number()
    }

    /// Returns the way from the root to here.
    pub(crate) fn path(&self) -> Result<String, Errno> {
        let fs = self.0.file_system();
        let root = fs.root();
        fs.d_path(&Context::new(&root, &root), &self.0).map(text)
    }

    /// Returns the way from the root to here, as a process with this working directory sees it.
    pub(crate) fn working_directory(&self) -> Result<String, Errno> {
        let fs = self.0.file_system();
        let root = fs.root();
        fs.getcwd(&Context::new(&root, &self.0)).map(text)
    }

    /// Returns the way to the parent, which a rename may exchange.
    pub(crate) fn parent(&self) -> Result<String, Errno> {
        At(self.0.file_system().dget_parent(&self.0)).path()
    }
}
