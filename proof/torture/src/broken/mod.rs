//! Locks that are wrong on purpose, and the verdict that each must get: they show that the harness can fail.
//!
//! There is a file for each sort of lock, with the words of a sound one, its operations, and the broken ones: the same
//! record of operations with one or two replaced.

use crate::ops::LockRecord;
use crate::verdict::Verdict;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};
use turnwise::platform::{Deadline, Native};
use turnwise_catalogue::Nature;

/// A lock that is wrong on purpose.
pub struct BrokenRecord {
    /// The lock.
    pub lock: LockRecord,
    /// The scenarios that must catch it, and the verdict that it must get there.
    pub caught_by: Catchers,
}

/// Scenarios, and the verdict of each.
type Catchers = &'static [(&'static str, Verdict)];

const NATURE: Nature =
    Nature { bounded: true, lets_go: true, forks: true, signals: true, slots: true, in_queue: true, crowd: 12 };

/// Returns what a sound lock has.
const fn sound<T: Copy>(part: Option<T>) -> T {
    part.expect("a sound lock has what a flaw changes")
}

/// Lists locks with flaws, each made of this module's `Words`: name, what is wrong, what must catch it, and the
/// operations in which it differs from the sound lock.
macro_rules! broken {
    ($sound:ident: $($name:literal, $about:literal, $caught_by:expr
        $(, $field:ident: $sort:ident { $($op:ident: $how:expr),+ $(,)? })*;)*) => {
        pub(super) const BROKEN: &[super::BrokenRecord] = &[$(super::BrokenRecord {
            lock: crate::ops::LockRecord::new::<Words>($name, $about, super::NATURE, crate::ops::Ops {
                $($field: Some($sort { $($op: $how,)+ ..super::sound($sound.$field) }),)*
                ..$sound
            }),
            caught_by: $caught_by,
        },)*];
    };
}

mod counts;
mod exclusive;
mod lineage;
mod permits;
mod sequence;
mod shared;
mod tree;

/// The locks.
pub static BROKEN: LazyLock<Vec<&'static BrokenRecord>> = LazyLock::new(|| {
    let exclusive = exclusive::BROKEN.iter().chain(lineage::BROKEN).chain(shared::BROKEN);
    exclusive.chain(sequence::BROKEN).chain(counts::BROKEN).chain(permits::BROKEN).chain(tree::BROKEN).collect()
});

/// Pauses between two tries, or between a check and what rests on it, for longer than a yield: the flaw must show, not
/// an owner that always comes first, also if all threads share one CPU.
fn pause() {
    std::thread::sleep(Duration::from_micros(20));
}

/// Tries until `deadline`; returns whether a try succeeded.
fn until(deadline: Deadline, take: impl Fn() -> bool) -> bool {
    loop {
        if take() {
            return true;
        }
        if deadline.expired::<Native>() {
            return false;
        }
        pause();
    }
}

/// Waits until `busy` was false for longer than a thread that is about to come back is ever off its CPU.
fn quiet(busy: impl Fn() -> bool) {
    const QUIET: Duration = Duration::from_millis(100);
    let mut since = Instant::now();
    while since.elapsed() < QUIET {
        if busy() {
            since = Instant::now();
        }
        std::hint::spin_loop();
    }
}

/// Takes a while at every other call.
fn slow_every_other() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    if CALLS.fetch_add(1, Relaxed).is_multiple_of(2) {
        std::thread::sleep(Duration::from_micros(500));
    }
}
