//! A file system as the scenarios see it, on the locks of any kernel, in memory that makes a late use crash. Paths
//! begin at its root.

mod fence;

use fence::Fenced;
use turnwise::platform::Native;
use turnwise_vfs::locks::LockSet;
use turnwise_vfs::{Config, Context, Errno, Follow, OpenFlags, Path, Vfs};

/// A file system with these locks, few chains, and a cache that holds next to nothing.
pub(crate) struct FileSystem<L: LockSet<Native>> {
    pub(crate) fs: Box<Vfs<Fenced, L>>,
}

/// Where a name leads, as long as its place is kept.
pub(crate) type At<'a, L> = Path<'a, Fenced, L>;

impl<L: LockSet<Native>> Default for FileSystem<L> {
    fn default() -> Self {
        let config = Config { buckets_log2: 2, cache_bytes: 0, ..Config::default() };
        FileSystem { fs: Box::new(Vfs::new(config)) }
    }
}

impl<L: LockSet<Native>> FileSystem<L> {
    /// Works at the root.
    pub(crate) fn with<'a, R>(&'a self, work: impl FnOnce(&'a Vfs<Fenced, L>, &Context<'_, 'a, Fenced, L>) -> R) -> R {
        let root = self.fs.root();
        work(&self.fs, &Context::new(&root, &root))
    }

    /// Makes a file that is not there yet.
    pub(crate) fn make_file(&self, path: &str) -> Result<(), Errno> {
        let flags = OpenFlags::CREATE | OpenFlags::EXCL;
        self.with(|fs, cx| fs.open(cx, path.as_bytes(), flags, 0o644).map(drop))
    }

    pub(crate) fn rename(&self, from: &str, to: &str) -> Result<(), Errno> {
        self.with(|fs, cx| fs.rename(cx, from.as_bytes(), to.as_bytes()))
    }

    /// Finds a name, and stays there as long as its place is kept.
    pub(crate) fn find(&self, path: &str) -> Result<At<'_, L>, Errno> {
        self.with(|fs, cx| fs.lookup(cx, path.as_bytes(), Follow::Yes))
    }

    /// Returns the way from the root to a place.
    pub(crate) fn path_of<'a>(&'a self, place: &At<'a, L>) -> Result<Vec<u8>, Errno> {
        self.with(|fs, cx| fs.d_path(cx, place))
    }

    /// Returns which inode a name leads to, without staying there.
    pub(crate) fn look(&self, path: &str) -> Result<u64, Errno> {
        self.with(|fs, cx| fs.stat(cx, path.as_bytes(), Follow::Yes).map(|stat| stat.number))
    }
}
