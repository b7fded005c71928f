//! The memory of a check: objects that threads share in one block, and a stack for each thread. Their contents are the
//! state, which can be saved, restored and hashed.

use corosensei::stack::{DefaultStack, Stack};
use corosensei::{Coroutine, CoroutineResult, Yielder};
use std::alloc::{self, Layout};
use std::cell::Cell;
use std::mem::ManuallyDrop;
use xxhash_rust::xxh3::xxh3_128;

/// Bytes of shared objects that a check may have.
const ARENA: usize = 1 << 14;
/// A stack; the panic handler needs most of it.
const STACK: usize = 1 << 16;
/// Bytes at a stack's base in which corosensei keeps the way back to the coroutine's resumer, rewritten at each resume.
const LINK: usize = 16;
/// Bytes below a stack's top that are cleared when its thread is suspended, so that the next calls find the same
/// contents there whatever ran before.
const CLEARED: usize = 2048;

/// Shared objects, one after the other.
pub(super) struct Arena {
    base: *mut u8,
    used: Cell<usize>,
}

impl Arena {
    const LAYOUT: Layout = match Layout::from_size_align(ARENA, 4096) {
        Ok(layout) => layout,
        Err(_) => unreachable!(),
    };

    pub(super) fn new() -> Self {
        // SAFETY: the layout has a size.
        let base = unsafe { alloc::alloc_zeroed(Self::LAYOUT) };
        assert!(!base.is_null(), "no memory for a check");
        Arena { base, used: Cell::new(0) }
    }

    /// Moves `value` into the arena, where it stays to the end of the check and is never dropped.
    pub(super) fn keep<T: 'static>(&self, value: T) -> &'static T {
        const { assert!(!std::mem::needs_drop::<T>(), "what owns memory elsewhere cannot be saved") };
        let at = self.used.get().next_multiple_of(align_of::<T>());
        assert!(at + size_of::<T>() <= ARENA, "a check has too many objects");
        self.used.set(at + size_of::<T>());
        // SAFETY: inside of the block, aligned as far as a page is, and given to no other object. No thread of the
        // check outlives the arena.
        unsafe {
            let place = self.base.add(at).cast::<T>();
            place.write(value);
            &*place
        }
    }

    /// Returns the offset of `address` in it.
    pub(super) fn offset(&self, address: usize) -> usize {
        address.wrapping_sub(self.base.addr())
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the block was zeroed and then written; no thread runs meanwhile.
        unsafe { std::slice::from_raw_parts(self.base, self.used.get()) }
    }

    pub(super) fn hash(&self) -> u128 {
        xxh3_128(self.bytes())
    }

    pub(super) fn save(&self, to: &mut Vec<u8>) {
        to.extend_from_slice(self.bytes());
    }

    /// Copies back what [`Arena::save`] appended; returns the bytes after that.
    pub(super) fn restore<'a>(&self, from: &'a [u8]) -> &'a [u8] {
        let (own, rest) = from.split_at(self.used.get());
        // SAFETY: the same number of bytes as the block has in use; all threads are suspended outside of any access,
        // and hold nothing but shared references to cells.
        unsafe { std::ptr::copy_nonoverlapping(own.as_ptr(), self.base, own.len()) };
        rest
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { alloc::dealloc(self.base, Self::LAYOUT) };
    }
}

type Coro = Coroutine<u8, (), ()>;

/// How a coroutine suspends itself; receives the alternative with which it is resumed.
pub(super) type Suspend = Yielder<u8, ()>;

/// A thread: a coroutine whose stack can be saved and restored.
///
/// Corosensei's handle is a few words, of which only the stack pointer changes; together with the bytes from there to
/// the stack's base it is the whole suspended coroutine.
pub(super) struct Fiber {
    coro: ManuallyDrop<Coro>,
    base: usize,
    limit: usize,
}

/// Words of a handle.
const HANDLE: usize = size_of::<Coro>() / size_of::<usize>();

impl Fiber {
    pub(super) fn new(body: impl FnOnce(&Suspend) + 'static) -> Self {
        let stack = DefaultStack::new(STACK).expect("memory for a stack");
        let (base, limit) = (stack.base().get(), stack.limit().get());
        let coro = Coro::with_stack(stack, move |suspend, _| body(suspend));
        Fiber { coro: ManuallyDrop::new(coro), base, limit }
    }

    /// Runs it to its next suspension; returns whether it has ended.
    pub(super) fn resume(&mut self, alternative: u8) -> bool {
        let ended = matches!(self.coro.resume(alternative), CoroutineResult::Return(()));
        if !ended {
            self.clear_below(self.top());
        }
        ended
    }

    fn handle(&self) -> [usize; HANDLE] {
        // SAFETY: the handle consists of words, without padding.
        unsafe { std::ptr::from_ref(&self.coro).cast::<[usize; HANDLE]>().read() }
    }

    /// Returns the lowest address of the stack in use: of the words in the handle that point into the stack, the
    /// initial stack pointer and the present one, the lower.
    fn top(&self) -> usize {
        let inside = self.handle().into_iter().filter(|word| (self.limit..self.base).contains(word));
        inside.filter(|&word| word != self.limit).min().expect("a coroutine that has not ended")
    }

    fn clear_below(&self, top: usize) {
        let from = top.saturating_sub(CLEARED).max(self.limit + 8192);
        // SAFETY: the unused part of a stack that is not running.
        unsafe { std::ptr::write_bytes(std::ptr::with_exposed_provenance_mut::<u8>(from), 0, top - from) };
    }

    fn bytes(&self) -> &[u8] {
        let top = self.top();
        // SAFETY: the used part of a stack that is not running, without the way back.
        unsafe { std::slice::from_raw_parts(std::ptr::with_exposed_provenance(top), self.base - LINK - top) }
    }

    pub(super) fn hash(&self) -> u128 {
        xxh3_128(self.bytes())
    }

    /// Appends the coroutine, which has not ended.
    pub(super) fn save(&self, to: &mut Vec<u8>) {
        self.handle().iter().for_each(|word| to.extend_from_slice(&word.to_ne_bytes()));
        to.extend_from_slice(self.bytes());
    }

    /// Copies back what [`Fiber::save`] appended.
    pub(super) fn restore(&mut self, from: &[u8]) {
        let (handle, stack) = from.split_at(size_of::<Coro>());
        let top = self.base - LINK - stack.len();
        // SAFETY: the bytes of the handle and of its stack at one time; the coroutine is suspended, or has ended.
        // Nothing on the stack owns anything outside of it.
        unsafe {
            let own = std::ptr::from_mut(&mut self.coro).cast::<u8>();
            std::ptr::copy_nonoverlapping(handle.as_ptr(), own, handle.len());
            let place = std::ptr::with_exposed_provenance_mut::<u8>(top);
            std::ptr::copy_nonoverlapping(stack.as_ptr(), place, stack.len());
        }
        self.clear_below(top);
    }
}

impl Drop for Fiber {
    fn drop(&mut self) {
        if self.coro.started() && !self.coro.done() {
            // SAFETY: nothing on the stack owns anything, and only objects that are no longer used point to it.
            unsafe { self.coro.force_reset() };
        }
        // SAFETY: dropped once, here; it has ended, or never started.
        unsafe { ManuallyDrop::drop(&mut self.coro) };
    }
}

/// Clears what earlier calls left on the stack below the caller.
///
/// Functions leave parts of their frames unwritten, and so inherit what earlier calls left there. That is not part of a
/// thread's state, but would be counted as one: depending on the layout that the compiler chose, a check of 80,000
/// states had more than 4,000,000. So every operation of the platform ends with this, in the lock's function that
/// called it, and so do the calls with which a check reports which threads are inside of a lock.
#[inline(never)]
pub(super) fn scrub() {
    std::hint::black_box(&mut [0_u64; CLEARED / 8]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restored_coroutine_goes_on_from_where_it_was() {
        let arena = Arena::new();
        let log = arena.keep([const { Cell::new(0_u8) }; 4]);
        let mut fiber = Fiber::new(move |suspend| {
            let mut sum = 0;
            for place in log {
                sum += suspend.suspend(());
                place.set(sum);
            }
        });
        let values = || log.each_ref().map(Cell::get);
        assert!(!fiber.resume(0) && !fiber.resume(1));
        let (mut saved, mut shared) = (Vec::new(), Vec::new());
        fiber.save(&mut saved);
        arena.save(&mut shared);
        let hash = (fiber.hash(), arena.hash());
        for ending in [[2, 3, 4], [5, 6, 7]] {
            assert!(!fiber.resume(ending[0]) && !fiber.resume(ending[1]) && fiber.resume(ending[2]));
            assert_eq!(values(), [1, 1 + ending[0], 1 + ending[0] + ending[1], 1 + ending.iter().sum::<u8>()]);
            assert_ne!(arena.hash(), hash.1);
            fiber.restore(&saved);
            assert!(arena.restore(&shared).is_empty());
            assert_eq!((fiber.hash(), arena.hash()), hash);
        }
        assert!(!fiber.resume(9));
        assert_eq!(values(), [1, 10, 0, 0]);
    }
}
