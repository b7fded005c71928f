//! Waits of Rust's std and of `parking_lot`: the program of `tests/asleep`.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, RwLock, mpsc};
use std::thread::{self, scope, sleep};
use std::time::Duration;

static INVENTORY: Mutex<u64> = Mutex::new(0);
static TABLE: RwLock<u64> = RwLock::new(0);
static PRICES: parking_lot::Mutex<u64> = parking_lot::Mutex::new(0);
static READY: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());
static STARTED: AtomicBool = AtomicBool::new(false);

const HOLD: Duration = Duration::from_millis(30);

#[inline(never)]
fn take_inventory() {
    *INVENTORY.lock().unwrap() += 1;
}

#[inline(never)]
fn read_table() -> u64 {
    *TABLE.read().unwrap()
}

#[inline(never)]
fn raise_prices() {
    *PRICES.lock() += 1;
}

/// Runs a function in a thread that finds the lock taken, for it is released only later.
fn while_held<T>(held: T, wait: impl FnOnce() + Send) {
    scope(|scope| {
        scope.spawn(wait);
        sleep(HOLD);
        drop(held);
    });
}

fn await_ready() {
    let mut ready = READY.0.lock().unwrap();
    STARTED.store(true, SeqCst);
    while !*ready {
        ready = READY.1.wait(ready).unwrap();
    }
}

fn main() {
    while_held(INVENTORY.lock().unwrap(), take_inventory);
    while_held(TABLE.write().unwrap(), || assert_eq!(read_table(), 0));
    while_held(PRICES.lock(), raise_prices);
    let waits = thread::spawn(await_ready);
    while !STARTED.load(SeqCst) {
        sleep(Duration::from_millis(1));
    }
    sleep(HOLD);
    *READY.0.lock().unwrap() = true;
    READY.1.notify_one();
    waits.join().unwrap();
    let (sender, receiver) = mpsc::channel();
    let receives = thread::spawn(move || receiver.recv());
    sleep(HOLD);
    sender.send(7).unwrap();
    assert_eq!(receives.join().unwrap(), Ok(7));
}
