//! What `stat` reports, and what `chmod`, `chown`, `truncate` and `utimes` change.

use std::sync::atomic::Ordering::Relaxed;
use turnwise::platform::{Platform, Word};

/// What an inode is: its bits in `st_mode`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
#[repr(u32)]
pub enum Kind {
    /// A regular file.
    File = 0o100_000,
    /// A directory.
    Directory = 0o040_000,
    /// A symbolic link.
    Symlink = 0o120_000,
    /// A named pipe: a node only.
    Fifo = 0o010_000,
    /// A socket: a node only.
    Socket = 0o140_000,
    /// A character device: a node only.
    CharDevice = 0o020_000,
    /// A block device: a node only.
    BlockDevice = 0o060_000,
}

impl Kind {
    const ALL: [Kind; 7] =
        [Kind::File, Kind::Directory, Kind::Symlink, Kind::Fifo, Kind::Socket, Kind::CharDevice, Kind::BlockDevice];

    /// Returns its bits in `st_mode`.
    pub const fn mode(self) -> u32 {
        self as u32
    }

    /// Returns the kind that these bits of `st_mode` mean; none: a file, as for `mknod`.
    pub fn of_mode(mode: u32) -> Option<Kind> {
        match mode & FORMAT {
            0 => Some(Kind::File),
            bits => Kind::ALL.into_iter().find(|kind| kind.mode() == bits),
        }
    }
}

/// The bits of `st_mode` that hold an inode's kind.
const FORMAT: u32 = 0o170_000;
/// The bits that `chmod` changes.
pub(crate) const PERMISSIONS: u32 = 0o7777;
/// Runs as its owner.
pub(crate) const SET_UID: u32 = 0o4000;
/// Runs as its group; on a directory: new nodes in it belong to the directory's group.
pub(crate) const SET_GID: u32 = 0o2000;
/// The group may run it.
const GROUP_EXECUTE: u32 = 0o010;

/// What `stat` reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stat {
    /// The inode's number.
    pub number: u64,
    /// What it is.
    pub kind: Kind,
    /// Permission bits, set-id bits and the sticky bit.
    pub permissions: u32,
    /// Its names; for a directory 2, and 1 for each directory in it.
    pub links: u32,
    /// The user it belongs to.
    pub uid: u32,
    /// The group it belongs to.
    pub gid: u32,
    /// For a device: which.
    pub device: u64,
    /// Bytes.
    pub size: u64,
    /// Units of 512 bytes that hold its data.
    pub blocks: u64,
    /// When it was last read, in ns since 1970.
    pub accessed: i64,
    /// When its contents last changed.
    pub modified: i64,
    /// When anything about it last changed.
    pub changed: i64,
}

impl Stat {
    /// Returns `st_mode`: the kind and the permissions.
    pub fn mode(&self) -> u32 {
        self.kind.mode() | self.permissions
    }

    /// Returns whether this user may do all that `want` contains: 4 read, 2 write, 1 execute or search, added up.
    pub fn permits(&self, uid: u32, gid: u32, want: u32) -> bool {
        if uid == 0 {
            let anybody_runs_it = self.kind == Kind::Directory || self.permissions & 0o111 != 0;
            return want & 1 == 0 || anybody_runs_it;
        }
        let granted = match (uid == self.uid, gid == self.gid) {
            (true, _) => self.permissions >> 6,
            (_, true) => self.permissions >> 3,
            _ => self.permissions,
        };
        granted & want == want
    }
}

/// A time to set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetTime {
    /// The file system's own clock, now.
    Now,
    /// Nanoseconds since 1970.
    At(i64),
}

/// What to change; `None` stays.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SetAttributes {
    /// Permission bits, set-id bits and the sticky bit.
    pub permissions: Option<u32>,
    /// The user it shall belong to.
    pub uid: Option<u32>,
    /// The group it shall belong to.
    pub gid: Option<u32>,
    /// Bytes: cut off, or filled up with a hole.
    pub size: Option<u64>,
    /// When it was last read.
    pub accessed: Option<SetTime>,
    /// When its contents last changed.
    pub modified: Option<SetTime>,
    /// When anything about it last changed; `None`: now.
    pub changed: Option<i64>,
}

/// The words that `stat` reads. They are written under the inode's lock and read without it, each by itself, as in the
/// kernel: a `stat` that meets a `chown` may see its first half.
pub(crate) struct Words<P: Platform> {
    pub(crate) permissions: P::U32,
    pub(crate) uid: P::U32,
    pub(crate) gid: P::U32,
    /// Changed by itself, without the lock: see `Inode::add_link`.
    pub(crate) links: P::U32,
    pub(crate) size: P::U64,
    pub(crate) pages: P::U64,
    accessed: P::U64,
    modified: P::U64,
    changed: P::U64,
}

impl<P: Platform> Words<P> {
    pub(crate) fn new(permissions: u32, uid: u32, gid: u32, links: u32, size: u64) -> Self {
        let now = P::wall();
        Words {
            permissions: P::U32::new(permissions & PERMISSIONS),
            uid: P::U32::new(uid),
            gid: P::U32::new(gid),
            links: P::U32::new(links),
            size: P::U64::new(size),
            pages: P::U64::new(0),
            accessed: P::U64::new(now),
            modified: P::U64::new(now),
            changed: P::U64::new(now),
        }
    }

    pub(crate) fn stat(&self, number: u64, kind: Kind, device: u64) -> Stat {
        Stat {
            number,
            kind,
            permissions: self.permissions.load(Relaxed),
            links: self.links.load(Relaxed),
            uid: self.uid.load(Relaxed),
            gid: self.gid.load(Relaxed),
            device,
            size: self.size.load(Relaxed),
            blocks: self.pages.load(Relaxed) * 8,
            accessed: self.accessed.load(Relaxed).cast_signed(),
            modified: self.modified.load(Relaxed).cast_signed(),
            changed: self.changed.load(Relaxed).cast_signed(),
        }
    }

    /// Notes a read. The word is written only where that is visible: once after each change, and once a day.
    pub(crate) fn touch_accessed(&self) {
        const DAY_NS: u64 = 86_400_000_000_000;
        let now = P::wall();
        let accessed = self.accessed.load(Relaxed);
        let changed = self.modified.load(Relaxed).max(self.changed.load(Relaxed));
        if accessed <= changed || now.saturating_sub(accessed) >= DAY_NS {
            self.accessed.store(now, Relaxed);
        }
    }

    /// Notes that the contents changed.
    pub(crate) fn touch_modified(&self) {
        let now = P::wall();
        self.modified.store(now, Relaxed);
        self.changed.store(now, Relaxed);
    }

    /// Notes that something about it changed.
    pub(crate) fn touch_changed(&self) {
        self.changed.store(P::wall(), Relaxed);
    }

    /// Changes all but the size. A new owner does not keep set-id bits, unless they are set at the same time.
    pub(crate) fn set(&self, kind: Kind, wanted: &SetAttributes) {
        if let Some(permissions) = wanted.permissions {
            self.permissions.store(permissions & PERMISSIONS, Relaxed);
        } else if kind == Kind::File && (wanted.uid.is_some() || wanted.gid.is_some()) {
            self.drop_set_id();
        }
        for (word, id) in [(&self.uid, wanted.uid), (&self.gid, wanted.gid)] {
            id.into_iter().for_each(|id| word.store(id, Relaxed));
        }
        let now = P::wall().cast_signed();
        let at = |time| match time {
            SetTime::Now => now,
            SetTime::At(ns) => ns,
        };
        let (accessed, modified) = (wanted.accessed.map(at), wanted.modified.map(at));
        let changed = Some(wanted.changed.unwrap_or(now));
        for (word, time) in [(&self.accessed, accessed), (&self.modified, modified), (&self.changed, changed)] {
            time.into_iter().for_each(|ns| word.store(ns.cast_unsigned(), Relaxed));
        }
    }

    /// Drops the bit. Without the group's execute bit, a set-group-id bit means mandatory locks, and stays.
    fn drop_set_id(&self) {
        let old = self.permissions.load(Relaxed);
        let group = if old & GROUP_EXECUTE != 0 { SET_GID } else { 0 };
        self.permissions.store(old & !(SET_UID | group), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use turnwise::platform::Native;

    #[test]
    fn a_mode_names_its_kind() {
        Kind::ALL.into_iter().for_each(|kind| assert_eq!(Kind::of_mode(kind.mode() | 0o644), Some(kind)));
        assert_eq!(Kind::of_mode(0o644), Some(Kind::File));
        assert_eq!(Kind::of_mode(0o170_000), None);
    }

    #[test]
    fn a_new_owner_takes_no_set_id_bits_along() {
        let set = |permissions, wanted: &SetAttributes| {
            let words = Words::<Native>::new(permissions, 0, 0, 1, 0);
            words.set(Kind::File, wanted);
            words.permissions.load(Relaxed)
        };
        let chown = SetAttributes { uid: Some(7), ..Default::default() };
        assert_eq!(set(0o6755, &chown), 0o755);
        assert_eq!(set(0o6745, &chown), 0o2745);
        assert_eq!(set(0o6755, &SetAttributes { permissions: Some(0o4700), ..chown }), 0o4700);
    }

    #[test]
    fn times_before_1970_survive() {
        let words = Words::<Native>::new(0o644, 0, 0, 1, 0);
        words.set(Kind::File, &SetAttributes { modified: Some(SetTime::At(-5)), ..Default::default() });
        assert_eq!(words.stat(1, Kind::File, 0).modified, -5);
    }

    #[test]
    fn permissions_go_by_the_first_class_that_fits() {
        let words = Words::<Native>::new(0o074, 5, 6, 1, 0);
        let stat = words.stat(1, Kind::File, 0);
        assert!(!stat.permits(5, 6, 4), "the owner has none, whatever the group has");
        assert!(stat.permits(9, 6, 7) && stat.permits(9, 9, 4) && !stat.permits(9, 9, 2));
        assert!(stat.permits(0, 0, 7));
    }
}
