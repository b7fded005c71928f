//! OSv's hand-off mutex, with each way of spinning.

use super::*;
use turnwise_lineage::osv_mutex::{NoSpin, OsvMutex, OwnerAtWake, Policy, Spin, SpinAfterPush, SpinPolling, SpinToOne};

impl<V: Policy> Settles for OsvMutex<V, Loom> {}

pub(in crate::models) fn scene(call: &mut Call) -> Body {
    types! { call mutex:
        plain = NoSpin, offered_once = Spin<1>, offered_twice = Spin<2>, to_one_once = SpinToOne<1>,
        to_one_twice = SpinToOne<2>, polling = SpinPolling<2>, after_push = SpinAfterPush<2>,
        at_wake = OwnerAtWake<Spin<1>>,
    }
}

fn mutex<V: Policy>(call: &mut Call) -> Body {
    scenes! { call(): offered::<V>(), again::<V>(); lock::<OsvMutex<V, Loom>>(call) }
}

/// One thread acquires and another waits for it; a third tries, perhaps when the lock is on offer.
fn offered<V: Policy>() {
    let guarded = Guarded::<OsvMutex<V, Loom>>::keep();
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
fn again<V: Policy>() {
    let guarded = Guarded::<OsvMutex<V, Loom>>::keep();
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
