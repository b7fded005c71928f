//! The FUSE protocol on the file system.
//!
//! The kernel names inodes by their numbers and everything else by a directory's number and a name; it checks
//! permissions itself (`default_permissions`). Files need no handle: while one is open the kernel does not forget its
//! inode.

use super::convert::{attributes, errno, file_type, nanoseconds, nothing, set_time};
use super::counts::{Counts, Operation};
use super::nodes::Nodes;
use super::tree::{Node, Tree};
use fuser::*;
use std::cell::RefCell;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use turnwise::platform::Native;
use turnwise_vfs::LockSet;
use turnwise_vfs::errno::Errno as Error;
use turnwise_vfs::inode::{Kind, NAME_MAX, New, PAGE_BYTES, Seek, SetAttributes, Stat};

/// Bytes that are copied at a time.
const COPY_BYTES: usize = 128 * 1024;

/// No read requests more: the kernel's limit on pages in a request, which it may only raise to 256 MiB for all mounts.
const READ_BYTES: usize = 256 << 20;

/// What `statfs` reports where there is no limit.
const NO_LIMIT: u64 = 1 << 40;

/// The kernel reports late that it forgets a removed file, and only then its space is free. So a full file system is
/// retried this many times, after this time each.
const FULL_RETRIES: u32 = 5;
const FULL_PAUSE: Duration = Duration::from_millis(2);

/// Inode numbers are not given out twice.
const GENERATION: Generation = Generation(0);

thread_local! {
    /// What a read fills: as long as the longest one so far.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Sends an answer made of what was found, or the error.
macro_rules! answer {
    ($reply:ident, $found:expr, $value:pat => $answer:expr) => {
        match $found {
            Ok($value) => $answer,
            Err(error) => $reply.error(errno(error)),
        }
    };
}

/// A mounted file system.
pub(super) struct Server<L: LockSet<Native>> {
    tree: Tree<L>,
    nodes: Nodes<Node<L>>,
    counts: Arc<Counts>,
    /// How long the kernel may cache an answer.
    cache: Duration,
    /// Whether the kernel may keep written data to itself for a while.
    writeback: bool,
}

impl<L: LockSet<Native>> Server<L> {
    pub(super) fn new(tree: Tree<L>, counts: Arc<Counts>, cache: Duration, writeback: bool) -> Self {
        let nodes = Nodes::new();
        let root = tree.root();
        nodes.reported(INodeNo::ROOT.0, root);
        Server { tree, nodes, counts, cache, writeback }
    }

    /// Returns the node of an inode that the kernel asks about, which it can only do while it remembers it.
    fn node(&self, number: INodeNo) -> Result<Node<L>, Error> {
        self.nodes.get(number.0).ok_or(Error::STALE)
    }

    fn caches(&self) -> bool {
        !self.cache.is_zero()
    }

    /// Reports a node to the kernel.
    fn tell(&self, node: Node<L>) -> FileAttr {
        let stat = node.stat();
        self.nodes.reported(stat.number, node);
        attributes(&stat)
    }

    fn entry(&self, found: Result<Node<L>, Error>, reply: ReplyEntry) {
        answer!(reply, found, node => reply.entry(&self.cache, &self.tell(node), GENERATION));
    }

    fn make(&self, parent: INodeNo, name: &OsStr, new: &New<'_>) -> Result<Node<L>, Error> {
        let parent = self.node(parent)?;
        unless_full(|| self.tree.make(&parent, name.as_bytes(), new))
    }

    /// Writes all of it if possible: a kernel that writes back cached data does not retry.
    fn write_all(&self, node: &Node<L>, offset: u64, data: &[u8]) -> Result<usize, Error> {
        let mut written = 0;
        while written < data.len() {
            match unless_full(|| self.tree.writing(node)?.write(offset + written as u64, &data[written..])) {
                Ok(more) => written += more,
                Err(error) if written == 0 => return Err(error),
                Err(_) => break,
            }
        }
        Ok(written)
    }

    fn attr(&self, stat: Result<Stat, Error>, reply: ReplyAttr) {
        answer!(reply, stat, stat => reply.attr(&self.cache, &attributes(&stat)));
    }

    fn allocate(&self, ino: INodeNo, offset: u64, length: u64, mode: i32) -> Result<(), Error> {
        let node = self.node(ino)?;
        match mode {
            0 => unless_full(|| self.tree.writing(&node)?.allocate(offset, length, false)),
            libc::FALLOC_FL_KEEP_SIZE => unless_full(|| self.tree.writing(&node)?.allocate(offset, length, true)),
            mode if mode == libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE => {
                self.tree.writing(&node)?.punch_hole(offset, length)
            }
            _ => Err(Error::OPNOTSUPP),
        }
    }

    fn copy(&self, from: (INodeNo, u64), to: (INodeNo, u64), len: u64) -> Result<u32, Error> {
        let (source, target) = (self.node(from.0)?, self.node(to.0)?);
        let wanted = usize::try_from(len).unwrap_or(usize::MAX).min(COPY_BYTES);
        BUFFER.with_borrow_mut(|buffer| {
            let read = self.tree.reading(&source)?.read(from.1, sized(buffer, wanted))?;
            let written = if read == 0 { 0 } else { self.write_all(&target, to.1, &buffer[..read])? };
            Ok(written as u32)
        })
    }

    /// Returns directory entries from a cursor on, by name: enough to fill a page of the kernel's, and perhaps more.
    fn names(&self, directory: &Node<L>, cursor: u64) -> Result<Vec<(Vec<u8>, u64)>, Error> {
        const AT_A_TIME: usize = 64;
        let mut names = Vec::with_capacity(AT_A_TIME);
        self.tree.reading(directory)?.readdir(cursor, |entry| {
            names.push((entry.name.to_vec(), entry.next));
            names.len() < AT_A_TIME
        })?;
        Ok(names)
    }

    fn fill_plus(&self, ino: INodeNo, offset: u64, reply: &mut ReplyDirectoryPlus) -> Result<(), Error> {
        let directory = self.node(ino)?;
        let own = attributes(&directory.stat());
        let mut cursor = offset;
        // The kernel takes an empty answer for the end: entries that have disappeared must not make one.
        loop {
            let names = self.names(&directory, cursor)?;
            let Some((_, last)) = names.last() else { return Ok(()) };
            cursor = *last;
            if self.show_plus(&directory, &own, &names, reply) {
                return Ok(());
            }
        }
    }

    /// Shows what still exists and fits; returns whether it did, or ran out of room.
    fn show_plus(
        &self,
        directory: &Node<L>,
        own: &FileAttr,
        names: &[(Vec<u8>, u64)],
        reply: &mut ReplyDirectoryPlus,
    ) -> bool {
        let mut answered = false;
        for (name, next) in names {
            let next = *next;
            let shown = OsStr::from_bytes(name);
            // The kernel looks for the attributes of these two itself, and is not given them.
            if matches!(name.as_slice(), b"." | b"..") {
                if reply.add(own.ino, next, shown, &Duration::ZERO, own, GENERATION) {
                    return true;
                }
                answered = true;
                continue;
            }
            // Gone since we read the directory.
            let Ok(node) = directory.child(name) else { continue };
            let attributes = self.tell(node);
            if reply.add(attributes.ino, next, shown, &self.cache, &attributes, GENERATION) {
                self.nodes.forget(attributes.ino.0, 1);
                return true;
            }
            answered = true;
        }
        answered
    }
}

/// Returns the first `len` bytes of a buffer, which is extended if it is shorter.
fn sized(buffer: &mut Vec<u8>, len: usize) -> &mut [u8] {
    if buffer.len() < len {
        buffer.resize(len, 0);
    }
    &mut buffer[..len]
}

/// Retries for a while if there is no space.
fn unless_full<T>(mut attempt: impl FnMut() -> Result<T, Error>) -> Result<T, Error> {
    for _ in 0..FULL_RETRIES {
        match attempt() {
            Err(Error::NOSPC) => std::thread::sleep(FULL_PAUSE),
            done => return done,
        }
    }
    attempt()
}

fn empty(result: Result<(), Error>, reply: ReplyEmpty) {
    answer!(reply, result, () => reply.ok());
}

fn new_of<'a>(request: &Request, mode: u32, umask: u32) -> New<'a> {
    New {
        kind: Kind::File,
        permissions: mode & 0o7777 & !umask,
        uid: request.uid(),
        gid: request.gid(),
        device: 0,
        target: &[],
    }
}

impl<L: LockSet<Native>> Filesystem for Server<L> {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        let mut wanted = vec![
            InitFlags::FUSE_PARALLEL_DIROPS,
            InitFlags::FUSE_DO_READDIRPLUS,
            InitFlags::FUSE_READDIRPLUS_AUTO,
            InitFlags::FUSE_ASYNC_DIO,
            InitFlags::FUSE_CACHE_SYMLINKS,
        ];
        if self.caches() {
            wanted.extend([InitFlags::FUSE_NO_OPEN_SUPPORT, InitFlags::FUSE_NO_OPENDIR_SUPPORT]);
        }
        if self.writeback {
            wanted.push(InitFlags::FUSE_WRITEBACK_CACHE);
        }
        for flag in wanted {
            // An older kernel does without.
            _ = config.add_capabilities(flag);
        }
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        self.counts.add(Operation::Lookup);
        match self.node(parent).and_then(|directory| directory.child(name.as_bytes())) {
            Err(Error::NOENT) if self.caches() => reply.entry(&self.cache, &nothing(), GENERATION),
            found => self.entry(found, reply),
        }
    }

    fn forget(&self, _: &Request, ino: INodeNo, lookups: u64) {
        self.counts.add(Operation::Forget);
        if ino != INodeNo::ROOT {
            self.nodes.forget(ino.0, lookups);
        }
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        self.counts.add(Operation::GetAttributes);
        self.attr(self.node(ino).map(|node| node.stat()), reply);
    }

    fn setattr(
        &self,
        _: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        ctime: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        self.counts.add(Operation::SetAttributes);
        let wanted = SetAttributes {
            permissions: mode.map(|mode| mode & 0o7777),
            uid,
            gid,
            size,
            accessed: atime.map(set_time),
            modified: mtime.map(set_time),
            changed: ctime.map(nanoseconds),
        };
        let changed = self.node(ino).and_then(|node| {
            node.set_attributes(&wanted)?;
            Ok(node.stat())
        });
        self.attr(changed, reply);
    }

    fn readlink(&self, _: &Request, ino: INodeNo, reply: ReplyData) {
        self.counts.add(Operation::ReadLink);
        answer!(reply, self.node(ino).and_then(|node| Ok(node.readlink()?.to_vec())), target => reply.data(&target));
    }

    fn mknod(&self, of: &Request, parent: INodeNo, name: &OsStr, mode: u32, umask: u32, rdev: u32, reply: ReplyEntry) {
        self.counts.add(Operation::MakeNode);
        let made = match Kind::of_mode(mode) {
            None | Some(Kind::Directory | Kind::Symlink) => Err(Error::INVAL),
            Some(kind) => self.make(parent, name, &New { kind, device: rdev.into(), ..new_of(of, mode, umask) }),
        };
        self.entry(made, reply);
    }

    fn mkdir(&self, of: &Request, parent: INodeNo, name: &OsStr, mode: u32, umask: u32, reply: ReplyEntry) {
        self.counts.add(Operation::MakeDirectory);
        let new = New { kind: Kind::Directory, ..new_of(of, mode, umask) };
        self.entry(self.make(parent, name, &new), reply);
    }

    fn symlink(&self, of: &Request, parent: INodeNo, name: &OsStr, target: &Path, reply: ReplyEntry) {
        self.counts.add(Operation::Symlink);
        let target = target.as_os_str().as_bytes();
        let new = New { kind: Kind::Symlink, target, ..new_of(of, 0o777, 0) };
        self.entry(self.make(parent, name, &new), reply);
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.counts.add(Operation::Unlink);
        empty(self.node(parent).and_then(|directory| self.tree.unlink(&directory, name.as_bytes())), reply);
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        self.counts.add(Operation::RemoveDirectory);
        empty(self.node(parent).and_then(|directory| self.tree.rmdir(&directory, name.as_bytes())), reply);
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        self.counts.add(Operation::Rename);
        let renamed = self.node(parent).and_then(|from| {
            let to = self.node(new_parent)?;
            self.tree.rename((&from, name.as_bytes()), (&to, new_name.as_bytes()), flags.bits())
        });
        empty(renamed, reply);
    }

    fn link(&self, _: &Request, ino: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        self.counts.add(Operation::Link);
        let linked = self.node(ino).and_then(|node| {
            self.tree.link(&node, &self.node(parent)?, name.as_bytes())?;
            Ok(node)
        });
        self.entry(linked, reply);
    }

    fn create(
        &self,
        of: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        self.counts.add(Operation::Create);
        let made = match self.make(parent, name, &new_of(of, mode, umask)) {
            // Another process made it since the kernel looked.
            Err(Error::EXIST) if flags & libc::O_EXCL == 0 => {
                self.node(parent).and_then(|directory| directory.child(name.as_bytes()))
            }
            made => made,
        };
        match made {
            Ok(node) => {
                reply.created(&self.cache, &self.tell(node), GENERATION, FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE)
            }
            Err(error) => reply.error(errno(error)),
        }
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        self.counts.add(Operation::Open);
        // "Never ask again": the kernel opens and closes files itself from now on.
        if self.caches() {
            return reply.error(fuser::Errno::ENOSYS);
        }
        reply.opened(FileHandle(0), FopenFlags::empty());
    }

    fn read(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        self.counts.add(Operation::Read);
        if size as usize > READ_BYTES {
            return reply.error(fuser::Errno::EINVAL);
        }
        BUFFER.with_borrow_mut(|buffer| {
            let buffer = sized(buffer, size as usize);
            match self.node(ino).and_then(|node| self.tree.reading(&node)?.read(offset, buffer)) {
                Ok(read) => {
                    self.counts.read(read);
                    reply.data(&buffer[..read]);
                }
                Err(error) => reply.error(errno(error)),
            }
        });
    }

    fn write(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        self.counts.add(Operation::Write);
        match self.node(ino).and_then(|node| self.write_all(&node, offset, data)) {
            Ok(written) => {
                self.counts.written(written);
                reply.written(written as u32);
            }
            Err(error) => reply.error(errno(error)),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        self.counts.add(Operation::Flush);
        // "Never ask again": what was written is where it belongs.
        reply.error(fuser::Errno::ENOSYS);
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.counts.add(Operation::Release);
        reply.ok();
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.counts.add(Operation::Sync);
        reply.ok();
    }

    fn fsyncdir(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.counts.add(Operation::Sync);
        reply.ok();
    }

    fn opendir(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        self.counts.add(Operation::OpenDirectory);
        if self.caches() {
            return reply.error(fuser::Errno::ENOSYS);
        }
        reply.opened(FileHandle(0), FopenFlags::empty());
    }

    fn readdir(&self, _: &Request, ino: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        self.counts.add(Operation::ReadDirectory);
        let filled = self.node(ino).and_then(|directory| {
            self.tree.reading(&directory)?.readdir(offset, |entry| {
                let name = OsStr::from_bytes(entry.name);
                !reply.add(INodeNo(entry.number), entry.next, file_type(entry.kind), name)
            })
        });
        answer!(reply, filled, () => reply.ok());
    }

    fn readdirplus(&self, _: &Request, ino: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectoryPlus) {
        self.counts.add(Operation::ReadDirectoryPlus);
        answer!(reply, self.fill_plus(ino, offset, &mut reply), () => reply.ok());
    }

    fn releasedir(&self, _: &Request, _: INodeNo, _: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        self.counts.add(Operation::ReleaseDirectory);
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        self.counts.add(Operation::StatFs);
        let usage = self.tree.usage();
        let (pages, inodes) = (usage.pages.unwrap_or(NO_LIMIT), usage.inodes.unwrap_or(NO_LIMIT));
        let free = pages.saturating_sub(usage.pages_used);
        let inodes_free = inodes.saturating_sub(usage.inodes_used);
        let page = PAGE_BYTES as u32;
        reply.statfs(pages, free, free, inodes, inodes_free, page, NAME_MAX as u32, page);
    }

    fn fallocate(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        self.counts.add(Operation::Allocate);
        empty(self.allocate(ino, offset, length, mode), reply);
    }

    fn lseek(&self, _: &Request, ino: INodeNo, _: FileHandle, offset: i64, whence: i32, reply: ReplyLseek) {
        self.counts.add(Operation::Seek);
        let to = match whence {
            libc::SEEK_DATA => Ok(Seek::Data),
            libc::SEEK_HOLE => Ok(Seek::Hole),
            _ => Err(Error::INVAL),
        };
        let found = to.and_then(|to| {
            let offset = u64::try_from(offset).map_err(|_| Error::NXIO)?;
            self.tree.reading(&self.node(ino)?)?.seek(offset, to)
        });
        answer!(reply, found, offset => reply.offset(offset.cast_signed()));
    }

    fn copy_file_range(
        &self,
        _: &Request,
        ino_in: INodeNo,
        _: FileHandle,
        offset_in: u64,
        ino_out: INodeNo,
        _: FileHandle,
        offset_out: u64,
        len: u64,
        _: CopyFileRangeFlags,
        reply: ReplyWrite,
    ) {
        self.counts.add(Operation::CopyRange);
        answer!(reply, self.copy((ino_in, offset_in), (ino_out, offset_out), len), copied => reply.written(copied));
    }
}
