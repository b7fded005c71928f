//! A heap in the simulated memory, for objects that come and go while the simulation runs.
//!
//! - A block has the size and alignment of its layout, rounded up to a class; blocks of a class lie side by side in
//!   slabs of 4 KiB, so small ones share lines with their neighbours, as in a kernel's slabs. A type gets lines of its
//!   own by its alignment.
//! - Each CPU keeps blocks that were freed there, up to [`KEPT`] of a class, and takes the last one first; the others
//!   are common. A block keeps its lines, with their home and the caches that have them.
//! - Which block comes next follows from the order of calls alone: a seed is a run.
//! - Freed blocks are overwritten, so that a use after free fails badly, and soon.
//! - Stores to a block that wait in some CPU's buffer happen before it is freed: it may be another owner's next.
//!
//! No call costs time: the workload accounts for the cost of an allocator's code.

use super::memory::{Arena, PLACE_ALIGN, Placed, Region};
use rustc_hash::FxHashMap;
use std::alloc::Layout;
use std::ptr::NonNull;
use std::rc::Rc;

/// Freed blocks of a class that a CPU keeps for itself.
const KEPT: usize = 64;
/// The bytes that a class takes from the arena at a time, if its blocks are small.
const SLAB_BYTES: usize = 4096;
/// Alignment of all blocks.
const MIN_ALIGN: usize = 16;
/// The filler of freed blocks: not an address, and an unlikely count.
const POISON: u8 = 0xd7;

/// Blocks of one size and alignment. Blocks are named by their offset in the region.
#[derive(Default)]
struct Class {
    /// Freed blocks, for all CPUs.
    common: Vec<usize>,
    /// Freed blocks by CPU, and the remainder of the slabs that it took.
    own: FxHashMap<u32, Vec<usize>>,
}

impl Class {
    fn free(&mut self, cpu: u32, block: usize) {
        let own = self.own.entry(cpu).or_default();
        if own.len() < KEPT { own.push(block) } else { self.common.push(block) }
    }
}

/// The heap.
pub(crate) struct Heap {
    arena: Arena,
    classes: FxHashMap<(usize, usize), Class>,
    live: usize,
}

/// Returns size and alignment of the class of a layout.
fn class_of(layout: Layout) -> (usize, usize) {
    let align = layout.align().max(MIN_ALIGN);
    let bytes = layout.size().max(1);
    // Steps of 16 bytes at first, then eight classes to each doubling.
    let step = (bytes.next_power_of_two() / 8).max(MIN_ALIGN);
    (bytes.next_multiple_of(step.max(align)), align)
}

impl Heap {
    pub(crate) fn new(region: Rc<Region>) -> Heap {
        Heap { arena: Arena::new(region), classes: FxHashMap::default(), live: 0 }
    }

    /// Puts a value on lines of its own, permanently.
    pub(crate) fn place<T>(&mut self, value: T) -> Placed<T> {
        self.arena.place(value)
    }

    /// Returns a block for a thread on this CPU.
    ///
    /// # Panics
    /// When the arena is full.
    pub(crate) fn allocate(&mut self, layout: Layout, cpu: u32) -> NonNull<u8> {
        let (bytes, align) = class_of(layout);
        let class = self.classes.entry((bytes, align)).or_default();
        let own = class.own.entry(cpu).or_default();
        let block = own.pop().or_else(|| class.common.pop()).unwrap_or_else(|| {
            let blocks = (SLAB_BYTES / bytes).max(1);
            let slab = self.arena.take(blocks * bytes, align.max(PLACE_ALIGN));
            own.extend((1..blocks).rev().map(|number| slab + number * bytes));
            slab
        });
        self.live += 1;
        self.arena.at(block)
    }

    /// Frees a block.
    pub(crate) fn free(&mut self, at: NonNull<u8>, layout: Layout, cpu: u32) {
        let key = class_of(layout);
        // SAFETY: the block has this many bytes, and no owner any more (contract of `Sim::free`).
        unsafe { at.write_bytes(POISON, key.0) };
        let block = self.arena.offset(at).expect("a block of this simulation");
        self.classes.get_mut(&key).expect("freed with the layout that it was allocated with").free(cpu, block);
        self.live -= 1;
    }

    /// Blocks that have not been freed.
    pub(crate) fn live(&self) -> usize {
        self.live
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heap() -> Heap {
        Heap::new(Rc::new(Region::map(1 << 20, 0, 0).expect("address space")))
    }

    fn layout(bytes: usize, align: usize) -> Layout {
        Layout::from_size_align(bytes, align).expect("a layout")
    }

    #[test]
    fn classes_hold_their_layouts_and_waste_little() {
        for bytes in 1..20_000 {
            for align in [1, 8, 16, 64, 128] {
                let (size, aligned) = class_of(layout(bytes, align));
                assert!(size >= bytes && size.is_multiple_of(aligned) && aligned >= align, "{bytes} by {align}");
                assert!(size <= bytes + bytes / 4 + aligned.max(MIN_ALIGN), "{bytes} by {align}: {size}");
            }
        }
    }

    #[test]
    fn blocks_are_aligned_and_do_not_overlap() {
        let mut heap = heap();
        let mut taken: Vec<(usize, usize)> = Vec::new();
        for round in 0..40 {
            for (bytes, align) in [(1, 1), (24, 8), (40, 8), (64, 64), (192, 64), (200, 8), (5_000, 8)] {
                let at = heap.allocate(layout(bytes, align), round % 3).addr().get();
                assert!(at.is_multiple_of(align.max(MIN_ALIGN)));
                taken.push((at, at + bytes));
            }
        }
        assert_eq!(heap.live(), taken.len());
        taken.sort_unstable();
        assert!(taken.windows(2).all(|pair| pair[0].1 <= pair[1].0));
    }

    #[test]
    fn a_cpu_gets_back_what_it_freed_last_and_others_what_is_common() {
        let mut heap = heap();
        let layout = layout(64, 64);
        let blocks: Vec<_> = (0..KEPT + 2).map(|_| heap.allocate(layout, 0)).collect();
        blocks.iter().for_each(|&block| heap.free(block, layout, 1));
        // The first that were freed fill CPU 1's list; two are common.
        let rest: Vec<_> = (0..256).map(|_| heap.allocate(layout, 0)).take_while(|b| !blocks.contains(b)).collect();
        assert!(rest.len() < 64, "what is left of a slab, then what is common");
        let again: Vec<_> = (0..KEPT).map(|_| heap.allocate(layout, 1)).collect();
        assert_eq!(again, blocks[..KEPT].iter().rev().copied().collect::<Vec<_>>());
    }

    #[test]
    fn freed_blocks_are_overwritten() {
        let mut heap = heap();
        let at = heap.allocate(layout(8, 8), 0);
        // SAFETY: a block of 8 bytes.
        unsafe { at.cast::<u64>().write(1) };
        heap.free(at, layout(8, 8), 0);
        // SAFETY: the memory is still there.
        assert_eq!(unsafe { at.cast::<u64>().read() }, u64::from_ne_bytes([POISON; 8]));
    }

    #[test]
    #[should_panic(expected = "the simulated memory is full: 1048576 bytes; see `Config::arena_bytes`")]
    fn a_full_arena_says_how_to_make_it_larger() {
        let mut heap = heap();
        (0..1_000).for_each(|_| _ = heap.allocate(layout(5_000, 8), 0));
    }
}
