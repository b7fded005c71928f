//! Cache lines in a chain, and the three ways to touch them one after the other.

use std::hint::black_box;
use std::ptr;
use std::sync::atomic::Ordering::{AcqRel, Relaxed, SeqCst};
use std::sync::atomic::{AtomicPtr, AtomicU64, fence};

/// Two lines of 64 bytes, of which the first is used: CPUs that fetch lines in pairs gain nothing.
#[repr(align(128))]
struct Slot {
    next: AtomicPtr<Slot>,
    count: AtomicU64,
}

/// Lines, and a random order in which they are touched.
pub(super) struct Lines {
    slots: Box<[Slot]>,
    /// The used slots, in order; the last is listed twice (see [`Lines::change`]).
    order: Vec<u32>,
}

/// How lines are touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Touch {
    /// Loads, each of which finds the next one's address.
    Load,
    /// Stores, each waited for.
    Store,
    /// Locked read-modify-writes, each of which decides where the next one is.
    Rmw,
}

impl Lines {
    /// Creates `count` lines of `line_bytes` each. The calling thread touches them first, so they are on its node.
    pub(super) fn new(count: u32, line_bytes: u32) -> Lines {
        // Lines larger than 64 bytes: every `step`th slot.
        let step = (line_bytes / size_of::<Slot>() as u32).max(1);
        let slot = |_| Slot { next: AtomicPtr::new(ptr::null_mut()), count: AtomicU64::new(0) };
        let slots: Box<[Slot]> = (0..count * step).map(slot).collect();
        let mut order: Vec<u32> = (0..count).map(|index| index * step).collect();
        fastrand::Rng::with_seed(u64::from(count)).shuffle(&mut order);
        for (index, &from) in order.iter().enumerate() {
            let to = order[(index + 1) % order.len()];
            slots[from as usize].next.store(ptr::from_ref(&slots[to as usize]).cast_mut(), Relaxed);
        }
        order.extend(order.last().copied());
        Lines { slots, order }
    }

    /// Returns how many lines there are.
    pub(super) fn count(&self) -> usize {
        self.order.len() - 1
    }

    fn used(&self) -> impl Iterator<Item = &Slot> {
        self.order[..self.count()].iter().map(|&index| &self.slots[index as usize])
    }

    /// Touches every line once.
    #[inline(never)]
    pub(super) fn touch(&self, how: Touch) {
        match how {
            Touch::Load => self.chase(),
            Touch::Store => self.store(),
            Touch::Rmw => self.change(),
        }
    }

    /// Loads every line, each load when the one before has ended.
    #[inline]
    fn chase(&self) {
        let mut at = &self.slots[self.order[0] as usize];
        for _ in 0..self.count() {
            // SAFETY: `new` linked every used slot to another one of this box, and no code changes that.
            at = unsafe { &*at.next.load(Relaxed) };
        }
        black_box(at);
    }

    /// Stores to every line and waits for each store; else the store buffer would hide the cost of the line.
    #[inline]
    fn store(&self) {
        let mut skip = 0;
        for index in 0..self.count() {
            let slot = &self.slots[self.order[index + skip] as usize];
            skip = store_and_wait(&slot.count);
        }
        black_box(skip);
    }

    /// Changes every line. The count's highest bit, never set, decides the next line: the CPU cannot begin early.
    #[inline]
    fn change(&self) {
        let mut skip = 0;
        for index in 0..self.count() {
            let slot = &self.slots[self.order[index + skip] as usize];
            skip = (slot.count.fetch_add(1, AcqRel) >> 63) as usize;
        }
        black_box(skip);
    }

    /// Modifies every line.
    pub(super) fn modify(&self) {
        self.used().for_each(|slot| {
            slot.count.fetch_add(1, Relaxed);
        });
    }

    /// Reads every line.
    pub(super) fn read(&self) {
        black_box(self.used().fold(0, |sum, slot| sum ^ slot.count.load(Relaxed)));
    }

    /// Evicts every line from every cache.
    pub(super) fn flush(&self) {
        self.used().for_each(|slot| flush(ptr::from_ref(slot).cast()));
        fence(SeqCst);
    }
}

/// Stores half of a word and loads the whole: a store buffer can forward only its half to the load, so the load waits
/// until the store has its line. Returns 0, for the next address to depend on (see [`Lines::change`]).
///
/// Fences and locked operations wait less surely: AMD's CPUs continue with the result of a locked operation while
/// earlier stores wait for their lines.
#[inline(always)]
fn store_and_wait(word: &AtomicU64) -> usize {
    let word = word.as_ptr();
    // SAFETY: the word lives as long as the reference, and other threads touch it in their own turns only. Both
    // accesses are volatile: the compiler may not make one of the two.
    unsafe {
        word.cast::<u32>().write_volatile(1);
        (word.read_volatile() >> 63) as usize
    }
}

fn flush(line: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: `line` is in a live allocation; its content does not change.
    unsafe {
        core::arch::x86_64::_mm_clflush(line);
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: `line` is in a live allocation; its content does not change. Linux lets user space clean lines.
    unsafe {
        core::arch::asm!("dc civac, {}", "dsb ish", in(reg) line, options(nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = line;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(lines: &Lines) -> Vec<u64> {
        lines.used().map(|slot| slot.count.load(Relaxed)).collect()
    }

    #[test]
    fn each_line_is_touched_once() {
        let lines = Lines::new(37, 64);
        assert_eq!(lines.count(), 37);
        lines.modify();
        lines.touch(Touch::Rmw);
        assert_eq!(counts(&lines), [2; 37]);
        lines.touch(Touch::Store);
        assert_eq!(counts(&lines), [1; 37]);
        lines.flush();
        assert_eq!(counts(&lines), [1; 37]);
    }

    #[test]
    fn the_chain_is_one_ring() {
        let lines = Lines::new(64, 256);
        let first = &lines.slots[lines.order[0] as usize];
        let (mut at, mut length) = (first, 0);
        loop {
            // SAFETY: as in `chase`.
            at = unsafe { &*at.next.load(Relaxed) };
            length += 1;
            if ptr::eq(at, first) {
                break;
            }
        }
        assert_eq!(length, 64);
        let distance = ptr::from_ref(&lines.slots[2]).addr() - ptr::from_ref(&lines.slots[0]).addr();
        assert_eq!(distance, 256, "larger lines are farther apart");
        assert!(lines.order.iter().all(|index| index % 2 == 0));
    }
}
