//! Address spaces, page faults, and the trees of `anon_vma` that relate the memory of parents and children.

use super::{Owned, charge, costs};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use turnwise_vfs::locks::{Guarded, ShGuarded};
use turnwise_vfs::{Host, LockSet};

/// Areas of private memory of a small static program: data, heap, stack and the like.
pub const AREAS: usize = 7;

/// Pages that a CPU takes from the zone at a time, and gives back.
const BATCH: u32 = 31;

/// A pool of pages.
pub struct Zone<H: Host, L: LockSet<H::Platform>> {
    pages: Guarded<L::Spin, u64>,
    host: std::marker::PhantomData<H>,
}

impl<H: Host, L: LockSet<H::Platform>> Zone<H, L> {
    pub(super) fn new() -> Self {
        Zone { pages: Guarded::new(0), host: std::marker::PhantomData }
    }

    /// Pages that are out.
    pub fn used(&self) -> u64 {
        *self.pages.lock()
    }

    fn take_batch(&self) {
        let mut pages = self.pages.lock();
        charge::<H>(costs::ZONE_BATCH);
        *pages += u64::from(BATCH);
    }

    fn give_back(&self, batches: u32) {
        let mut pages = self.pages.lock();
        charge::<H>(costs::ZONE_BATCH);
        *pages -= u64::from(batches * BATCH);
    }
}

/// The roots of the `anon_vma` trees of a family of processes: one for each area of their common ancestor.
pub struct Family<H: Host, L: LockSet<H::Platform>> {
    roots: [Owned<H, ShGuarded<L::RwSem, u64>>; AREAS],
}

impl<H: Host, L: LockSet<H::Platform>> Family<H, L> {
    pub(super) fn new() -> Self {
        Family { roots: std::array::from_fn(|_| Owned::new(ShGuarded::new(0))) }
    }

    /// Nodes that are linked into all trees.
    pub fn linked(&self) -> u64 {
        self.roots.iter().map(|root| *root.read()).sum()
    }

    /// A child's areas go into their trees: once for the nodes of the parent, once for the child's own.
    fn link(&self) {
        for root in &self.roots {
            for _ in 0..2 {
                let mut nodes = root.write();
                charge::<H>(costs::LINK_AREA);
                *nodes += 1;
            }
        }
    }

    /// They come out again, in one go for each area.
    fn unlink(&self) {
        for root in &self.roots {
            let mut nodes = root.write();
            charge::<H>(costs::LINK_AREA);
            *nodes -= 2;
        }
    }
}

/// The address space of a process.
pub struct Mm<H: Host, L: LockSet<H::Platform>> {
    areas: ShGuarded<L::RwSem, Areas>,
    /// Pages that it has touched; only its own thread looks.
    pages: AtomicU32,
    related: bool,
    host: std::marker::PhantomData<H>,
}

#[derive(Default)]
struct Areas {
    /// The end of the heap, in pages.
    end: u64,
    mapped: u32,
}

impl<H: Host, L: LockSet<H::Platform>> Mm<H, L> {
    /// Of a program that has just started: related to nobody.
    #[must_use]
    pub fn fresh() -> Owned<H, Self> {
        Self::new(Areas::default(), false)
    }

    fn new(areas: Areas, related: bool) -> Owned<H, Self> {
        let pages = AtomicU32::new(0);
        Owned::new(Mm { areas: ShGuarded::new(areas), pages, related, host: std::marker::PhantomData })
    }

    /// Of the first of a family.
    #[must_use]
    pub fn ancestor() -> Owned<H, Self> {
        Self::new(Areas::default(), true)
    }

    /// A copy for a child, in the same family if this one has one.
    #[must_use]
    pub fn fork(&self, family: &Family<H, L>) -> Owned<H, Self> {
        let areas = self.areas.write();
        charge::<H>(costs::COPY_AREA * AREAS as u32);
        if self.related {
            family.link();
        }
        Self::new(Areas { end: areas.end, mapped: areas.mapped }, self.related)
    }

    /// The memory goes, in an exit or an exec.
    pub fn exit(&self, family: &Family<H, L>, zone: &Zone<H, L>) {
        let batches = self.pages.swap(0, Relaxed).div_ceil(BATCH);
        if batches > 0 {
            zone.give_back(batches);
        }
        if self.related {
            family.unlink();
        }
    }

    /// Moves the end of the heap by so many pages, as `sbrk` does.
    pub fn adjust(&self, pages: i64) {
        let mut areas = self.areas.write();
        charge::<H>(costs::BREAK);
        areas.end = areas.end.saturating_add_signed(pages);
    }

    /// Maps a part of a program.
    pub fn map(&self) {
        let mut areas = self.areas.write();
        charge::<H>(costs::MAP);
        areas.mapped += 1;
    }

    /// A page is touched for the first time.
    pub fn fault(&self, zone: &Zone<H, L>) {
        let _areas = self.areas.read();
        charge::<H>(costs::FAULT);
        let pages = self.pages.load(Relaxed);
        if pages.is_multiple_of(BATCH) {
            zone.take_batch();
        }
        self.pages.store(pages + 1, Relaxed);
    }
}
