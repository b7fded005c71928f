//! OSv's hand-off mutex, with each way of spinning.

use super::*;
use turnwise_lineage::osv_mutex::{NoSpin, OsvMutex, OwnerAtWake, Policy, Spin, SpinAfterPush, SpinPolling, SpinToOne};

type Plain = OsvMutex<NoSpin, Loom>;
type Offered = OsvMutex<Spin<2>, Loom>;
type ToOne = OsvMutex<SpinToOne<2>, Loom>;
type OnceOffered = OsvMutex<Spin<1>, Loom>;
type OnceToOne = OsvMutex<SpinToOne<1>, Loom>;
type Polling = OsvMutex<SpinPolling<2>, Loom>;
type AfterPush = OsvMutex<SpinAfterPush<2>, Loom>;
type AtWake = OsvMutex<OwnerAtWake<Spin<1>>, Loom>;

impl<V: Policy> Settles for OsvMutex<V, Loom> {}

pub(super) const MODELS: &[Model] = models! { OsvMutex:
    "osv: two threads": PLAIN, (3, 6), SLEEP => all_lock::<Plain>(2, 1);
    "osv: two threads, twice": PLAIN, (2, 4), SLEEP => all_lock::<Plain>(2, 2);
    "osv: three threads": PLAIN, (1, 3), SLEEP => all_lock::<Plain>(3, 1);
    "osv: two wait for the owner": PLAIN, (1, 3), SLEEP => held::<Plain>(2, 0);
    "osv: two wait for the owner, who comes again": PLAIN, (1, 2), SLEEP => held::<Plain>(2, 1);
    "osv: a sleeper wakes for no reason": SPURIOUS, (2, 4), &["woke unwoken"] => held::<Plain>(1, 0);
    "osv: two threads without slots": NAMELESS, (2, 4), SLEEP => all_lock::<Plain>(2, 1);
    "osv: try": PLAIN, (3, 6), EITHER => attempt::<Plain>();
    "osv: try to take the offer": PLAIN, (2, 4), EITHER => offered::<Plain>();
    "osv: again while another comes": PLAIN, (2, 4), SLEEP => again::<Plain>();
    "osv: spin, two threads": PLAIN, (2, 4), ANY => all_lock::<Offered>(2, 1);
    "osv: spin, two wait for the owner": PLAIN, (1, 2), SLEEP => held::<OnceOffered>(2, 0);
    "osv: spin, three threads": PLAIN, (1, 2), ANY => all_lock::<Offered>(3, 1);
    "osv: spin to one, two threads": PLAIN, (2, 4), ANY => all_lock::<ToOne>(2, 1);
    "osv: spin to one, two wait for the owner": PLAIN, (1, 2), SLEEP => held::<OnceToOne>(2, 0);
    "osv: polling, two threads": PLAIN, (2, 4), ANY => all_lock::<Polling>(2, 1);
    "osv: polling, a third waits": PLAIN, (1, 2), SLEEP => held::<Polling>(2, 0);
    "osv: spin after push, two threads": PLAIN, (2, 4), ANY => all_lock::<AfterPush>(2, 1);
    "osv: spin after push, two wait for the owner": PLAIN, (1, 2), SLEEP => held::<AfterPush>(2, 0);
    "osv: owner set at wake, two threads": PLAIN, (2, 4), SLEEP => all_lock::<AtWake>(2, 1);
};

/// One thread acquires and another waits for it; a third tries, perhaps when the lock is on offer.
fn offered<L: Settles>() {
    let guarded = Guarded::<L>::keep();
    guarded.raw.lock();
    let waits = spawn(move || guarded.round());
    let tries = spawn(move || {
        let got = guarded.raw.try_lock();
        saw(if got { "got it" } else { "did not" });
        if got {
            guarded.leave();
        }
    });
    rest();
    guarded.leave();
    waits.join();
    tries.join();
    assert!(guarded.raw.is_settled(), "something is left when everybody has left");
}

/// The owner acquires the lock again, in both ways, while another thread comes.
fn again<L: Settles>() {
    let guarded = Guarded::<L>::keep();
    let other = spawn(move || guarded.round());
    guarded.raw.lock();
    guarded.raw.lock();
    assert!(guarded.raw.try_lock(), "its own lock");
    guarded.section.alone();
    // SAFETY: acquired above.
    unsafe { guarded.raw.unlock() };
    // SAFETY: acquired above.
    unsafe { guarded.raw.unlock() };
    guarded.leave();
    other.join();
    guarded.settled(3);
}
