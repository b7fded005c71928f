//! The semaphore on real threads.
#![cfg(feature = "native")]

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};
use turnwise::{FairSemaphore, Mutex, Semaphore};

const ROUNDS: u32 = if cfg!(miri) { 10 } else { 2_000 };
/// Long enough for another thread to fall asleep.
const MOMENT: Duration = Duration::from_millis(if cfg!(miri) { 3000 } else { 100 });

/// Releases all waiters when an assertion fails, so that the test ends.
struct OnPanic<'a, const FAIR: bool>(&'a Semaphore<FAIR>);

impl<const FAIR: bool> Drop for OnPanic<'_, FAIR> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.release(100);
        }
    }
}

/// Checks that threads that take one to three permits each again and again never hold more than there are.
fn never_more_than_there_are<const FAIR: bool>(semaphore: &Semaphore<FAIR>) {
    const PERMITS: u32 = 3;
    assert_eq!(semaphore.available(), PERMITS);
    let out = AtomicU32::new(0);
    std::thread::scope(|s| {
        for thread in 0..5 {
            let out = &out;
            s.spawn(move || {
                for round in 0..ROUNDS {
                    let n = 1 + (thread + round) % PERMITS;
                    let permits = match round % 4 {
                        0 => semaphore.try_acquire_for(n, Duration::from_micros(u64::from(round % 64))),
                        1 => semaphore.try_acquire_many(n),
                        _ => Some(semaphore.acquire_many(n)),
                    };
                    let Some(permits) = permits else { continue };
                    assert_eq!(permits.count(), n);
                    assert!(out.fetch_add(n, Relaxed) + n <= PERMITS, "more permits out than there are");
                    if round % 16 == 0 {
                        std::thread::yield_now();
                    }
                    out.fetch_sub(n, Relaxed);
                }
            });
        }
    });
    assert_eq!(semaphore.available(), PERMITS);
    let all = semaphore.try_acquire_many(PERMITS).expect("nobody is left in line");
    assert!(semaphore.try_acquire().is_none());
    drop(all);
}

#[test]
fn never_more_permits_out_than_there_are() {
    never_more_than_there_are(&Semaphore::new(3));
    never_more_than_there_are(&FairSemaphore::new_fair(3));
}

#[test]
fn one_permit_is_a_lock() {
    let (semaphore, total) = (Semaphore::new(1), Mutex::new(0));
    std::thread::scope(|s| {
        for _ in 0..3 {
            s.spawn(|| {
                for _ in 0..ROUNDS {
                    let _permit = semaphore.acquire();
                    // Never contended: the permit excludes others.
                    *total.try_lock().expect("alone") += 1;
                }
            });
        }
    });
    assert_eq!(total.into_inner(), 3 * ROUNDS);
}

/// Waits until `threads` threads have announced that they go to a semaphore, then long enough for them to fall asleep.
fn await_comers(coming: &AtomicU32, threads: u32) {
    while coming.load(Relaxed) < threads {
        std::thread::yield_now();
    }
    std::thread::sleep(MOMENT);
}

/// Returns whether `is_so` holds in one of several tries: a thread that is delayed on its way to sleep is too late.
fn once(is_so: impl Fn() -> bool) -> bool {
    (0..20).any(|_| is_so())
}

#[test]
fn a_fair_semaphore_serves_in_order_and_a_large_request_is_not_overtaken() {
    assert!(once(serves_in_order), "others are served first");
}

fn serves_in_order() -> bool {
    let (semaphore, order) = (FairSemaphore::new_fair(0), Mutex::new(Vec::new()));
    let coming = AtomicU32::new(0);
    let in_turn = std::thread::scope(|s| {
        for (place, wants) in [3, 1, 2].into_iter().enumerate() {
            let (semaphore, order, coming) = (&semaphore, &order, &coming);
            s.spawn(move || {
                coming.fetch_add(1, Relaxed);
                let permits = semaphore.acquire_many(wants);
                order.lock().push(place);
                permits.forget();
            });
            await_comers(coming, place as u32 + 1);
        }
        let _on_panic = OnPanic(&semaphore);
        semaphore.release(2);
        std::thread::sleep(MOMENT);
        // Two permits are not enough for the first, and a newcomer must queue behind the waiters.
        let nobody = order.lock().is_empty() && semaphore.try_acquire().is_none();
        semaphore.release(1);
        std::thread::sleep(MOMENT);
        let first = *order.lock() == [0];
        semaphore.release(1);
        std::thread::sleep(MOMENT);
        semaphore.release(2);
        println!("nobody: {nobody}, the first alone: {first}");
        nobody && first
    });
    assert_eq!(semaphore.available(), 0);
    in_turn && order.into_inner() == [0, 1, 2]
}

#[test]
fn a_newcomer_overtakes_on_a_barging_semaphore_until_the_first_requests_permits() {
    assert!(once(a_newcomer_overtakes_until_the_request), "no newcomer overtakes, or one does after the request");
}

fn a_newcomer_overtakes_until_the_request() -> bool {
    let semaphore = Semaphore::new(1);
    let coming = AtomicU32::new(0);
    let as_it_should = std::thread::scope(|s| {
        let waiter = s.spawn(|| {
            coming.fetch_add(1, Relaxed);
            drop(semaphore.acquire_many(2));
        });
        let _on_panic = OnPanic(&semaphore);
        await_comers(&coming, 1);
        // Under an interpreter and load, it may fall asleep so late that it requests a hand-off at once.
        let overtook = semaphore.try_acquire().map(drop).is_some();
        // It has waited too long, and was woken without success: from now on permits are reserved for it.
        std::thread::sleep(MOMENT);
        let is_kept_out = semaphore.try_acquire().is_none();
        semaphore.release(1);
        waiter.join().unwrap();
        println!("overtook: {overtook}, kept out after the request: {is_kept_out}");
        (overtook || cfg!(miri)) && is_kept_out
    });
    assert_eq!(semaphore.available(), 2);
    as_it_should
}

#[test]
fn a_waiter_that_gives_up_takes_no_wake_up_along() {
    let semaphore = FairSemaphore::new_fair(1);
    std::thread::scope(|s| {
        s.spawn(|| {
            let start = Instant::now();
            assert!(semaphore.try_acquire_for(2, MOMENT * 2).is_none());
            assert!(start.elapsed() >= MOMENT * 2);
        });
        std::thread::sleep(MOMENT);
        // Behind the first, which wants more permits than there are: served when that has gone.
        drop(semaphore.acquire());
    });
    assert_eq!(semaphore.available(), 1);
}

#[test]
fn permits_can_be_forgotten_split_and_added() {
    let semaphore = Semaphore::new(3);
    let mut two = semaphore.try_acquire_many(2).expect("there are three");
    let one = two.split(1);
    one.forget();
    drop(two);
    assert_eq!(semaphore.available(), 2);
    semaphore.release(5);
    assert_eq!(semaphore.available(), 7);
    assert_eq!(semaphore.acquire_many(0).count(), 0);
}

#[test]
#[should_panic(expected = "permits")]
fn too_many_permits_are_refused() {
    Semaphore::new(1).release(turnwise::semaphore::PERMITS_MAX);
}
