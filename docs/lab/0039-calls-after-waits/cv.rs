//! cv WAITERS GAP_US ITEMS under|after one|all: a thread puts an item in every GAP_US (with `all`: one for each
//! waiter), and notifies one or all, under the mutex or after its release.
use std::env::args;
use std::hint::spin_loop;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};
use turnwise::{Condvar, Mutex};

static ITEMS: Mutex<(u64, bool)> = Mutex::new((0, false));
static MORE: Condvar = Condvar::new();

/// Takes items until there are no more to come; returns how many.
fn take() -> u64 {
    let mut taken = 0;
    loop {
        let mut items = ITEMS.lock();
        while items.0 == 0 && !items.1 {
            MORE.wait(&mut items);
        }
        if items.0 == 0 {
            return taken;
        }
        items.0 -= 1;
        taken += 1;
    }
}

fn put(items: u64, under: bool, notify: fn(&Condvar)) {
    let mut guard = ITEMS.lock();
    guard.0 += items;
    if under {
        notify(&MORE);
    }
    drop(guard);
    if !under {
        notify(&MORE);
    }
}

fn main() {
    let arguments: Vec<String> = args().skip(1).collect();
    let [waiters, gap_us, items] = std::array::from_fn(|n| arguments[n].parse::<u64>().expect("a number"));
    let (under, all) = (arguments[3] == "under", arguments[4] == "all");
    let (at_once, notify) =
        if all { (waiters, Condvar::notify_all as fn(&Condvar)) } else { (1, Condvar::notify_one as fn(&Condvar)) };
    let taken: u64 = scope(|scope| {
        let threads: Vec<_> = (0..waiters).map(|_| scope.spawn(take)).collect();
        sleep(Duration::from_millis(50));
        let begin = Instant::now();
        for item in 1..=items {
            while begin.elapsed() < Duration::from_micros(gap_us * item) {
                spin_loop();
            }
            put(at_once, under, notify);
        }
        ITEMS.lock().1 = true;
        MORE.notify_all();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(taken, items * at_once);
}
