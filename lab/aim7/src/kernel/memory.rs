//! Address spaces, page faults, the trees of `anon_vma` that relate the memory of parents and children, and those of
//! the files that are mapped.

use super::{Kernel, Owned, charge, costs};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use turnwise::Lock;
use turnwise_vfs::locks::Shared;
use turnwise_vfs::{Host, LockSet};

/// Areas of private memory of a small static program: data, heap, stack and the like.
pub const AREAS: usize = 7;

/// Pages that a CPU takes from the zone at a time, and gives back.
const BATCH: u32 = 31;

/// A pool of pages.
pub struct Zone<H: Host, L: LockSet<H::Platform>> {
    pages: Lock<L::Spin, u64>,
    host: std::marker::PhantomData<H>,
}

impl<H: Host, L: LockSet<H::Platform>> Zone<H, L> {
    pub(super) fn new() -> Self {
        Zone { pages: Lock::new_in(0), host: std::marker::PhantomData }
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
    roots: [Owned<H, Lock<L::AnonVma, u64>>; AREAS],
}

impl<H: Host, L: LockSet<H::Platform>> Family<H, L> {
    pub(super) fn new() -> Self {
        Family { roots: std::array::from_fn(|_| Owned::new(Lock::new_in(0))) }
    }

    /// Nodes that are linked into all trees.
    pub fn linked(&self) -> u64 {
        self.roots.iter().map(|root| *root.lock()).sum()
    }

    /// A child's areas go into their trees: once for the nodes of the parent, once for the child's own.
    fn link(&self) {
        for root in &self.roots {
            for _ in 0..2 {
                let mut nodes = root.lock();
                charge::<H>(costs::LINK_AREA);
                *nodes += 1;
            }
        }
    }

    /// They come out again, in one go for each area. The kernel frees the child's part when nobody may still be in the
    /// lock: if it is locked just then, it is taken once more (`anon_vma_free`).
    fn unlink(&self) {
        for root in &self.roots {
            let mut nodes = root.lock();
            charge::<H>(costs::LINK_AREA);
            *nodes -= 2;
            drop(nodes);
            if root.is_locked() {
                drop(root.lock());
            }
        }
    }
}

/// A file that processes map: the tree of the areas that do, under a mutex (`i_mmap_mutex`).
pub struct Image<H: Host, L: LockSet<H::Platform>> {
    areas: Owned<H, Lock<L::Mutex, u64>>,
}

impl<H: Host, L: LockSet<H::Platform>> Image<H, L> {
    pub(super) fn new() -> Self {
        Image { areas: Owned::new(Lock::new_in(0)) }
    }

    /// Areas that map it.
    pub fn areas(&self) -> u64 {
        *self.areas.lock()
    }

    fn link(&self) {
        let mut areas = self.areas.lock();
        charge::<H>(costs::LINK_AREA);
        *areas += 1;
    }

    fn unlink(&self) {
        let mut areas = self.areas.lock();
        charge::<H>(costs::LINK_AREA);
        *areas -= 1;
    }
}

/// The address space of a process.
pub struct Mm<H: Host, L: LockSet<H::Platform>> {
    areas: Shared<L::RwSem, Areas>,
    /// Pages that it has touched; only its own thread looks.
    pages: AtomicU32,
    related: bool,
    host: std::marker::PhantomData<H>,
}

#[derive(Default)]
struct Areas {
    /// The end of the heap, in pages.
    end: u64,
    /// Files that are mapped, as often as they are: numbers of [`Kernel::images`].
    files: Vec<usize>,
}

impl<H: Host, L: LockSet<H::Platform>> Mm<H, L> {
    /// Of a program that has just started: related to nobody.
    #[must_use]
    pub fn fresh() -> Owned<H, Self> {
        Self::new(Areas::default(), false)
    }

    fn new(areas: Areas, related: bool) -> Owned<H, Self> {
        let pages = AtomicU32::new(0);
        Owned::new(Mm { areas: Shared::new(areas), pages, related, host: std::marker::PhantomData })
    }

    /// Of the first of a family, which has mapped these files. It is forked from, and does nothing else.
    #[must_use]
    pub fn ancestor(files: &[usize]) -> Owned<H, Self> {
        Self::new(Areas { files: files.to_vec(), ..Areas::default() }, true)
    }

    /// A copy for a child, in the same family if this one has one.
    #[must_use]
    pub fn fork(&self, kernel: &Kernel<H, L>) -> Owned<H, Self> {
        let areas = self.areas.write();
        charge::<H>(costs::COPY_AREA * AREAS as u32);
        if self.related {
            kernel.family.link();
        }
        let files = areas.files.clone();
        files.iter().for_each(|&file| kernel.images[file].link());
        Self::new(Areas { end: areas.end, files }, self.related)
    }

    /// The memory goes, in an exit or an exec.
    pub fn exit(&mut self, kernel: &Kernel<H, L>) {
        let batches = self.pages.swap(0, Relaxed).div_ceil(BATCH);
        if batches > 0 {
            kernel.zone.give_back(batches);
        }
        if self.related {
            kernel.family.unlink();
        }
        for file in std::mem::take(&mut self.areas.get_mut().files) {
            kernel.images[file].unlink();
        }
    }

    /// Moves the end of the heap by so many pages, as `sbrk` does.
    pub fn adjust(&self, pages: i64) {
        let mut areas = self.areas.write();
        charge::<H>(costs::BREAK);
        areas.end = areas.end.saturating_add_signed(pages);
    }

    /// Maps a part of a program: a file by its number.
    pub fn map(&self, file: usize, kernel: &Kernel<H, L>) {
        let mut areas = self.areas.write();
        charge::<H>(costs::MAP);
        kernel.images[file].link();
        areas.files.push(file);
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
