//! Address spaces, page faults, the trees of `anon_vma` that relate the memory of parents and children, and those of
//! the mapped files.

use super::pages::Tables;
use super::{Kernel, Owned, charge, costs};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use turnwise::Lock;
use turnwise_sim::Sim;
use turnwise_vfs::LockSet;
use turnwise_vfs::locks::Shared;

/// Areas of private memory of a small static program: data, heap, stack and the like.
pub const AREAS: usize = 7;

/// Locks of page tables that a fork takes (Linux 3.10, `mm/memory.c`): for each area the parent's and the child's while
/// entries are copied, and one for each of 4 + 3 + 2 tables below the top that it makes (recalled: low and high
/// addresses, libraries, stack).
const COPIES: u32 = AREAS as u32;
const TABLES: u32 = 9;
/// Pages that a process has before it touches any: these tables and the top one.
const TABLE_PAGES: u32 = TABLES + 1;
/// One in this many of the pages that a program touches is its own; others are the file's.
const OWN_SHARE: u32 = 2;

/// The roots of the `anon_vma` trees of a family of processes: one for each area of their common ancestor.
pub struct Family<L: LockSet<Sim>> {
    roots: [Owned<Lock<L::AnonVma, u64>>; AREAS],
}

impl<L: LockSet<Sim>> Family<L> {
    pub(super) fn new() -> Self {
        Family { roots: std::array::from_fn(|_| Owned::new(Lock::new_in(0))) }
    }

    /// Nodes that are linked into all trees.
    pub fn linked(&self) -> u64 {
        self.roots.iter().map(|root| *root.lock()).sum()
    }

    /// Links a child's areas into their trees: once for the nodes of the parent, once for the child's own.
    fn link(&self) {
        for root in &self.roots {
            for _ in 0..2 {
                let mut nodes = root.lock();
                charge(costs::LINK_AREA);
                *nodes += 1;
            }
        }
    }

    /// Unlinks them again, in one go for each area. The kernel frees the child's part when no thread may still be in
    /// the lock: if it is locked just then, it is taken once more (`anon_vma_free`).
    fn unlink(&self) {
        for root in &self.roots {
            let mut nodes = root.lock();
            charge(costs::LINK_AREA);
            *nodes -= 2;
            drop(nodes);
            if root.is_locked() {
                drop(root.lock());
            }
        }
    }
}

/// A file that processes map: the tree of the areas that do, under a mutex (`i_mmap_mutex`).
pub struct Image<L: LockSet<Sim>> {
    areas: Owned<Lock<L::Mutex, u64>>,
}

impl<L: LockSet<Sim>> Image<L> {
    pub(super) fn new() -> Self {
        Image { areas: Owned::new(Lock::new_in(0)) }
    }

    /// Areas that map it.
    pub fn areas(&self) -> u64 {
        *self.areas.lock()
    }

    /// Links an area, or unlinks one.
    fn change(&self, by: i64) {
        let mut areas = self.areas.lock();
        charge(costs::LINK_AREA);
        *areas = areas.wrapping_add_signed(by);
    }
}

/// The address space of a process.
pub struct Mm<L: LockSet<Sim>> {
    areas: Shared<L::RwSem, Areas>,
    tables: Tables<L>,
    /// Its pages, including its tables; only its own thread accesses this.
    pages: AtomicU32,
    related: bool,
}

#[derive(Default)]
struct Areas {
    /// The end of the heap, in pages.
    end: u64,
    /// Mapped files, once per mapping: numbers of [`Kernel::images`].
    files: Vec<usize>,
}

impl<L: LockSet<Sim>> Mm<L> {
    /// Creates the memory of a program that has just started: unrelated to others.
    #[must_use]
    pub fn fresh(kernel: &Kernel<L>) -> Owned<Self> {
        Self::new(Areas::default(), false, kernel)
    }

    fn new(areas: Areas, related: bool, kernel: &Kernel<L>) -> Owned<Self> {
        kernel.top_tables.change(1);
        kernel.zones.take(TABLE_PAGES);
        let (tables, pages) = (Tables::new(), AtomicU32::new(TABLE_PAGES));
        tables.change(TABLES);
        Owned::new(Mm { areas: Shared::new_in(areas), tables, pages, related })
    }

    /// Creates the memory of the first of a family, which has mapped these files. It does nothing but be forked from.
    #[must_use]
    pub fn ancestor(files: &[usize]) -> Owned<Self> {
        let areas = Areas { files: files.to_vec(), ..Areas::default() };
        Owned::new(Mm { areas: Shared::new_in(areas), tables: Tables::new(), pages: AtomicU32::new(0), related: true })
    }

    /// Returns a copy for a child, in the same family if this one has one.
    #[must_use]
    pub fn fork(&self, kernel: &Kernel<L>) -> Owned<Self> {
        let areas = self.areas.write();
        charge(costs::COPY_AREA * AREAS as u32);
        if self.related {
            kernel.family.link();
        }
        let files = areas.files.clone();
        files.iter().for_each(|&file| kernel.images[file].change(1));
        let child = Self::new(Areas { end: areas.end, files }, self.related, kernel);
        self.tables.change(COPIES);
        child.tables.change(COPIES);
        child
    }

    /// Frees the memory, in an exit or an exec.
    pub fn exit(&mut self, kernel: &Kernel<L>) {
        let files = std::mem::take(&mut self.areas.get_mut().files);
        self.tables.change(AREAS as u32 + files.len() as u32);
        if self.related {
            kernel.family.unlink();
        }
        files.into_iter().for_each(|file| kernel.images[file].change(-1));
        kernel.zones.give_back(self.pages.swap(0, Relaxed));
        kernel.top_tables.change(-1);
    }

    /// Moves the end of the heap by this many pages, as `sbrk` does.
    pub fn adjust(&self, pages: i64) {
        let mut areas = self.areas.write();
        charge(costs::BREAK);
        areas.end = areas.end.saturating_add_signed(pages);
    }

    /// Maps a part of a program: a file by its number.
    pub fn map(&self, file: usize, kernel: &Kernel<L>) {
        let mut areas = self.areas.write();
        charge(costs::MAP);
        kernel.images[file].change(1);
        areas.files.push(file);
    }

    /// Changes the protection of a mapped part of a file.
    pub fn protect(&self) {
        let _areas = self.areas.write();
        self.tables.change(1);
    }

    /// Touches a page for the first time.
    pub fn fault(&self, kernel: &Kernel<L>) {
        let _areas = self.areas.read();
        charge(costs::FAULT);
        self.tables.change(1);
        self.own(1, kernel);
    }

    /// Touches pages for the first time whose faults are part of another charge: that of a fork, or an exec.
    pub fn settle_in(&self, faults: u32, kernel: &Kernel<L>) {
        self.tables.change(faults);
        self.own(faults / OWN_SHARE, kernel);
    }

    fn own(&self, pages: u32, kernel: &Kernel<L>) {
        kernel.zones.take(pages);
        self.pages.store(self.pages.load(Relaxed) + pages, Relaxed);
    }
}
