//! The Linux mutex of 2013 in its versions, and the queue of its spinners.

use super::*;
use turnwise_lineage::linux_mutex::mcs::SpinnerQueue;
use turnwise_lineage::linux_mutex::{Baseline, LinuxMutex, NoSpin, Patch1, Patch1And2, Policy};

impl<V: Policy> Settles for LinuxMutex<V, Loom> {}

pub(in crate::models) fn scene(call: &mut Call) -> Body {
    types! { call lock:
        baseline = LinuxMutex<Baseline, Loom>, patch_1 = LinuxMutex<Patch1, Loom>,
        patches_1_and_2 = LinuxMutex<Patch1And2, Loom>, no_spin = LinuxMutex<NoSpin, Loom>;
        scenes! { call(): queue(threads, rounds) }
    }
}

/// Every thread takes `rounds` turns.
fn queue(threads: u32, rounds: u32) {
    let (queue, data) = (keep(SpinnerQueue::<Loom>::new_in()), keep(Protected::new()));
    together(threads, move || (0..rounds).for_each(|_| queue.take_turn(|| data.add())));
    assert_eq!(data.get(), threads * rounds, "turns");
}
