//! Trees, and where they are mounted.

use crate::dcache::DentryPtr;
use crate::host::Host;
use crate::locks::LockSet;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;
use turnwise::platform::{Platform, Word};

/// A pointer to a mount; mounts live as long as the file system.
pub(crate) type MountPtr<H, L> = NonNull<Mount<H, L>>;

/// A tree that is, or was, mounted somewhere.
pub(crate) struct Mount<H: Host, L: LockSet<H::Platform>> {
    /// The dentry of its first directory; the mount has a reference to it.
    pub(crate) root: DentryPtr<H, L>,
    /// Where it was mounted; `None`: the first tree. The mount has a reference to the dentry while it is attached.
    at: Option<(MountPtr<H, L>, DentryPtr<H, L>)>,
    attached: <H::Platform as Platform>::U32,
}

impl<H: Host, L: LockSet<H::Platform>> Mount<H, L> {
    pub(crate) fn new(root: DentryPtr<H, L>, at: Option<(MountPtr<H, L>, DentryPtr<H, L>)>) -> Self {
        Mount { root, at, attached: Word::new(u32::from(at.is_some())) }
    }

    /// Returns where it is mounted at this moment. The dentry is valid while the caller is pinned.
    pub(crate) fn point(&self) -> Option<(MountPtr<H, L>, DentryPtr<H, L>)> {
        // Relaxed: where it was mounted never changes, and the caller is pinned.
        self.at.filter(|_| self.attached.load(Relaxed) != 0)
    }

    /// Marks it as no longer mounted; returns whether it was. Under the lock of the mounts.
    pub(crate) fn detach(&self) -> bool {
        let was = self.attached.load(Relaxed) != 0;
        self.attached.store(0, Relaxed);
        was
    }
}
