//! The real file system, driven by the same steps.

use crate::steps::{Gave, Opening, Outcome, SLOTS, Seen, Step};
use turnwise::platform::Native;
use turnwise_vfs::Errno;
use turnwise_vfs::inode::{Kind, Stat};
use turnwise_vfs::{Context, File, Follow, LockSet, Metal, OpenFlags, Path, Vfs};

pub(crate) type RealPath<'fs, L> = Path<'fs, Metal, L>;

/// A process with a working directory and open files.
pub(crate) struct Real<'fs, L: LockSet<Native>> {
    pub(crate) vfs: &'fs Vfs<Metal, L>,
    root: RealPath<'fs, L>,
    cwd: RealPath<'fs, L>,
    slots: [Option<File<'fs, Metal, L>>; SLOTS],
}

/// Converts what `stat` returned into the reference's form.
pub(crate) fn seen(stat: &Stat) -> Seen {
    Seen {
        kind: stat.kind,
        permissions: stat.permissions,
        links: stat.links,
        size: if stat.kind == Kind::Directory { 0 } else { stat.size },
        blocks: stat.blocks,
    }
}

impl<'fs, L: LockSet<Native>> Real<'fs, L> {
    pub(crate) fn new(vfs: &'fs Vfs<Metal, L>) -> Self {
        Real { vfs, root: vfs.root(), cwd: vfs.root(), slots: Default::default() }
    }

    pub(crate) fn context(&self) -> Context<'_, 'fs, Metal, L> {
        Context::new(&self.root, &self.cwd)
    }

    pub(crate) fn take(&mut self, step: &Step) -> Outcome {
        let cx = self.context();
        match step {
            Step::Stat { path, follow } => {
                self.vfs.stat(&cx, path, following(*follow)).map(|stat| Gave::Stat(seen(&stat)))
            }
            Step::Mkdir { path, mode } => nothing(self.vfs.mkdir(&cx, path, *mode)),
            Step::Mkfifo { path, mode } => nothing(self.vfs.mkfifo(&cx, path, *mode)),
            Step::Rmdir { path } => nothing(self.vfs.rmdir(&cx, path)),
            Step::Unlink { path } => nothing(self.vfs.unlink(&cx, path)),
            Step::Link { old, new } => nothing(self.vfs.link(&cx, old, new)),
            Step::Symlink { target, path } => nothing(self.vfs.symlink(&cx, target, path)),
            Step::Rename { old, new } => nothing(self.vfs.rename(&cx, old, new)),
            Step::Getcwd => self.vfs.getcwd(&cx).map(Gave::Bytes),
            Step::DPath { path } => {
                let path = self.vfs.lookup(&cx, path, Follow::No)?;
                self.vfs.d_path(&cx, &path).map(Gave::Bytes)
            }
            Step::Shrink { dentries } => {
                self.vfs.shrink(*dentries);
                Ok(Gave::Nothing)
            }
            Step::Chdir { path } => self.chdir(path),
            of_handle => self.on_handle(of_handle),
        }
    }

    fn chdir(&mut self, path: &[u8]) -> Outcome {
        let to = self.vfs.lookup(&self.context(), path, Follow::Yes)?;
        if to.stat().kind != Kind::Directory {
            return Err(Errno::NOTDIR);
        }
        self.cwd = to;
        Ok(Gave::Nothing)
    }

    fn on_handle(&mut self, step: &Step) -> Outcome {
        match step {
            Step::Open { path, how, slot } => {
                let file = self.vfs.open(&self.context(), path, opening(*how), 0o644)?;
                self.slots[*slot] = Some(file);
                Ok(Gave::Nothing)
            }
            Step::Close { slot } => {
                self.slots[*slot] = None;
                Ok(Gave::Nothing)
            }
            Step::Write { slot, offset, len, fill } => {
                self.file(*slot)?.write(*offset, &vec![*fill; *len]).map(Gave::Count)
            }
            Step::Read { slot, offset, len } => {
                let mut data = vec![0xee; *len];
                let read = self.file(*slot)?.read(*offset, &mut data)?;
                data.truncate(read);
                Ok(Gave::Bytes(data))
            }
            Step::List { slot } => self.list(self.file(*slot)?),
            Step::OpenPath { slot } => self.vfs.d_path(&self.context(), self.file(*slot)?.path()).map(Gave::Bytes),
            _ => unreachable!("{step:?} has no handle"),
        }
    }

    fn file(&self, slot: usize) -> Result<&File<'fs, Metal, L>, Errno> {
        self.slots[slot].as_ref().ok_or(Errno::BADF)
    }

    /// Lists all entries, three at a time.
    fn list(&self, directory: &File<'fs, Metal, L>) -> Outcome {
        let (mut names, mut cursor) = (Vec::new(), 0);
        loop {
            let before = names.len();
            directory.readdir(cursor, |entry| {
                names.push((entry.name.to_vec(), entry.kind));
                cursor = entry.next;
                names.len() < before + 3
            })?;
            if names.len() < before + 3 {
                break;
            }
        }
        names[2..].sort();
        Ok(Gave::Names(names))
    }

    /// Returns everything below the root, by path.
    pub(crate) fn names_in(&self, path: &[u8]) -> Vec<Vec<u8>> {
        let context = Context::new(&self.root, &self.root);
        let directory = self.vfs.open(&context, path, OpenFlags::RDONLY, 0).expect("a directory that was listed");
        let Ok(Gave::Names(names)) = self.list(&directory) else { panic!("{path:?} cannot be listed") };
        names.into_iter().skip(2).map(|(name, _)| name).collect()
    }

    pub(crate) fn at(&self, path: &[u8]) -> Result<RealPath<'fs, L>, Errno> {
        self.vfs.lookup(&Context::new(&self.root, &self.root), path, Follow::No)
    }

    pub(crate) fn content(&self, path: &[u8]) -> Vec<u8> {
        let context = Context::new(&self.root, &self.root);
        let file = self.vfs.open(&context, path, OpenFlags::RDONLY, 0).expect("a file that was listed");
        let mut data = vec![0; file.stat().size as usize];
        assert_eq!(file.read(0, &mut data), Ok(data.len()));
        data
    }

    pub(crate) fn d_path(&self, path: &RealPath<'fs, L>) -> Vec<u8> {
        self.vfs.d_path(&Context::new(&self.root, &self.root), path).expect("a path that is short enough")
    }

    /// Closes everything and goes home.
    pub(crate) fn let_go(&mut self) {
        self.slots = Default::default();
        self.cwd = self.vfs.root();
    }
}

fn nothing<T>(result: Result<T, Errno>) -> Outcome {
    result.map(|_| Gave::Nothing)
}

fn following(follow: bool) -> Follow {
    if follow { Follow::Yes } else { Follow::No }
}

fn opening(how: Opening) -> OpenFlags {
    let mut flags = if how.write { OpenFlags::RDWR } else { OpenFlags::RDONLY };
    for (set, flag) in
        [(how.create, OpenFlags::CREATE), (how.exclusive, OpenFlags::EXCL), (how.truncate, OpenFlags::TRUNC)]
    {
        flags.set(flag, set);
    }
    flags
}
