//! Where a dentry is: under which parent, and by which name. Immutable once published; a rename gives the dentry
//! another place, so that one load yields all of it, and it cannot be torn.

use super::dentry::Dentry;
use crate::host::Host;
use crate::locks::LockSet;
use std::ptr::NonNull;
use turnwise::platform::Platform;

/// Names up to this length lie in the place itself, which then is one cache line.
const SHORT: usize = 39;

/// A parent and a name in it. A root is its own parent.
#[repr(C, align(64))]
pub(crate) struct Place<H: Host, L: LockSet<H::Platform>> {
    parent: NonNull<Dentry<H, L>>,
    hash: u64,
    /// A pointer to the pointer: one word, so that the place stays one line.
    long: Option<Box<Box<[u8]>>>,
    len: u8,
    short: [u8; SHORT],
}

impl<H: Host, L: LockSet<H::Platform>> Place<H, L> {
    /// Creates a name, of 255 bytes at most.
    pub(crate) fn new(parent: NonNull<Dentry<H, L>>, hash: u64, name: &[u8]) -> Self {
        let mut short = [0; SHORT];
        let long = match short.get_mut(..name.len()) {
            Some(room) => {
                room.copy_from_slice(name);
                None
            }
            None => Some(Box::new(name.into())),
        };
        Place { parent, hash, long, len: u8::try_from(name.len()).expect("names are checked first"), short }
    }

    pub(crate) fn parent(&self) -> NonNull<Dentry<H, L>> {
        self.parent
    }

    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    #[inline]
    pub(crate) fn name(&self) -> &[u8] {
        H::Platform::touch(std::ptr::from_ref(self).cast(), size_of::<Self>(), false);
        match self.short.get(..self.len.into()) {
            Some(name) => name,
            None => self.long.as_ref().map_or(b"", |name| name),
        }
    }

    /// Returns whether it is this one. The hash is compared first: it differs for almost all others.
    #[inline]
    pub(crate) fn is(&self, parent: NonNull<Dentry<H, L>>, hash: u64, name: &[u8]) -> bool {
        self.hash == hash && self.parent == parent && super::hash::same(self.name(), name)
    }

    /// Returns the bytes of memory that the place takes.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + self.long.as_ref().map_or(0, |name| name.len())
    }
}

const _: () = assert!(size_of::<Place<crate::Metal, crate::locks::Today>>() == 64, "one line");
