//! The simplest possible file system: a table of nodes, directories as maps from names to nodes, no caches, no locks,
//! one thread. Its results are right by definition; they are those of Linux's tmpfs for root.

use crate::resolve::{End, Last};
use crate::steps::{Gave, Opening, Outcome, SLOTS, Seen, Step};
use std::collections::{BTreeMap, BTreeSet};
use turnwise_vfs::Errno;
use turnwise_vfs::inode::Kind;

pub(crate) const PAGE: usize = 4096;

/// A node's place in the table.
pub(crate) type Id = usize;

pub(crate) const ROOT: Id = 0;

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) permissions: u32,
    /// Names; of a directory 0 or 1, and the root has one.
    pub(crate) names: u32,
    pub(crate) entries: BTreeMap<Vec<u8>, Id>,
    /// Of a directory.
    pub(crate) parent: Id,
    /// Of a file its bytes, of a symbolic link where it leads.
    pub(crate) data: Vec<u8>,
    /// Of a file: pages that hold data.
    pub(crate) pages: BTreeSet<usize>,
}

/// An open file.
#[derive(Clone, Debug)]
pub(crate) struct Handle {
    pub(crate) node: Id,
    pub(crate) write: bool,
    /// The name it was opened by: the directory and the name there, followed through renames.
    pub(crate) name: Option<(Id, Vec<u8>)>,
    /// The directory that this name is, or was, in: an open file keeps it.
    pub(crate) keeps: Id,
}

pub(crate) struct Reference {
    pub(crate) nodes: BTreeMap<Id, Node>,
    next: Id,
    pub(crate) cwd: Id,
    pub(crate) slots: [Option<Handle>; SLOTS],
    max_pages: usize,
}

impl Reference {
    pub(crate) fn new(max_pages: usize) -> Self {
        let root = Node::new(Kind::Directory, 0o755, 0, ROOT);
        Reference {
            nodes: BTreeMap::from([(ROOT, Node { names: 1, ..root })]),
            next: 1,
            cwd: ROOT,
            slots: Default::default(),
            max_pages,
        }
    }

    /// Does the step, and forgets what can no longer be reached.
    pub(crate) fn take(&mut self, step: &Step) -> Outcome {
        let outcome = self.dispatch(step);
        self.collect();
        outcome
    }

    fn dispatch(&mut self, step: &Step) -> Outcome {
        match step {
            Step::Stat { path, follow } => self.end(path, *follow).map(|end| Gave::Stat(self.seen(end.node))),
            Step::Mkdir { path, mode } => self.make(path, Kind::Directory, *mode, &[]),
            Step::Mkfifo { path, mode } => self.make(path, Kind::Fifo, *mode, &[]),
            Step::Symlink { target, path } => match target.len() {
                0 => Err(Errno::NOENT),
                4096.. => Err(Errno::NAMETOOLONG),
                _ => self.make(path, Kind::Symlink, 0o777, target),
            },
            Step::Rmdir { path } => self.rmdir(path),
            Step::Unlink { path } => self.unlink(path),
            Step::Link { old, new } => self.link(old, new),
            Step::Rename { old, new } => self.rename(old, new),
            Step::Chdir { path } => {
                let end = self.end(path, true)?;
                if self.nodes[&end.node].kind != Kind::Directory {
                    return Err(Errno::NOTDIR);
                }
                self.cwd = end.node;
                Ok(Gave::Nothing)
            }
            Step::Getcwd => self.getcwd(),
            Step::DPath { path } => {
                let end = self.end(path, false)?;
                Ok(Gave::Bytes(self.path_of(end.node, end.name)))
            }
            Step::Shrink { .. } => Ok(Gave::Nothing),
            of_handle => self.on_handle(of_handle),
        }
    }

    fn on_handle(&mut self, step: &Step) -> Outcome {
        match step {
            Step::Open { path, how, slot } => self.open(path, *how, *slot),
            Step::Close { slot } => {
                self.slots[*slot] = None;
                Ok(Gave::Nothing)
            }
            Step::Write { slot, offset, len, fill } => self.write(*slot, *offset as usize, &vec![*fill; *len]),
            Step::Read { slot, offset, len } => {
                let node = &self.nodes[&self.handle(*slot)?.node];
                if node.kind == Kind::Directory {
                    return Err(Errno::ISDIR);
                }
                let from = (*offset as usize).min(node.data.len());
                Ok(Gave::Bytes(node.data[from..(from + len).min(node.data.len())].to_vec()))
            }
            Step::List { slot } => self.list(*slot),
            Step::OpenPath { slot } => {
                let handle = self.handle(*slot)?;
                Ok(Gave::Bytes(self.path_of(handle.node, handle.name)))
            }
            _ => unreachable!("{step:?} has no handle"),
        }
    }

    pub(crate) fn node(&mut self, id: Id) -> &mut Node {
        self.nodes.get_mut(&id).expect("a node that something points to")
    }

    /// Returns the handle of a slot; of a closed one, the error for which the comparison skips the step.
    fn handle(&self, slot: usize) -> Result<Handle, Errno> {
        self.slots[slot].clone().ok_or(Errno::BADF)
    }

    fn make(&mut self, path: &[u8], kind: Kind, mode: u32, target: &[u8]) -> Outcome {
        let (directory, last) = self.parent(path)?;
        let Last::Name { name, slash } = last else { return Err(Errno::EXIST) };
        if self.nodes[&directory].entries.contains_key(&name) {
            return Err(Errno::EXIST);
        }
        if slash && kind != Kind::Directory {
            return Err(Errno::NOENT);
        }
        self.add(directory, name, kind, mode, target)?;
        Ok(Gave::Nothing)
    }

    fn add(&mut self, directory: Id, name: Vec<u8>, kind: Kind, mode: u32, target: &[u8]) -> Result<Id, Errno> {
        if self.nodes[&directory].names == 0 {
            return Err(Errno::NOENT);
        }
        let mut node = Node::new(kind, mode, 1, directory);
        node.data = target.to_vec();
        let id = self.next;
        self.next += 1;
        self.nodes.insert(id, node);
        self.node(directory).entries.insert(name, id);
        Ok(id)
    }

    fn rmdir(&mut self, path: &[u8]) -> Outcome {
        let (directory, last) = self.parent(path)?;
        let name = match last {
            Last::Name { name, .. } => name,
            Last::Dot => return Err(Errno::INVAL),
            Last::DotDot => return Err(Errno::NOTEMPTY),
        };
        let victim = *self.nodes[&directory].entries.get(&name).ok_or(Errno::NOENT)?;
        match &self.nodes[&victim] {
            node if node.kind != Kind::Directory => return Err(Errno::NOTDIR),
            node if !node.entries.is_empty() => return Err(Errno::NOTEMPTY),
            _ => {}
        }
        self.detach(directory, &name);
        Ok(Gave::Nothing)
    }

    fn unlink(&mut self, path: &[u8]) -> Outcome {
        let (directory, last) = self.parent(path)?;
        let Last::Name { name, slash } = last else { return Err(Errno::ISDIR) };
        let victim = *self.nodes[&directory].entries.get(&name).ok_or(Errno::NOENT)?;
        match self.nodes[&victim].kind {
            Kind::Directory => return Err(Errno::ISDIR),
            _ if slash => return Err(Errno::NOTDIR),
            _ => {}
        }
        self.detach(directory, &name);
        Ok(Gave::Nothing)
    }

    /// Takes a name away, also from open files that were opened by it.
    fn detach(&mut self, directory: Id, name: &[u8]) -> Id {
        let id = self.node(directory).entries.remove(name).expect("the caller found it");
        self.node(id).names -= 1;
        for handle in self.slots.iter_mut().flatten() {
            if handle.name.as_ref().is_some_and(|(at, by)| *at == directory && by == name) {
                handle.name = None;
            }
        }
        id
    }

    fn link(&mut self, old: &[u8], new: &[u8]) -> Outcome {
        let id = self.end(old, false)?.node;
        let (directory, last) = self.parent(new)?;
        let Last::Name { name, slash } = last else { return Err(Errno::EXIST) };
        if self.nodes[&directory].entries.contains_key(&name) {
            return Err(Errno::EXIST);
        }
        if slash || self.nodes[&directory].names == 0 {
            return Err(Errno::NOENT);
        }
        match &self.nodes[&id] {
            node if node.kind == Kind::Directory => return Err(Errno::PERM),
            node if node.names == 0 => return Err(Errno::NOENT),
            _ => {}
        }
        self.node(id).names += 1;
        self.node(directory).entries.insert(name, id);
        Ok(Gave::Nothing)
    }

    fn rename(&mut self, old: &[u8], new: &[u8]) -> Outcome {
        let (from, old_last) = self.parent(old)?;
        let (to, new_last) = self.parent(new)?;
        let Last::Name { name: old_name, slash: old_slash } = old_last else { return Err(Errno::BUSY) };
        let Last::Name { name: new_name, slash: new_slash } = new_last else { return Err(Errno::BUSY) };
        let moved = *self.nodes[&from].entries.get(&old_name).ok_or(Errno::NOENT)?;
        let target = self.nodes[&to].entries.get(&new_name).copied();
        let is_directory = |id: Id| self.nodes[&id].kind == Kind::Directory;
        if !is_directory(moved) && (old_slash || new_slash) {
            return Err(Errno::NOTDIR);
        }
        if self.is_above(moved, to) {
            return Err(Errno::INVAL);
        }
        if target.is_some_and(|target| self.is_above(target, from)) {
            return Err(Errno::NOTEMPTY);
        }
        match target {
            Some(target) if target == moved => return Ok(Gave::Nothing),
            Some(target) => match (is_directory(moved), is_directory(target)) {
                (true, false) => return Err(Errno::NOTDIR),
                (false, true) => return Err(Errno::ISDIR),
                (true, true) if !self.nodes[&target].entries.is_empty() => return Err(Errno::NOTEMPTY),
                _ => drop(self.detach(to, &new_name)),
            },
            None if self.nodes[&to].names == 0 => return Err(Errno::NOENT),
            None => {}
        }
        self.node(from).entries.remove(&old_name);
        self.node(to).entries.insert(new_name.clone(), moved);
        self.node(moved).parent = to;
        self.names_moved((from, old_name), (to, new_name));
        Ok(Gave::Nothing)
    }

    /// Updates open files whose name moved: they are then open by the new one.
    fn names_moved(&mut self, from: (Id, Vec<u8>), to: (Id, Vec<u8>)) {
        for handle in self.slots.iter_mut().flatten().filter(|handle| handle.name.as_ref() == Some(&from)) {
            (handle.name, handle.keeps) = (Some(to.clone()), to.0);
        }
    }

    fn is_above(&self, upper: Id, mut lower: Id) -> bool {
        loop {
            if lower == upper {
                return true;
            }
            let parent = self.nodes[&lower].parent;
            if parent == lower {
                return false;
            }
            lower = parent;
        }
    }

    fn write(&mut self, slot: usize, offset: usize, data: &[u8]) -> Outcome {
        let handle = self.handle(slot)?;
        if !handle.write {
            return Err(Errno::BADF);
        }
        let used: usize = self.nodes.values().map(|node| node.pages.len()).sum();
        let mut left = self.max_pages - used;
        let node = self.node(handle.node);
        let mut written = 0;
        while written < data.len() {
            let at = offset + written;
            let page = at / PAGE;
            if !node.pages.contains(&page) {
                if left == 0 {
                    break;
                }
                left -= 1;
                node.pages.insert(page);
            }
            let len = (PAGE - at % PAGE).min(data.len() - written);
            node.data.resize(node.data.len().max(at + len), 0);
            node.data[at..at + len].copy_from_slice(&data[written..][..len]);
            written += len;
        }
        if written == 0 && !data.is_empty() { Err(Errno::NOSPC) } else { Ok(Gave::Count(written)) }
    }

    fn list(&self, slot: usize) -> Outcome {
        let node = &self.nodes[&self.handle(slot)?.node];
        if node.kind != Kind::Directory {
            return Err(Errno::NOTDIR);
        }
        if node.names == 0 {
            return Err(Errno::NOENT);
        }
        let dots = [b".".to_vec(), b"..".to_vec()].map(|dots| (dots, Kind::Directory));
        let entries = node.entries.iter().map(|(name, id)| (name.clone(), self.nodes[id].kind));
        Ok(Gave::Names(dots.into_iter().chain(entries).collect()))
    }

    fn getcwd(&self) -> Outcome {
        if !self.is_reachable(self.cwd) {
            return Err(Errno::NOENT);
        }
        Ok(Gave::Bytes(self.path_of(self.cwd, None)))
    }

    fn is_reachable(&self, directory: Id) -> bool {
        self.nodes[&directory].names > 0
    }

    pub(crate) fn seen(&self, id: Id) -> Seen {
        let node = &self.nodes[&id];
        let below = node.entries.values().filter(|child| self.nodes[child].kind == Kind::Directory).count();
        let links = match node.kind {
            Kind::Directory if node.names == 0 => 0,
            Kind::Directory => 2 + below as u32,
            _ => node.names,
        };
        Seen {
            kind: node.kind,
            permissions: node.permissions,
            links,
            size: if node.kind == Kind::Directory { 0 } else { node.data.len() as u64 },
            blocks: node.pages.len() as u64 * 8,
        }
    }

    /// Returns the nodes that count against the limit: a removed directory does not, even if a process is in it.
    pub(crate) fn counted(&self) -> usize {
        self.nodes.values().filter(|node| node.kind != Kind::Directory || node.names > 0).count()
    }

    /// Removes nodes that no name and no user leads to. What is held keeps the directories above it, even removed ones:
    /// `..` leads there.
    fn collect(&mut self) {
        let mut held = BTreeSet::new();
        let mut next: Vec<Id> = self.slots.iter().flatten().flat_map(|handle| [handle.node, handle.keeps]).collect();
        next.push(self.cwd);
        while let Some(id) = next.pop() {
            if held.insert(id) && self.nodes[&id].kind == Kind::Directory {
                next.push(self.nodes[&id].parent);
            }
        }
        self.nodes.retain(|id, node| node.names > 0 || held.contains(id));
    }

    pub(crate) fn open_end(&mut self, end: End, how: Opening, slot: usize) -> Outcome {
        let keeps = end.name.as_ref().map_or(end.node, |(directory, _)| *directory);
        self.slots[slot] = Some(Handle { node: end.node, write: how.write, name: end.name, keeps });
        Ok(Gave::Nothing)
    }

    pub(crate) fn create(&mut self, directory: Id, name: Vec<u8>) -> Result<End, Errno> {
        let id = self.add(directory, name.clone(), Kind::File, 0o644, &[])?;
        Ok(End { node: id, name: Some((directory, name)) })
    }

    pub(crate) fn empty(&mut self, id: Id) {
        let node = self.node(id);
        node.data.clear();
        node.pages.clear();
    }
}

impl Node {
    fn new(kind: Kind, mode: u32, names: u32, parent: Id) -> Node {
        Node {
            kind,
            permissions: mode,
            names,
            entries: BTreeMap::new(),
            parent,
            data: Vec::new(),
            pages: BTreeSet::new(),
        }
    }
}
