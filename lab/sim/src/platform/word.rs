//! Words of the simulated memory: as large as the hardware's, so that words that share a line there share one here.

use crate::engine::{self, Doing, Flow, Kind, Op, Posted};
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::panic::Location;
use std::sync::atomic::Ordering;
use turnwise::platform::{IntWord, Word};

/// A word. Every access takes simulated time, and another thread may run before it happens; the access itself is
/// atomic, since threads are only switched before one. A plain store to a placed word may come late, as on x86
/// (`engine/posted.rs`); orderings beyond that are ignored. Outside of simulated threads accesses are free.
#[repr(transparent)]
pub struct SimWord<T>(Cell<T>);

// SAFETY: the threads of a simulation are fibers of one thread of the host, which a simulation never leaves.
unsafe impl<T> Send for SimWord<T> {}
// SAFETY: all threads of a simulation run on one thread of the host, so no access is concurrent.
unsafe impl<T> Sync for SimWord<T> {}

/// The next owner of the memory has another word there, with a line of its own.
impl<T> Drop for SimWord<T> {
    #[inline]
    fn drop(&mut self) {
        engine::forget(std::ptr::from_ref(self).addr());
    }
}

impl<T: Copy> SimWord<T> {
    /// Changes the value in no time.
    pub(crate) fn poke(&self, value: T) {
        self.0.set(value);
    }

    /// Reads the value in no time.
    pub(crate) fn peek(&self) -> T {
        self.0.get()
    }

    /// Gets the line; afterwards the access happens. `None` outside of simulated threads.
    #[inline]
    fn reach(&self, op: Op, at: &'static Location<'static>) -> Option<u32> {
        if !engine::inside() {
            return None;
        }
        let address = std::ptr::from_ref(self).addr();
        let line = engine::reach(address, op, Doing::new(Kind::Memory, at));
        Some(line)
    }

    #[inline]
    fn replace(&self, op: Op, at: &'static Location<'static>, change: impl FnOnce(T) -> T) -> T {
        let line = self.reach(op, at);
        let old = self.0.get();
        self.0.set(change(old));
        line.into_iter().for_each(|line| engine::with(|e| e.wrote(line)));
        old
    }
}

impl<T: Copy + PartialEq> Word for SimWord<T> {
    type Value = T;

    fn new(value: T) -> Self {
        SimWord(Cell::new(value))
    }

    #[inline]
    #[track_caller]
    fn load(&self, _order: Ordering) -> T {
        self.reach(Op::Load, Location::caller());
        self.0.get()
    }

    #[inline]
    #[track_caller]
    fn store(&self, value: T, order: Ordering) {
        let at = Location::caller();
        // A sequentially consistent store is an exchange on x86.
        if order == Ordering::SeqCst {
            self.replace(Op::Rmw, at, |_| value);
            return;
        }
        let bytes = size_of::<T>();
        let mut bits = MaybeUninit::<u64>::zeroed();
        assert!(bytes <= size_of::<u64>(), "words have at most 8 bytes");
        // SAFETY: both have room for this many bytes.
        unsafe { (&raw const value).cast::<u8>().copy_to_nonoverlapping(bits.as_mut_ptr().cast(), bytes) };
        // SAFETY: all of the word.
        unsafe { store(self.0.as_ptr().cast(), bits, bytes, at) };
    }

    #[inline]
    #[track_caller]
    fn swap(&self, value: T, _order: Ordering) -> T {
        self.replace(Op::Rmw, Location::caller(), |_| value)
    }

    #[inline]
    #[track_caller]
    fn compare_exchange(&self, current: T, new: T, _success: Ordering, _failure: Ordering) -> Result<T, T> {
        let line = self.reach(Op::Rmw, Location::caller());
        let old = self.0.get();
        if old != current {
            return Err(old);
        }
        self.0.set(new);
        line.into_iter().for_each(|line| engine::with(|e| e.wrote(line)));
        Ok(old)
    }

    #[track_caller]
    fn fence(order: Ordering) {
        if order == Ordering::SeqCst {
            if engine::inside() {
                engine::step(engine::Engine::drain);
            }
            super::spend(Kind::Memory, |m| m.cpu.rmw_hit, Location::caller());
        }
    }
}

impl SimWord<u32> {
    /// Exchanges some bytes of the word, least significant first, as some kernels' locks do; returns the old ones.
    ///
    /// # Panics
    /// When the bytes are not all within the word.
    #[track_caller]
    pub fn swap_part<const N: usize>(&self, offset: usize, bytes: [u8; N]) -> [u8; N] {
        assert!(offset + N <= size_of::<u32>(), "bytes {offset} to {} of a word of 4", offset + N);
        let old = self.replace(Op::Rmw, Location::caller(), |old| {
            let mut new = old.to_le_bytes();
            new[offset..offset + N].copy_from_slice(&bytes);
            u32::from_le_bytes(new)
        });
        let old = old.to_le_bytes();
        std::array::from_fn(|byte| old[offset + byte])
    }

    /// Stores some bytes of the word plainly, least significant first, as some kernels' locks do it.
    ///
    /// # Panics
    /// When the bytes are not all within the word.
    #[track_caller]
    pub fn store_part<const N: usize>(&self, offset: usize, bytes: [u8; N]) {
        assert!(offset + N <= size_of::<u32>(), "bytes {offset} to {} of a word of 4", offset + N);
        let mut value = [0; 8];
        value[..N].copy_from_slice(&bytes);
        let value = MaybeUninit::new(u64::from_ne_bytes(value));
        let offset = if cfg!(target_endian = "little") { offset } else { size_of::<u32>() - N - offset };
        // SAFETY: within the word, as asserted.
        unsafe { store(self.0.as_ptr().cast::<u8>().add(offset), value, N, Location::caller()) };
    }
}

/// Stores this many bytes plainly, all on one line: to the store buffer, or at once when the line has come.
///
/// # Safety
/// `to` points to this many bytes, at most 8, of a live word, and `value` holds the same number.
pub(super) unsafe fn store(to: *mut u8, value: MaybeUninit<u64>, bytes: usize, at: &'static Location<'static>) {
    let write = || {
        // SAFETY: guaranteed by the caller; no other code accesses the word at this moment.
        unsafe { engine::copy(value, to, bytes) };
    };
    if !engine::inside() {
        return write();
    }
    let doing = Doing::new(Kind::Memory, at);
    if engine::with(|e| e.buffer_full()) {
        engine::step(engine::Engine::drain);
    }
    let (line, posted) = engine::with(|e| {
        let line = e.line(to.addr());
        let posted = e.posts(line, to.addr()).then(|| {
            // SAFETY: it lies in the arena, as `posts` returned, which stays in place.
            e.post(unsafe { Posted::new(line, to, value, bytes) });
            e.spend(doing, e.machine.cpu.store_hit)
        });
        (line, posted)
    });
    match posted {
        Some(Flow::On) => {}
        Some(Flow::Suspend) => engine::suspend(),
        None => {
            engine::reach_line(line, Op::Store, doing);
            write();
            engine::with(|e| e.wrote(line));
        }
    }
}

macro_rules! int_word {
    ($value:ty) => {
        impl IntWord for SimWord<$value> {
            #[inline]
            #[track_caller]
            fn fetch_add(&self, value: $value, _order: Ordering) -> $value {
                self.replace(Op::Rmw, Location::caller(), |old| old.wrapping_add(value))
            }
            #[inline]
            #[track_caller]
            fn fetch_sub(&self, value: $value, _order: Ordering) -> $value {
                self.replace(Op::Rmw, Location::caller(), |old| old.wrapping_sub(value))
            }
            #[inline]
            #[track_caller]
            fn fetch_or(&self, value: $value, _order: Ordering) -> $value {
                self.replace(Op::Rmw, Location::caller(), |old| old | value)
            }
            #[inline]
            #[track_caller]
            fn fetch_and(&self, value: $value, _order: Ordering) -> $value {
                self.replace(Op::Rmw, Location::caller(), |old| old & value)
            }
        }
    };
}

int_word!(u32);
int_word!(u64);
