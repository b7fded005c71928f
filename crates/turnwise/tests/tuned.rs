//! The settings of a wait have their stated effect, according to the lock's own counters.
#![cfg(all(feature = "native", feature = "spin", feature = "stats"))]

use std::thread;
use std::time::Duration;
use turnwise::RawMutex;
use turnwise::events::Event;
use turnwise::raw::RawLock;
use turnwise::wait::Tuned;

const SPINS: [Event; 5] = [Event::Spun, Event::SpunQueued, Event::SpinLeftOut, Event::SpinOffCpu, Event::SpinTimedOut];

/// Waits with these settings for a lock that is held for longer than any spin takes; returns how many spins were begun,
/// or considered.
fn spins(settings: Tuned) -> u64 {
    let lock = RawMutex::new();
    lock.lock();
    thread::scope(|scope| {
        scope.spawn(|| {
            lock.lock_tuned(settings);
            // SAFETY: this thread has just acquired the lock.
            unsafe { lock.unlock() };
        });
        while lock.stats().get(Event::Contended) == 0 {
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_millis(20)); // longer than any spin
        // SAFETY: this thread acquired the lock before the other began.
        unsafe { lock.unlock() };
    });
    SPINS.iter().map(|event| lock.stats().get(*event)).sum()
}

#[test]
fn a_thread_that_may_not_spin_sleeps_at_once() {
    let off = Tuned { spin_ns: Some(0), ..Tuned::default() };
    assert_eq!(spins(off), 0);
    // A thread that is delayed until the lock is free has no reason to spin.
    let spins_once = |settings| (0..50).any(|_| spins(settings) > 0);
    assert!(spins_once(Tuned::default()), "by default it spins, or decides not to");
    assert!(spins_once(Tuned { spin_ns: Some(1_000), ..Tuned::default() }));
}
