//! The `// ORDERING name:` comments in the lock sources, as the style asks for beside each ordering.

use crate::check::Lock;
use crate::lab::Site;
use std::path::Path;
use std::{fs, io};

/// One comment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tag {
    /// Source file, from the workspace's root.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// What the pairing is called.
    pub name: String,
}

/// A comment speaks for the operation that starts at most so many lines below.
const REACH: u32 = 8;

impl Tag {
    /// Whether the comment speaks for this place.
    pub fn covers(&self, site: &Site) -> bool {
        site.file == self.file && (self.line + 1..=self.line + REACH).contains(&site.line)
    }
}

impl Lock {
    /// The sources of the lock: files or folders below `crates`.
    pub fn sources(self) -> &'static [&'static str] {
        match self {
            Lock::Osq => &["turnwise/src/osq.rs"],
            Lock::Mutex => &["turnwise/src/mutex"],
            Lock::Condvar => &["turnwise/src/condvar.rs"],
            Lock::RwSem => &["turnwise/src/rwsem"],
            Lock::Spin => &["turnwise/src/spin", "turnwise/src/backoff.rs"],
            Lock::SeqRwLock => &["turnwise/src/seqrwlock"],
            Lock::LockRef => &["turnwise/src/lockref"],
            Lock::Semaphore => &["turnwise/src/semaphore.rs"],
            Lock::Reentrant => &["turnwise/src/reentrant.rs"],
            Lock::LinuxMutex => &["lineage/src/linux_mutex"],
            Lock::RwsemSpinlock => &["lineage/src/rwsem_spinlock.rs", "lineage/src/wait"],
            Lock::RwsemXadd => &["lineage/src/rwsem_xadd.rs"],
            Lock::KernelSpin => {
                &["lineage/src/ticket.rs", "lineage/src/biased_rwlock.rs", "lineage/src/queued_rwlock.rs"]
            }
            Lock::DCount => &["lineage/src/d_count"],
            Lock::RenameLock => &["lineage/src/rename_lock.rs"],
            Lock::Ia64Spin => &["lineage/src/ia64_spin.rs"],
            Lock::OsvMutex => &["lineage/src/osv_mutex"],
            Lock::Journal => &["vfs/src/journal/handles.rs", "vfs/src/journal/committing.rs"],
            Lock::Dcache => &["vfs/src/dcache", "vfs/src/inode", "vfs/src/mount.rs"],
            Lock::Broken => &[],
        }
    }

    /// Whether a place is in them.
    pub fn owns(self, site: &Site) -> bool {
        let inner = site.file.strip_prefix("crates/").unwrap_or_default();
        self.sources().iter().any(|source| Path::new(inner).starts_with(source))
    }
}

/// All comments in the sources of a lock.
///
/// # Errors
/// What the file system says.
pub fn of(lock: Lock) -> io::Result<Vec<Tag>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut tags = Vec::new();
    for source in lock.sources() {
        read(&root, &Path::new("crates").join(source), &mut tags)?;
    }
    Ok(tags)
}

fn read(root: &Path, path: &Path, tags: &mut Vec<Tag>) -> io::Result<()> {
    let full = root.join(path);
    if full.is_dir() {
        let mut names = fs::read_dir(&full)?.map(|e| e.map(|e| e.file_name())).collect::<io::Result<Vec<_>>>()?;
        names.sort();
        return names.iter().try_for_each(|name| read(root, &path.join(name), tags));
    }
    let text = fs::read_to_string(&full)?;
    tags.extend(parse(&path.to_string_lossy(), &text));
    Ok(())
}

fn parse(file: &str, text: &str) -> Vec<Tag> {
    let tag = |(line, number): (&str, u32)| {
        let (_, rest) = line.split_once("// ORDERING ")?;
        let (name, _) = rest.split_once(':')?;
        Some(Tag { file: file.to_owned(), line: number, name: name.to_owned() })
    };
    text.lines().zip(1..).filter_map(tag).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::Part;

    #[test]
    fn parses_names_and_lines() {
        let tags = parse("f.rs", "x\n    // ORDERING a.b: why\ny\n// ORDERING: unnamed\n");
        assert_eq!(tags, [Tag { file: "f.rs".to_owned(), line: 2, name: "a.b".to_owned() }]);
        let at = |line| Site { file: "f.rs", line, column: 1, part: Part::Main };
        assert!(tags[0].covers(&at(3)) && !tags[0].covers(&at(2)) && !tags[0].covers(&at(99)));
    }
}
