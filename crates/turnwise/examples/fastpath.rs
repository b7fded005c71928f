//! The fast paths as functions with names, generic and written by hand: `cargo xtask asm` shows them side by side.

use core::cell::{Cell, UnsafeCell};
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::{Mutex, RawLock, RawMutex};

/// `RawMutex::lock` on `Native`.
// SAFETY: the name is used once.
#[unsafe(no_mangle)]
#[inline(never)]
pub fn generic_lock(lock: &RawMutex) {
    lock.lock();
}

/// `RawMutex::unlock` on `Native`.
///
/// # Safety
/// The caller has the lock.
// SAFETY: the name is used once.
#[unsafe(no_mangle)]
#[inline(never)]
pub unsafe fn generic_unlock(lock: &RawMutex) {
    // SAFETY: the caller has it.
    unsafe { lock.unlock() }
}

/// A critical section of one instruction.
// SAFETY: the name is used once.
#[unsafe(no_mangle)]
#[inline(never)]
pub fn generic_add(count: &Mutex<u64>) {
    *count.lock() += 1;
}

thread_local! {
    static TOKEN: Cell<u32> = const { Cell::new(1) };
}

/// The mutex's lock and unlock by hand, without `Platform`, guards and types.
#[repr(C)]
pub struct Hand {
    word: AtomicU32,
    spinners: AtomicU32,
    count: UnsafeCell<u64>,
}

// SAFETY: `count` is used under the lock only.
unsafe impl Sync for Hand {}

#[cold]
#[inline(never)]
fn hand_lock_slow(lock: &Hand) {
    while lock.word.compare_exchange(0, TOKEN.get(), Acquire, Relaxed).is_err() {
        lock.spinners.fetch_add(1, Relaxed);
        std::thread::yield_now();
    }
}

#[cold]
#[inline(never)]
fn hand_unlock_slow(lock: &Hand) {
    lock.word.swap(0, Release);
    lock.spinners.store(0, Relaxed);
}

/// One compare-exchange, by hand.
// SAFETY: the name is used once.
#[unsafe(no_mangle)]
#[inline(never)]
pub fn hand_lock(lock: &Hand) {
    if lock.word.compare_exchange(0, TOKEN.get(), Acquire, Relaxed).is_err() {
        hand_lock_slow(lock);
    }
}

/// One subtraction, by hand.
// SAFETY: the name is used once.
#[unsafe(no_mangle)]
#[inline(never)]
pub fn hand_unlock(lock: &Hand) {
    if lock.word.fetch_sub(TOKEN.get(), Release) != TOKEN.get() {
        hand_unlock_slow(lock);
    }
}

/// The critical section of one instruction, by hand.
// SAFETY: the name is used once.
#[unsafe(no_mangle)]
#[inline(never)]
pub fn hand_add(lock: &Hand) {
    if lock.word.compare_exchange(0, TOKEN.get(), Acquire, Relaxed).is_err() {
        hand_lock_slow(lock);
    }
    // SAFETY: under the lock.
    unsafe { *lock.count.get() += 1 };
    if lock.word.fetch_sub(TOKEN.get(), Release) != TOKEN.get() {
        hand_unlock_slow(lock);
    }
}

fn main() {
    TOKEN.set(std::process::id() & 0xffff);
    let raw = RawMutex::new();
    generic_lock(&raw);
    // SAFETY: just acquired.
    unsafe { generic_unlock(&raw) };
    let count = Mutex::new(0);
    generic_add(&count);
    let hand = Hand { word: AtomicU32::new(0), spinners: AtomicU32::new(0), count: UnsafeCell::new(0) };
    hand_lock(&hand);
    hand_unlock(&hand);
    hand_add(&hand);
    println!("{} {}", *count.lock(), hand.count.into_inner());
}
