//! Our file system in memory, and possible replacements for it: the kernel's, a table of paths, a tree of paths.

use crate::load::names::{Question, all_paths};
use anyhow::{Context, Result, ensure};
use dashmap::DashMap;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};
use tempfile::TempDir;
use turnwise::platform::Native;
use turnwise_vfs::{Config, Context as Cx, Follow, LockSet, Metal, OpenFlags, Vfs};

/// Room for the paths here.
const PATH_BYTES: usize = 256;

type TreePath<L> = turnwise_vfs::Path<'static, Metal, L>;

/// What is at a path of our file system, with these locks.
pub struct Ours<L>(PhantomData<L>);

/// The same, where a look-up holds what it finds for a moment.
pub struct Holding<L>(PhantomData<L>);

/// The path of an object there.
pub struct OurPaths<L>(PhantomData<L>);

/// A path, and what is there.
pub struct Known<L: LockSet<Native>> {
    root: TreePath<L>,
    path: Vec<u8>,
    found: TreePath<L>,
    number: u64,
}

impl<L: LockSet<Native>> Known<L> {
    fn files() -> Result<Vfs<Metal, L>> {
        let fs = Vfs::new(Config { buckets_log2: 12, ..Config::default() });
        {
            let root = fs.root();
            let cx = Cx::new(&root, &root);
            for path in all_paths() {
                for (end, _) in path.match_indices('/').skip(1) {
                    match fs.mkdir(&cx, &path.as_bytes()[..end], 0o755) {
                        Ok(_) | Err(turnwise_vfs::Errno::EXIST) => {}
                        Err(errno) => return Err(errno.into()),
                    }
                }
                fs.open(&cx, path.as_bytes(), OpenFlags::CREATE | OpenFlags::WRONLY, 0o644)?;
            }
        }
        Ok(fs)
    }

    fn of(fs: &'static Vfs<Metal, L>, path: &str) -> Known<L> {
        let root = fs.root();
        let found = fs.lookup(&Cx::new(&root, &root), path.as_bytes(), Follow::Yes).expect("it was made");
        Known { root, path: path.into(), number: found.inode_number(), found }
    }
}

/// `$name` asks our file system, in this context, about something known.
macro_rules! ours {
    ($name:ident, |$fs:ident, $cx:ident, $known:ident| $ask:expr) => {
        impl<L: LockSet<Native>> Question for $name<L> {
            type Tree = Vfs<Metal, L>;
            type About = Known<L>;

            fn build() -> Result<Self::Tree> {
                Known::files()
            }

            fn about(fs: &'static Self::Tree, path: &str) -> Known<L> {
                Known::of(fs, path)
            }

            #[inline]
            fn ask($fs: &'static Self::Tree, $known: &Known<L>) -> bool {
                let $cx = Cx::new(&$known.root, &$known.root);
                $ask
            }
        }
    };
}

ours!(Ours, |fs, cx, known| fs.stat(&cx, &known.path, Follow::Yes).is_ok_and(|stat| stat.number == known.number));
ours!(Holding, |fs, cx, known| fs.lookup(&cx, &known.path, Follow::Yes).is_ok_and(|found| found == known.found));
ours!(OurPaths, |fs, cx, known| {
    let mut buffer = [0; PATH_BYTES];
    fs.d_path_into(&cx, &known.found, &mut buffer).is_ok_and(|path| path == known.path)
});

/// The kernel's tmpfs, by `stat(2)`: relative to an open directory, so that its paths have five components, too.
pub struct Tmpfs {
    top: OwnedFd,
    root: TempDir,
}

impl Question for Tmpfs {
    type Tree = Tmpfs;
    type About = (CString, u64);

    fn build() -> Result<Self> {
        let shm = Path::new("/dev/shm");
        let root = tempfile::Builder::new().prefix("turnwise-bench-").tempdir_in(shm);
        let root = root.context("cannot make a directory in /dev/shm, where Linux has a tmpfs")?;
        let top = OwnedFd::from(fs::File::open(root.path())?);
        ensure!(is_tmpfs(&top), "/dev/shm is not a tmpfs here: leave `tmpfs` out by naming the others with --lock");
        for (number, path) in all_paths().enumerate() {
            let path = root.path().join(&path[1..]);
            fs::create_dir_all(path.parent().unwrap_or(shm))?;
            fs::File::create(path)?.set_len(number as u64 + 1)?;
        }
        Ok(Tmpfs { top, root })
    }

    fn about(tree: &'static Self, path: &str) -> (CString, u64) {
        let size = fs::metadata(tree.root.path().join(&path[1..])).map_or(0, |file| file.len());
        (CString::new(&path[1..]).unwrap_or_default(), size)
    }

    #[inline]
    fn ask(tree: &'static Self, (path, size): &(CString, u64)) -> bool {
        // SAFETY: all bytes zero is a valid stat; the path ends in 0; the buffer is writable.
        unsafe {
            let mut about: libc::stat = std::mem::zeroed();
            let failed = libc::fstatat(tree.top.as_raw_fd(), path.as_ptr(), &raw mut about, 0);
            failed == 0 && about.st_size as u64 == *size && *size > 0
        }
    }
}

/// By `readlink(2)` of `/proc/self/fd/N`: the kernel's `d_path`, and the way to it through procfs.
pub struct TmpfsPaths;

impl Question for TmpfsPaths {
    type Tree = Tmpfs;
    type About = (OwnedFd, CString, PathBuf);

    fn build() -> Result<Tmpfs> {
        Tmpfs::build()
    }

    fn about(tree: &'static Tmpfs, path: &str) -> Self::About {
        let path = tree.root.path().join(&path[1..]);
        let file = OwnedFd::from(fs::File::open(&path).expect("it was made"));
        let link = format!("/proc/self/fd/{}", file.as_raw_fd());
        (file, CString::new(link).unwrap_or_default(), path)
    }

    #[inline]
    fn ask(_: &'static Tmpfs, (_file, link, path): &Self::About) -> bool {
        let mut buffer = [0; PATH_BYTES];
        // SAFETY: the path ends in 0; the buffer is writable and has this many bytes.
        let bytes = unsafe { libc::readlink(link.as_ptr(), buffer.as_mut_ptr().cast(), PATH_BYTES) };
        usize::try_from(bytes).is_ok_and(|bytes| buffer[..bytes] == *path.as_os_str().as_bytes())
    }
}

fn is_tmpfs(file: &OwnedFd) -> bool {
    // SAFETY: all bytes zero is a valid statfs; the buffer is writable.
    unsafe {
        let mut about: libc::statfs = std::mem::zeroed();
        libc::fstatfs(file.as_raw_fd(), &raw mut about) == 0 && about.f_type == libc::TMPFS_MAGIC
    }
}

/// A concurrent table of whole paths. It can neither rename a directory nor report where something is.
pub struct Table(DashMap<PathBuf, u64>);

impl Question for Table {
    type Tree = Table;
    type About = (PathBuf, u64);

    fn build() -> Result<Self> {
        Ok(Table(all_paths().map(PathBuf::from).zip(0..).collect()))
    }

    fn about(tree: &'static Self, path: &str) -> (PathBuf, u64) {
        let path = PathBuf::from(path);
        let number = tree.0.get(&path).map_or(u64::MAX, |number| *number);
        (path, number)
    }

    #[inline]
    fn ask(tree: &'static Self, (path, number): &(PathBuf, u64)) -> bool {
        tree.0.get(path).is_some_and(|found| *found == *number)
    }
}

/// A tree of whole paths under one readers-writer lock.
pub struct LockedTree(RwLock<BTreeMap<PathBuf, u64>>);

impl LockedTree {
    #[inline]
    fn get(&self, path: &Path) -> Option<u64> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(path).copied()
    }
}

impl Question for LockedTree {
    type Tree = LockedTree;
    type About = (PathBuf, u64);

    fn build() -> Result<Self> {
        Ok(LockedTree(RwLock::new(all_paths().map(PathBuf::from).zip(0..).collect())))
    }

    fn about(tree: &'static Self, path: &str) -> (PathBuf, u64) {
        let path = PathBuf::from(path);
        let number = tree.get(&path).unwrap_or(u64::MAX);
        (path, number)
    }

    #[inline]
    fn ask(tree: &'static Self, (path, number): &(PathBuf, u64)) -> bool {
        tree.get(path) == Some(*number)
    }
}
