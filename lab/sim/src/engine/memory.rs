//! The simulated memory: where the words of locks and threads lie, so that every word has a line, the same in every
//! run.
//!
//! One mapping holds an arena, for the heap and what [`super::Simulation::place`] places, and the stacks of all
//! threads, where locks put their queue nodes. A word's line follows from its offset in the arena, not from its
//! address; on a stack from the order in which words there are first used (`stacks.rs`), not from the compiler's
//! frames. Words elsewhere (on the host's heap) get a line each, in order of their first use, until they are dropped.

use super::fibers::StackPart;
use super::stacks::{BLOCK, Stacks};
use rustc_hash::FxHashMap;
use std::cell::Cell;
use std::io;
use std::ops::Deref;
use std::ptr::NonNull;
use std::rc::Rc;

/// What separates placed values, whatever the machine's lines: the largest line, and the alignment of thread slots.
pub(super) const PLACE_ALIGN: usize = 128;
/// The smallest page.
const PAGE: usize = 4096;
/// Bytes below each stack that may not be touched.
const GUARD: usize = PAGE;

/// The alignment of a mapping's start. Locks hash their addresses, by at most this many lower bits, which are then the
/// same in every process.
const ALIGN: usize = 1 << 36;

/// Reserves address space for `bytes`, without access.
fn reserve(bytes: usize) -> io::Result<NonNull<u8>> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let bytes = bytes.next_multiple_of(PAGE);
    // SAFETY: a fresh anonymous mapping.
    let found = unsafe { libc::mmap(std::ptr::null_mut(), bytes + ALIGN, libc::PROT_NONE, flags, -1, 0) };
    if found == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let before = found.addr().next_multiple_of(ALIGN) - found.addr();
    let base = found.wrapping_byte_add(before);
    // SAFETY: the parts of the mapping around what is kept, in whole pages.
    unsafe {
        if before > 0 {
            libc::munmap(found, before);
        }
        libc::munmap(base.wrapping_byte_add(bytes), ALIGN - before);
    }
    Ok(NonNull::new(base.cast()).expect("a mapping is not at address 0"))
}

/// Address space, until it is dropped.
struct Mapping {
    base: NonNull<u8>,
    bytes: usize,
    arena_bytes: usize,
    stack_bytes: usize,
}

impl Mapping {
    /// Maps this many bytes of arena and this many stacks; pages come into being as they are touched.
    fn new(arena_bytes: usize, stacks: usize, stack_bytes: usize) -> io::Result<Mapping> {
        let bytes = arena_bytes + stacks * stack_bytes;
        let base = reserve(bytes)?;
        let mapping = Mapping { base, bytes, arena_bytes, stack_bytes };
        // SAFETY: `reserve` made the mapping, which is not in use yet.
        if unsafe { libc::mprotect(base.as_ptr().cast(), bytes, libc::PROT_READ | libc::PROT_WRITE) } != 0 {
            return Err(io::Error::last_os_error());
        }
        for stack in 0..stacks {
            let lowest = base.as_ptr().wrapping_add(arena_bytes + stack * stack_bytes);
            // SAFETY: within the mapping; these bytes are not in use yet.
            if unsafe { libc::mprotect(lowest.cast(), GUARD, libc::PROT_NONE) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(mapping)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`; the dropping owner is the last to use it.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

thread_local! {
    /// Unused address space. The next simulation on this thread of the host takes it with its pages, as they were left,
    /// rather than have the host clear others.
    static SPARE: Cell<Option<Mapping>> = const { Cell::new(None) };
}

/// The mapping, or the part of it that a simulation uses.
pub(crate) struct Region {
    base: NonNull<u8>,
    bytes: usize,
    arena_bytes: usize,
    stack_bytes: usize,
    /// Until it is dropped.
    mapping: Option<Mapping>,
}

impl Region {
    /// Returns memory for this many bytes of arena and this many stacks, with arbitrary contents.
    pub(crate) fn map(arena_bytes: usize, stacks: usize, stack_bytes: usize) -> io::Result<Region> {
        let bytes = arena_bytes + stacks * stack_bytes;
        let fits = |spare: &Mapping| (spare.arena_bytes, spare.stack_bytes) == (arena_bytes, stack_bytes);
        let mapping = match SPARE.take().filter(|spare| fits(spare) && spare.bytes >= bytes) {
            Some(spare) => spare,
            None => Mapping::new(arena_bytes, stacks, stack_bytes)?,
        };
        Ok(Region { base: mapping.base, bytes, arena_bytes, stack_bytes, mapping: Some(mapping) })
    }

    /// Returns a thread's stack.
    ///
    /// # Safety
    /// One thread has it, and does not run when the region is dropped.
    pub(super) unsafe fn stack(&self, number: usize) -> StackPart {
        let limit = self.base.as_ptr().expose_provenance() + self.arena_bytes + number * self.stack_bytes;
        // SAFETY: the mapping's, and this thread's (contract), but for the lowest page, which may not be touched.
        unsafe { StackPart::new(limit + GUARD, limit + self.stack_bytes) }
    }

    fn offset(&self, address: usize) -> Option<usize> {
        let offset = address.wrapping_sub(self.base.as_ptr().addr());
        (offset < self.bytes).then_some(offset)
    }
}

impl Drop for Region {
    /// Handles to it keep it alive, so it is no longer in use: the next simulation may use it.
    fn drop(&mut self) {
        let mapping = self.mapping.take();
        // If the host's thread is ending, nothing is kept there, and it goes back to the host.
        let _ = SPARE.try_with(|spare| spare.set(mapping));
    }
}

/// A value in the simulated memory; a counted handle.
pub struct Placed<T: 'static>(Rc<PlacedValue<T>>);

struct PlacedValue<T: 'static> {
    at: NonNull<T>,
    _region: Rc<Region>,
}

impl<T> Placed<T> {
    /// Returns its address, by which locks are distinguished.
    #[must_use]
    pub fn address(&self) -> *const u8 {
        self.0.at.as_ptr().cast_const().cast()
    }
}

impl<T> Clone for Placed<T> {
    fn clone(&self) -> Self {
        Placed(Rc::clone(&self.0))
    }
}

impl<T> Deref for Placed<T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: written by `Arena::place`, dropped with the last handle.
        unsafe { self.0.at.as_ref() }
    }
}

impl<T> Drop for PlacedValue<T> {
    fn drop(&mut self) {
        // SAFETY: the last handle goes, and the region is still there.
        unsafe { self.at.drop_in_place() };
    }
}

/// The part of the region from which memory is taken, one piece after another.
pub(crate) struct Arena {
    region: Rc<Region>,
    used: usize,
}

impl Arena {
    pub(crate) fn new(region: Rc<Region>) -> Arena {
        Arena { region, used: 0 }
    }

    /// Puts a value on lines of its own.
    ///
    /// # Panics
    /// When the arena is full.
    pub(crate) fn place<T>(&mut self, value: T) -> Placed<T> {
        let start = self.take(size_of::<T>(), align_of::<T>().max(PLACE_ALIGN));
        let at = self.at(start).cast::<T>();
        // SAFETY: within the mapping, which is aligned to pages, and not handed out before.
        unsafe { at.write(value) };
        Placed(Rc::new(PlacedValue { at, _region: Rc::clone(&self.region) }))
    }

    /// Takes bytes that were never used, by their offset.
    ///
    /// # Panics
    /// When the arena is full.
    pub(crate) fn take(&mut self, bytes: usize, align: usize) -> usize {
        let start = self.used.next_multiple_of(align);
        let (end, all) = (start + bytes.max(1), self.region.arena_bytes);
        assert!(end <= all, "the simulated memory is full: {all} bytes; see `Config::arena_bytes`");
        self.used = end;
        start
    }

    /// Returns the address of an offset.
    pub(crate) fn at(&self, offset: usize) -> NonNull<u8> {
        assert!(offset < self.region.arena_bytes);
        // SAFETY: within the mapping.
        unsafe { self.region.base.add(offset) }
    }

    /// Returns the offset of an address in the arena.
    pub(crate) fn offset(&self, at: NonNull<u8>) -> Option<usize> {
        self.region.offset(at.as_ptr().addr()).filter(|&offset| offset < self.region.arena_bytes)
    }
}

/// Finds a word's line. Lines are numbered from 1 in the order of their first use.
pub(crate) struct LineTable {
    region: Rc<Region>,
    /// Where the region begins, and the lengths of it and its arena: next to the table, since each access reads them.
    span: (usize, usize),
    arena_bytes: usize,
    shift: u32,
    /// Lines of the arena, then those of stacks, whose lines are no longer than a block.
    inside: Vec<u32>,
    stacks: Stacks,
    outside: FxHashMap<usize, u32>,
    lines: u32,
}

/// Where a word is.
enum Place {
    /// Its line's place in [`LineTable::inside`].
    Inside(usize),
    /// On a stack, at this offset from the first; not in use.
    Stack(usize),
    Elsewhere,
}

impl LineTable {
    pub(crate) fn new(region: Rc<Region>, line_bytes: u32) -> LineTable {
        let shift = line_bytes.trailing_zeros();
        let span = (region.base.as_ptr().addr(), region.bytes);
        let stacks_bytes = region.bytes - region.arena_bytes;
        let stacks = Stacks::new(stacks_bytes / region.stack_bytes.max(1), region.stack_bytes);
        let (arena_bytes, inside, outside) = (region.arena_bytes, Vec::new(), FxHashMap::default());
        let mut table = LineTable { region, span, arena_bytes, shift, inside, stacks, outside, lines: 0 };
        table.inside = vec![0; table.line_on_stack(stacks_bytes)];
        table
    }

    /// Returns the place of the line of a word on a stack, if that lay at this offset.
    #[inline]
    fn line_on_stack(&self, placed: usize) -> usize {
        (self.arena_bytes >> self.shift) + 1 + (placed >> self.shift.min(BLOCK.trailing_zeros()))
    }

    #[inline]
    fn place(&self, address: usize) -> Place {
        let offset = address.wrapping_sub(self.span.0);
        if offset < self.arena_bytes {
            return Place::Inside(offset >> self.shift);
        }
        if offset >= self.span.1 {
            return Place::Elsewhere;
        }
        let offset = offset - self.arena_bytes;
        self.stacks.placed(offset).map_or(Place::Stack(offset), |placed| Place::Inside(self.line_on_stack(placed)))
    }

    /// Returns the line of this address, if it has one.
    #[inline(always)]
    pub(crate) fn known(&self, address: usize) -> Option<u32> {
        match self.place(address) {
            Place::Inside(place) => Some(self.inside[place]).filter(|&line| line != 0),
            Place::Stack(_) => None,
            Place::Elsewhere => self.outside.get(&(address >> 3)).copied(),
        }
    }

    /// Returns the line of this address, which is in use from now on, and whether the line is new.
    pub(crate) fn find(&mut self, address: usize) -> (u32, bool) {
        let known = match self.place(address) {
            Place::Inside(place) => &mut self.inside[place],
            Place::Elsewhere => self.outside.entry(address >> 3).or_insert(0),
            Place::Stack(offset) => {
                self.stacks.begin(offset);
                return self.find(address);
            }
        };
        if *known != 0 {
            return (*known, false);
        }
        self.lines += 1;
        *known = self.lines;
        (self.lines, true)
    }

    /// Forgets the word at this address. Which addresses the host's heap reuses differs from run to run, so the next
    /// word there must not get the old one's line; on a stack any other object may follow.
    pub(crate) fn forget(&mut self, address: usize) {
        match self.region.offset(address) {
            None => drop(self.outside.remove(&(address >> 3))),
            Some(offset) if offset >= self.arena_bytes => self.stacks.end(offset - self.arena_bytes),
            Some(_) => {}
        }
    }

    /// Returns a number for an address in use, the same in every run: in the arena the address; in a stack, where the
    /// word would be if its block were at its place; a line elsewhere counts down from the highest, in steps of a word.
    pub(crate) fn name(&self, address: usize) -> usize {
        let none = usize::MAX;
        match self.region.offset(address) {
            None => none - 4 * self.outside.get(&(address >> 3)).map_or(0, |line| *line as usize),
            Some(offset) if offset >= self.arena_bytes => {
                let first = self.arena_bytes;
                self.stacks.last_placed(offset - first).map_or(none, |placed| self.span.0 + first + placed)
            }
            Some(_) => address,
        }
    }

    /// Returns the number of the stack on which a word lies.
    pub(crate) fn stack_of(&self, address: usize) -> Option<usize> {
        let offset = self.region.offset(address)?.checked_sub(self.arena_bytes)?;
        Some(self.stacks.owner(offset))
    }

    /// Returns whether the address is one of the arena, which stays as it is.
    pub(crate) fn is_placed(&self, address: usize) -> bool {
        self.region.offset(address).is_some_and(|offset| offset < self.arena_bytes)
    }

    /// Returns a line without an address: of the kernel's own data.
    pub(crate) fn fresh(&mut self) -> u32 {
        self.lines += 1;
        self.lines
    }
}

#[cfg(test)]
mod tests {
    use super::{ALIGN, LineTable, Region};
    use std::rc::Rc;

    #[test]
    fn words_elsewhere_have_lines_of_their_own_until_they_are_forgotten() {
        let region = Rc::new(Region::map(8192, 1, 16384).expect("there is address space"));
        let inside = region.base.as_ptr().addr() + 640;
        let elsewhere = Box::new([0_u64; 2]);
        let outside = elsewhere.as_ptr().addr();
        let mut table = LineTable::new(region, 64);
        assert_eq!([inside, inside + 56, inside + 64].map(|at| table.find(at)), [(1, true), (1, false), (2, true)]);
        assert_eq!([outside, outside + 8, outside].map(|at| table.find(at)), [(3, true), (4, true), (3, false)]);
        [inside, outside].into_iter().for_each(|at| table.forget(at));
        assert_eq!([inside, outside, outside + 8].map(|at| table.known(at)), [Some(1), None, Some(4)]);
        assert_eq!(table.find(outside), (5, true), "the next word there is another one");
    }

    #[test]
    fn memory_begins_at_the_same_lower_bits_and_can_be_used_to_its_end() {
        let regions = [(8192, 2), (12_288, 1), (1 << 20, 0)].map(|(arena, stacks)| {
            let region = Region::map(arena, stacks, 16384).expect("there is address space");
            assert_eq!(region.base.as_ptr().addr() % ALIGN, 0);
            region
        });
        for region in regions {
            // SAFETY: the first byte and the last one of the mapping, which is writable but for the guards.
            unsafe {
                region.base.as_ptr().write(1);
                region.base.as_ptr().add(region.bytes - 1).write(1);
            }
        }
    }
}
