//! Paths in the reference file system: from a path to a node, from a node to a path, and opening.

use crate::reference::{Id, ROOT, Reference};
use crate::steps::{Opening, Outcome};
use turnwise_vfs::Errno;
use turnwise_vfs::inode::Kind;

/// Where a path leads.
#[derive(Clone, Debug)]
pub(crate) struct End {
    pub(crate) node: Id,
    /// By which name, if it ended with one.
    pub(crate) name: Option<(Id, Vec<u8>)>,
}

/// The last component of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Last {
    Name { name: Vec<u8>, slash: bool },
    Dot,
    DotDot,
}

/// Links that may be followed in one walk.
const LINKS: u32 = 40;

impl Reference {
    /// Returns the node at the end of a path.
    pub(crate) fn end(&self, path: &[u8], follow: bool) -> Result<End, Errno> {
        let mut links = 0;
        self.end_from(self.cwd, path, follow, &mut links)
    }

    fn end_from(&self, from: Id, path: &[u8], follow: bool, links: &mut u32) -> Result<End, Errno> {
        let (directory, last) = self.parent_from(from, path, links)?;
        match last {
            Last::Dot => Ok(End { node: directory, name: None }),
            Last::DotDot => Ok(End { node: self.nodes[&directory].parent, name: None }),
            Last::Name { name, slash } => {
                let node = self.child(directory, &name)?;
                let found = &self.nodes[&node];
                if found.kind == Kind::Symlink && (follow || slash) {
                    let target = self.followed(node, links)?;
                    let end = self.end_from(directory, &target, true, links)?;
                    let is_directory = self.nodes[&end.node].kind == Kind::Directory;
                    return if slash && !is_directory { Err(Errno::NOTDIR) } else { Ok(end) };
                }
                if slash && found.kind != Kind::Directory {
                    return Err(Errno::NOTDIR);
                }
                Ok(End { node, name: Some((directory, name)) })
            }
        }
    }

    fn followed(&self, link: Id, links: &mut u32) -> Result<Vec<u8>, Errno> {
        *links += 1;
        if *links > LINKS { Err(Errno::LOOP) } else { Ok(self.nodes[&link].data.clone()) }
    }

    fn child(&self, directory: Id, name: &[u8]) -> Result<Id, Errno> {
        if name.len() > 255 {
            return Err(Errno::NAMETOOLONG);
        }
        self.nodes[&directory].entries.get(name).copied().ok_or(Errno::NOENT)
    }

    /// Returns the directory that the last component is in, and that component.
    pub(crate) fn parent(&self, path: &[u8]) -> Result<(Id, Last), Errno> {
        self.parent_from(self.cwd, path, &mut 0)
    }

    fn parent_from(&self, from: Id, path: &[u8], links: &mut u32) -> Result<(Id, Last), Errno> {
        match path.len() {
            0 => return Err(Errno::NOENT),
            4096.. => return Err(Errno::NAMETOOLONG),
            _ => {}
        }
        let mut at = if path[0] == b'/' { ROOT } else { from };
        let components: Vec<&[u8]> = path.split(|byte| *byte == b'/').filter(|part| !part.is_empty()).collect();
        let Some((last, before)) = components.split_last() else { return Ok((at, Last::Dot)) };
        for component in before {
            at = self.step(at, component, links)?;
        }
        if last.len() > 255 {
            return Err(Errno::NAMETOOLONG);
        }
        let last = match *last {
            b"." => Last::Dot,
            b".." => Last::DotDot,
            name => Last::Name { name: name.to_vec(), slash: path.ends_with(b"/") },
        };
        Ok((at, last))
    }

    /// Walks one component on the way, which must lead to a directory.
    fn step(&self, at: Id, component: &[u8], links: &mut u32) -> Result<Id, Errno> {
        let next = match component {
            b"." => at,
            b".." => self.nodes[&at].parent,
            name => {
                let child = self.child(at, name)?;
                if self.nodes[&child].kind == Kind::Symlink {
                    let target = self.followed(child, links)?;
                    self.end_from(at, &target, true, links)?.node
                } else {
                    child
                }
            }
        };
        if self.nodes[&next].kind == Kind::Directory { Ok(next) } else { Err(Errno::NOTDIR) }
    }

    /// Returns the path from the root to a node, by the name that was used if it has several. ` (deleted)` as in Linux.
    pub(crate) fn path_of(&self, node: Id, name: Option<(Id, Vec<u8>)>) -> Vec<u8> {
        if node == ROOT {
            return b"/".to_vec();
        }
        let by_parent = || {
            let parent = self.nodes[&node].parent;
            let name = self.nodes[&parent].entries.iter().find(|(_, id)| **id == node);
            name.map(|(name, _)| (parent, name.clone()))
        };
        let is_directory = self.nodes[&node].kind == Kind::Directory;
        let (parent, name) = match if is_directory { by_parent() } else { name } {
            Some(found) => found,
            None => return b"(deleted)".to_vec(),
        };
        let above = self.path_of(parent, None);
        let above = if above == b"/" { Vec::new() } else { above };
        [&above[..], b"/", &name].concat()
    }

    pub(crate) fn open(&mut self, path: &[u8], how: Opening, slot: usize) -> Outcome {
        let end = if how.create { self.end_or_new(path, how)? } else { self.end(path, true)? };
        match self.nodes[&end.node].kind {
            Kind::Symlink => return Err(Errno::LOOP),
            Kind::Directory if how.write || how.create || how.truncate => return Err(Errno::ISDIR),
            Kind::Fifo => return Err(Errno::NXIO),
            Kind::Directory | Kind::File => {}
        }
        if how.truncate {
            self.empty(end.node);
        }
        self.open_end(end, how, slot)
    }

    /// Resolves a path as `O_CREAT` does; a link at its end is not followed.
    fn end_or_new(&mut self, path: &[u8], how: Opening) -> Result<End, Errno> {
        let (directory, last) = self.parent(path)?;
        let Last::Name { name, slash } = last else {
            return if how.exclusive { Err(Errno::EXIST) } else { Err(Errno::ISDIR) };
        };
        if slash {
            return Err(Errno::ISDIR);
        }
        match self.nodes[&directory].entries.get(&name).copied() {
            None => self.create(directory, name),
            Some(_) if how.exclusive => Err(Errno::EXIST),
            Some(node) => Ok(End { node, name: Some((directory, name)) }),
        }
    }
}
