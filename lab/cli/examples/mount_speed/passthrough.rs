//! The baseline: a minimal file system that passes every request on to a directory of another one.
//!
//! As small as it can be and still serve the load: a table of open descriptors by inode number, and one system call or
//! two for each request.

use fuser::*;
use rustix::fd::OwnedFd;
use rustix::fs::{self, AtFlags, Mode, OFlags};
use rustix::io::Errno as Error;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

type Node = Arc<OwnedFd>;

/// The directory that everything is passed on to.
pub(crate) struct Passthrough {
    nodes: Mutex<HashMap<u64, (Node, u64)>>,
    cache: Duration,
}

impl Passthrough {
    pub(crate) fn new(below: &Path, cache: Duration) -> anyhow::Result<Self> {
        let root = fs::open(below, OFlags::PATH | OFlags::DIRECTORY, Mode::empty())?;
        Ok(Passthrough { nodes: Mutex::new(HashMap::from([(INodeNo::ROOT.0, (Arc::new(root), 1))])), cache })
    }

    fn node(&self, number: INodeNo) -> Result<Node, Error> {
        let nodes = self.nodes.lock().expect("nobody panics");
        nodes.get(&number.0).map(|(node, _)| Arc::clone(node)).ok_or(Error::STALE)
    }

    fn tell(&self, parent: &OwnedFd, name: &OsStr) -> Result<FileAttr, Error> {
        let node = fs::openat(parent, name, OFlags::PATH | OFlags::NOFOLLOW, Mode::empty())?;
        let attributes = attributes(&fs::statat(&node, "", AtFlags::EMPTY_PATH)?);
        let mut nodes = self.nodes.lock().expect("nobody panics");
        nodes.entry(attributes.ino.0).or_insert_with(|| (Arc::new(node), 0)).1 += 1;
        Ok(attributes)
    }

    fn reopen(&self, number: INodeNo, flags: i32) -> Result<OwnedFd, Error> {
        use std::os::fd::AsRawFd;
        let node = self.node(number)?;
        let flags = OFlags::from_bits_retain(flags as u32) & !(OFlags::NOFOLLOW | OFlags::CREATE);
        fs::open(format!("/proc/self/fd/{}", node.as_raw_fd()), flags, Mode::empty())
    }
}

fn time(seconds: i64, ns: i64) -> SystemTime {
    UNIX_EPOCH + Duration::new(seconds.unsigned_abs(), ns as u32)
}

fn attributes(stat: &fs::Stat) -> FileAttr {
    let kind = match fs::FileType::from_raw_mode(stat.st_mode) {
        fs::FileType::Directory => FileType::Directory,
        fs::FileType::Symlink => FileType::Symlink,
        _ => FileType::RegularFile,
    };
    FileAttr {
        ino: INodeNo(stat.st_ino),
        size: stat.st_size.unsigned_abs(),
        blocks: stat.st_blocks.unsigned_abs(),
        atime: time(stat.st_atime, stat.st_atime_nsec as i64),
        mtime: time(stat.st_mtime, stat.st_mtime_nsec as i64),
        ctime: time(stat.st_ctime, stat.st_ctime_nsec as i64),
        crtime: UNIX_EPOCH,
        kind,
        perm: (stat.st_mode & 0o7777) as u16,
        nlink: stat.st_nlink as u32,
        uid: stat.st_uid,
        gid: stat.st_gid,
        rdev: stat.st_rdev as u32,
        blksize: 4096,
        flags: 0,
    }
}

fn errno(error: Error) -> Errno {
    Errno::from_i32(error.raw_os_error())
}

fn handle(file: OwnedFd) -> FileHandle {
    use std::os::fd::IntoRawFd;
    FileHandle(u64::from(file.into_raw_fd().unsigned_abs()))
}

/// Returns the file of a handle, which stays open.
fn borrowed(handle: FileHandle) -> rustix::fd::BorrowedFd<'static> {
    // SAFETY: a handle is a descriptor of ours that is open until the kernel releases it.
    unsafe { rustix::fd::BorrowedFd::borrow_raw(handle.0 as i32) }
}

impl Filesystem for Passthrough {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.node(parent).and_then(|parent| self.tell(&parent, name)) {
            Ok(attributes) => reply.entry(&self.cache, &attributes, Generation(0)),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn forget(&self, _: &Request, ino: INodeNo, lookups: u64) {
        let mut nodes = self.nodes.lock().expect("nobody panics");
        if let Some((_, known)) = nodes.get_mut(&ino.0).filter(|_| ino != INodeNo::ROOT) {
            *known -= lookups.min(*known);
            if *known == 0 {
                nodes.remove(&ino.0);
            }
        }
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.node(ino).and_then(|node| fs::statat(&node, "", AtFlags::EMPTY_PATH)) {
            Ok(stat) => {
                let ino = if ino == INodeNo::ROOT { ino } else { INodeNo(stat.st_ino) };
                reply.attr(&self.cache, &FileAttr { ino, ..attributes(&stat) });
            }
            Err(error) => reply.error(errno(error)),
        }
    }

    fn mkdir(&self, _: &Request, parent: INodeNo, name: &OsStr, mode: u32, umask: u32, reply: ReplyEntry) {
        let made = self.node(parent).and_then(|parent| {
            fs::mkdirat(&parent, name, Mode::from_raw_mode(mode & !umask))?;
            self.tell(&parent, name)
        });
        match made {
            Ok(attributes) => reply.entry(&self.cache, &attributes, Generation(0)),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        match self.node(parent).and_then(|parent| fs::unlinkat(&parent, name, AtFlags::empty())) {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn create(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let made = self.node(parent).and_then(|parent| {
            let flags = OFlags::from_bits_retain(flags as u32) | OFlags::CREATE;
            let file = fs::openat(&parent, name, flags & !OFlags::DIRECT, Mode::from_raw_mode(mode & !umask))?;
            Ok((self.tell(&parent, name)?, file))
        });
        match made {
            Ok((attributes, file)) => {
                reply.created(&self.cache, &attributes, Generation(0), handle(file), FopenFlags::empty());
            }
            Err(error) => reply.error(errno(error)),
        }
    }

    fn open(&self, _: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        match self.reopen(ino, flags.0 & !libc::O_DIRECT) {
            Ok(file) => reply.opened(handle(file), FopenFlags::empty()),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let mut buffer = vec![0; size as usize];
        match rustix::io::pread(borrowed(fh), &mut buffer, offset) {
            Ok(read) => reply.data(&buffer[..read]),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match rustix::io::pwrite(borrowed(fh), data, offset) {
            Ok(written) => reply.written(written as u32),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        fh: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        // SAFETY: the kernel releases a handle once; it is no longer in use.
        unsafe { rustix::io::close(fh.0 as i32) };
        reply.ok();
    }
}
