//! Locks that are wrong on purpose, and the verdict that each must get: they show that the harness can fail.

mod lineage;

use crate::broken_shared;
use crate::cell::Verdict;
use crate::cell::Verdict::{Crash, EarlyTimeout, Hang, NoOrder, Starved, TwoOwners};
use crate::counts::broken::{BrokenCount, DeafToDeath, LooksBeforeLocking, NonAtomicPut, TouchAfterPut};
use crate::lock::{Held, Lock, words_of};
use crate::locks::{Abilities, LockRecord, record};
use crate::permits::broken::{
    self as permits_broken, Barges, BrokenPermits, KeepsClaim, KeepsPermits, TornTake, WakesNobody,
};
use crate::references::{BrokenReferences, LastUnlocked, LosesGets};
use crate::sequence::broken::{BrokenSequence, DeafWriter, NoSecondLook, OneStep};
use crate::tree::{
    FileSystem,
    broken::{DeafToRenames, RaisesTheDead},
};
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicUsize};
use std::time::{Duration, Instant};
use turnwise::platform::{Deadline, Lane, Native, Parked, Platform};
use turnwise_vfs::locks::LockSet;

/// A lock that is wrong on purpose.
pub struct BrokenRecord {
    /// The lock.
    pub lock: LockRecord,
    /// The scenarios that must catch it, and the verdict that it must get there.
    pub caught_by: &'static [(&'static str, Verdict)],
}

pub(crate) const CAN: Abilities = Abilities {
    timed: true,
    fair: true,
    condvar: true,
    bounded: true,
    lets_go: true,
    forks: true,
    signals: true,
    slots: true,
    sequence: false,
    counts: false,
    references: false,
    permits: false,
    in_line: false,
    shared: false,
    downgrades: false,
    upgrades: false,
    tree: false,
    crowd: 12,
};
const SEQUENCE: Abilities = Abilities { sequence: true, ..CAN };
const COUNTS: Abilities = Abilities { counts: true, ..CAN };
const REFERENCES: Abilities = Abilities { references: true, ..CAN };

const fn broken<F: Flaw>(
    name: &'static str,
    about: &'static str,
    caught_by: &'static [(&'static str, Verdict)],
) -> BrokenRecord {
    BrokenRecord { lock: record::<Broken<F>>(name, about, CAN), caught_by }
}

const fn sequence<F: crate::sequence::broken::Flaw>(
    name: &'static str,
    about: &'static str,
    caught_by: &'static [(&'static str, Verdict)],
) -> BrokenRecord {
    BrokenRecord { lock: record::<BrokenSequence<F>>(name, about, SEQUENCE), caught_by }
}

const fn counts<F: crate::counts::broken::Flaw>(
    name: &'static str,
    about: &'static str,
    caught_by: &'static [(&'static str, Verdict)],
) -> BrokenRecord {
    BrokenRecord { lock: record::<BrokenCount<F>>(name, about, COUNTS), caught_by }
}

const fn permits<F: crate::permits::broken::Flaw>(
    name: &'static str,
    about: &'static str,
    caught_by: &'static [(&'static str, Verdict)],
) -> BrokenRecord {
    let can = Abilities { permits: true, in_line: true, ..CAN };
    BrokenRecord { lock: record::<BrokenPermits<F>>(name, about, can), caught_by }
}

const fn tree<L: LockSet<Native>>(
    name: &'static str,
    about: &'static str,
    caught_by: &'static [(&'static str, Verdict)],
) -> BrokenRecord {
    let can = Abilities { tree: true, ..CAN };
    BrokenRecord { lock: record::<FileSystem<L>>(name, about, can), caught_by }
}

const fn references<F: crate::references::Flaw>(
    name: &'static str,
    about: &'static str,
    caught_by: &'static [(&'static str, Verdict)],
) -> BrokenRecord {
    BrokenRecord { lock: record::<BrokenReferences<F>>(name, about, REFERENCES), caught_by }
}

/// The locks.
pub static BROKEN: &[BrokenRecord] = &[
    broken::<NoLock>(
        "no-lock",
        "does nothing",
        &[
            ("exclusion", TwoOwners),
            ("crowd", TwoOwners),
            ("sleepy", TwoOwners),
            ("try", TwoOwners),
            ("timed", TwoOwners),
            ("fair", TwoOwners),
            ("nested", TwoOwners),
            ("comers", TwoOwners),
            ("last-words", TwoOwners),
            ("signals", TwoOwners),
        ],
    ),
    broken::<NonAtomic>("non-atomic", "tests, then sets", &[("exclusion", TwoOwners)]),
    broken::<EarlyRelease>("early-release", "is free before the owner's last write", &[("exclusion", TwoOwners)]),
    broken::<TryLies>("try-lies", "a try always succeeds", &[("try", TwoOwners)]),
    broken::<Hasty>("hasty", "a timed wait ends before its time", &[("timed", EarlyTimeout)]),
    broken::<GivesUpLate>("gives-up-late", "a timed wait that gives up has the lock", &[("timed", Hang)]),
    broken::<KeepsFair>("keeps-fair", "a fair release does not release", &[("fair", Hang)]),
    broken::<LostWakeUp>("lost-wake-up", "a release wakes nobody", &[("sleepy", Hang)]),
    broken::<OneWakeUp>("one-wake-up", "who was woken forgets that others sleep", &[("sleepy", Hang)]),
    broken::<NoHandoff>("no-handoff", "a waiter waits for a quiet moment", &[("starvation", Starved)]),
    broken::<TouchAfter>(
        "touch-after-unlock",
        "a release counts after it released",
        &[("destroy", Crash), ("destroy-condvar", Crash)],
    ),
    broken::<DeafToAll>("deaf-to-all", "notify_all wakes one", &[("storm", Hang)]),
    broken::<DeafToOne>("deaf-to-one", "every eighth notify_one is lost", &[("one-each", Hang)]),
    broken::<LateLook>("late-look", "a wait looks at the sequence after the release", &[("ping-pong", Hang)]),
    broken::<HastyWait>("hasty-wait", "a wait says at once that its time is out", &[("timed-wait", EarlyTimeout)]),
    broken::<NeedsSlot>(
        "needs-slot",
        "a thread without a slot never gets the lock",
        &[("all-slots", Hang), ("last-words", Hang)],
    ),
    broken::<LooksAtStack>("looks-at-stack", "owners look at an earlier owner's stack", &[("exits", Crash)]),
    broken::<ForkForgets>("fork-forgets", "a forked child cannot release", &[("fork", Hang)]),
    sequence::<NoSecondLook>("no-second-look", "an optimistic read believes what it saw", &[("torn-reads", TwoOwners)]),
    sequence::<OneStep>("one-step", "the sequence counts only the end of a change", &[("torn-reads", TwoOwners)]),
    sequence::<DeafWriter>("deaf-writer", "writers do not ask blocking readers", &[("blocking-reads", TwoOwners)]),
    counts::<NonAtomicPut>("non-atomic-put", "a put looks, then stores", &[("count-order", NoOrder)]),
    counts::<LooksBeforeLocking>("looks-before", "who locks believes an earlier look", &[("count-order", NoOrder)]),
    counts::<DeafToDeath>("deaf-to-death", "what is dead can be found", &[("count-order", NoOrder)]),
    counts::<TouchAfterPut>("touch-after-put", "a put looks at the count that it left", &[("destroy-last", Crash)]),
    broken::<lineage::TwoOfATicket>(
        "two-of-a-ticket",
        "two threads may draw the same ticket",
        &[("exclusion", TwoOwners)],
    ),
    broken::<lineage::ServesTwo>(
        "serves-two",
        "a release serves two tickets now and then",
        &[("exclusion", TwoOwners)],
    ),
    broken::<lineage::WokenOwns>(
        "woken-owns",
        "who was woken takes the lock unseen, though others may steal it",
        &[("crowd", TwoOwners)],
    ),
    broken::<lineage::BlindSpinner>(
        "blind-spinner",
        "a spinner that sees no owner takes the lock without a compare-exchange",
        &[("exclusion", TwoOwners)],
    ),
    broken::<lineage::KeepsItsBias>("keeps-its-bias", "an attempt in vain is not put back", &[("exclusion", Hang)]),
    broken::<lineage::StaleLook>("stale-look", "stays away between look and store", &[("exclusion", TwoOwners)]),
    broken::<lineage::NoOffer>(
        "no-offer",
        "a release forgets those between the count and the queue",
        &[("exclusion", Hang)],
    ),
    broken::<lineage::TornOffer>("torn-offer", "two may take one offer", &[("crowd", TwoOwners)]),
    references::<LosesGets>("loses-gets", "a reference may be lost", &[("references", TwoOwners)]),
    references::<LastUnlocked>("last-unlocked", "the last one looks without the lock", &[("references", TwoOwners)]),
    permits::<WakesNobody>("wakes-nobody", "permits come back unseen", &[("permits", Hang)]),
    permits::<TornTake>("torn-take", "a take looks at the permits, then stores", &[("permits", TwoOwners)]),
    permits::<KeepsPermits>("keeps-permits", "a waiter gives up with a part of its permits", &[("permits", Hang)]),
    permits::<KeepsClaim>("keeps-claim", "a waiter that gave up keeps the others out", &[("permits", Hang)]),
    permits::<permits_broken::Hasty>("hasty-permits", "a timed wait does not wait", &[("permits", EarlyTimeout)]),
    permits::<Barges>("barges", "who comes at the right moment is served", &[("permits-line", Starved)]),
    broken::<ForgetsDepth>("forgets-depth", "the inner of two releases lets others in", &[("exclusion", TwoOwners)]),
    broken::<NotReentrant>("not-reentrant", "a thread waits in one place at a time", &[("signals", Hang)]),
    broken_shared::LOOKS_AWAY,
    broken_shared::LOOKS_EARLY,
    broken_shared::TRY_LIES,
    broken_shared::HASTY,
    broken_shared::ONE_READER,
    broken_shared::FORGETS_TO_WAKE,
    broken_shared::LETS_GO_TO_DOWNGRADE,
    broken_shared::LETS_GO_TO_UPGRADE,
    broken_shared::READERS_FIRST,
    broken_shared::WRITERS_FIRST,
    broken_shared::TOUCHES_AFTER,
    broken_shared::FORK_FORGETS,
    tree::<DeafToRenames>(
        "vfs-deaf-to-renames",
        "a path is read without a look at the rename lock's sequence",
        &[("tree-paths", NoOrder)],
    ),
    tree::<RaisesTheDead>(
        "vfs-raises-the-dead",
        "who finds a dentry does not ask whether it is dead",
        &[("tree-names", Crash)],
    ),
];

/// Words for a lock; the default methods of [`Flaw`] make a sound one of them.
#[derive(Default)]
#[repr(C)]
struct Words {
    lock: AtomicU32,
    /// Notifications.
    sequence: AtomicU32,
    /// What a flaw needs.
    spare: AtomicUsize,
}

impl Words {
    fn take(&self, as_value: u32) -> bool {
        // ORDERING broken.acquire: pairs with broken.release: nothing is broken but what the flaw says.
        self.lock.compare_exchange(0, as_value, Acquire, Relaxed).is_ok()
    }

    /// Returns what the word was.
    fn free(&self) -> u32 {
        // ORDERING broken.release: pairs with broken.acquire.
        self.lock.swap(0, Release)
    }

    fn notify(&self, count: u32) {
        self.sequence.fetch_add(1, Relaxed);
        Native::wake(&raw const self.sequence, Lane::Waiters, count);
    }
}

/// Between two tries. Longer than a yield: one of the flaws must show, not an owner that always comes first.
fn pause() {
    std::thread::sleep(Duration::from_micros(20));
}

/// What is wrong with a lock: a flaw replaces one or two methods of a sound one.
trait Flaw: Send + Sync + Sized + 'static {
    fn lock(words: &Words) {
        while !words.take(1) {
            pause();
        }
    }
    fn try_lock(words: &Words) -> bool {
        words.take(1)
    }
    fn lock_until(words: &Words, deadline: Deadline) -> bool {
        loop {
            if words.take(1) {
                return true;
            }
            if deadline.expired::<Native>() {
                return false;
            }
            pause();
        }
    }
    fn before_last_write(_words: &Words) {}
    fn unlock(words: &Words) {
        words.free();
    }
    fn unlock_fair(words: &Words) {
        Self::unlock(words);
    }
    fn wait(words: &Words, deadline: Option<Deadline>) -> bool {
        let sequence = words.sequence.load(Relaxed);
        Self::unlock(words);
        let parked = Native::park(&words.sequence, sequence, Lane::Waiters, deadline);
        Self::lock(words);
        parked == Parked::TimedOut
    }
    fn notify_one(words: &Words) {
        words.notify(1);
    }
    fn notify_all(words: &Words) {
        words.notify(u32::MAX);
    }
}

/// A lock with a flaw.
struct Broken<F> {
    words: Words,
    flaw: PhantomData<F>,
}

impl<F> Default for Broken<F> {
    fn default() -> Self {
        Broken { words: Words::default(), flaw: PhantomData }
    }
}

impl<F: Flaw> Lock for Broken<F> {
    fn acquire(&self) -> Held {
        F::lock(&self.words);
        None
    }
    fn try_acquire(&self) -> Option<Held> {
        F::try_lock(&self.words).then_some(None)
    }
    fn acquire_until(&self, deadline: Deadline) -> Option<Held> {
        F::lock_until(&self.words, deadline).then_some(None)
    }
    fn before_last_write(&self) {
        F::before_last_write(&self.words);
    }
    unsafe fn release(&self, _held: Held) {
        F::unlock(&self.words);
    }
    unsafe fn release_fair(&self, _held: Held) {
        F::unlock_fair(&self.words);
    }
    unsafe fn wait(&self, deadline: Option<Deadline>) -> bool {
        F::wait(&self.words, deadline)
    }
    fn notify_one(&self) {
        F::notify_one(&self.words);
    }
    fn notify_all(&self) {
        F::notify_all(&self.words);
    }
    fn words(&self) -> String {
        words_of(&self.words)
    }
}

struct NoLock;
impl Flaw for NoLock {
    fn lock(_words: &Words) {}
    fn try_lock(_words: &Words) -> bool {
        true
    }
    fn lock_until(_words: &Words, _deadline: Deadline) -> bool {
        true
    }
    fn unlock(_words: &Words) {}
}

struct NonAtomic;
impl Flaw for NonAtomic {
    fn lock(words: &Words) {
        while words.lock.load(Relaxed) != 0 {
            std::hint::spin_loop();
        }
        words.lock.store(1, Relaxed);
    }
}

struct ForgetsDepth;
impl Flaw for ForgetsDepth {
    // The owner leaves what it entered within the section; at its end it leaves once more, as `unlock`.
    fn before_last_write(words: &Words) {
        words.free();
    }
}

struct EarlyRelease;
impl Flaw for EarlyRelease {
    fn before_last_write(words: &Words) {
        words.free();
    }
    fn unlock(_words: &Words) {}
}

struct TryLies;
impl Flaw for TryLies {
    fn try_lock(words: &Words) -> bool {
        words.lock.store(1, Relaxed);
        true
    }
}

struct Hasty;
impl Flaw for Hasty {
    fn lock_until(words: &Words, _deadline: Deadline) -> bool {
        words.take(1)
    }
}

struct GivesUpLate;
impl Flaw for GivesUpLate {
    fn lock_until(words: &Words, deadline: Deadline) -> bool {
        Self::lock(words);
        !deadline.expired::<Native>()
    }
}

struct KeepsFair;
impl Flaw for KeepsFair {
    fn unlock_fair(_words: &Words) {}
}

/// Sleeps until it takes the lock as 1 or 2; 2: others may sleep.
fn sleep_for(words: &Words, as_value: u32) {
    if words.take(1) {
        return;
    }
    loop {
        if words.lock.swap(2, Relaxed) == 0 {
            words.lock.store(as_value, Relaxed);
            return;
        }
        Native::park(&words.lock, 2, Lane::Waiters, None);
    }
}

struct LostWakeUp;
impl Flaw for LostWakeUp {
    fn lock(words: &Words) {
        sleep_for(words, 2);
    }
}

struct OneWakeUp;
impl Flaw for OneWakeUp {
    fn lock(words: &Words) {
        sleep_for(words, 1);
    }
    fn unlock(words: &Words) {
        if words.free() == 2 {
            Native::wake(&raw const words.lock, Lane::Waiters, 1);
        }
    }
}

struct NoHandoff;
impl Flaw for NoHandoff {
    fn lock(words: &Words) {
        // Longer than an owner that is about to come back is ever off its CPU.
        const QUIET: Duration = Duration::from_millis(100);
        while !words.take(1) {
            let mut taken = Instant::now();
            while taken.elapsed() < QUIET {
                if words.lock.load(Relaxed) != 0 {
                    taken = Instant::now();
                }
                std::hint::spin_loop();
            }
        }
    }
}

struct TouchAfter;
impl Flaw for TouchAfter {
    fn unlock(words: &Words) {
        static RELEASES: AtomicUsize = AtomicUsize::new(0);
        words.free();
        // One is slower than the next, which may take the memory away.
        if RELEASES.fetch_add(1, Relaxed).is_multiple_of(2) {
            std::thread::sleep(Duration::from_micros(500));
        }
        words.spare.fetch_add(1, Relaxed);
    }
}

struct DeafToAll;
impl Flaw for DeafToAll {
    fn notify_all(words: &Words) {
        words.notify(1);
    }
}

struct DeafToOne;
impl Flaw for DeafToOne {
    fn notify_one(words: &Words) {
        if !words.spare.fetch_add(1, Relaxed).is_multiple_of(8) {
            words.notify(1);
        }
    }
}

struct LateLook;
impl Flaw for LateLook {
    fn wait(words: &Words, deadline: Option<Deadline>) -> bool {
        Self::unlock(words);
        pause();
        let sequence = words.sequence.load(Relaxed);
        let parked = Native::park(&words.sequence, sequence, Lane::Waiters, deadline);
        Self::lock(words);
        parked == Parked::TimedOut
    }
}

struct HastyWait;
impl Flaw for HastyWait {
    fn wait(_words: &Words, _deadline: Option<Deadline>) -> bool {
        true
    }
}

struct NeedsSlot;
impl Flaw for NeedsSlot {
    fn lock(words: &Words) {
        while Native::me().is_none() || !words.take(1) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

struct LooksAtStack;
impl Flaw for LooksAtStack {
    fn lock(words: &Words) {
        while !words.take(1) {
            pause();
        }
        let last = std::ptr::with_exposed_provenance::<u8>(words.spare.load(Relaxed));
        if !last.is_null() {
            // SAFETY: none: the owner may be gone, and its stack with it. This is the flaw.
            std::hint::black_box(unsafe { last.read_volatile() });
        }
        let mine = 0_u8;
        if words.sequence.fetch_add(1, Relaxed).is_multiple_of(16) {
            words.spare.store((&raw const mine).expose_provenance(), Relaxed);
        }
    }
}

struct ForkForgets;
impl Flaw for ForkForgets {
    fn lock(words: &Words) {
        while !words.take(std::process::id()) {
            pause();
        }
    }
    fn try_lock(words: &Words) -> bool {
        words.take(std::process::id())
    }
    fn unlock(words: &Words) {
        if words.lock.load(Relaxed) == std::process::id() {
            words.free();
        }
    }
}

std::thread_local! {
    static WAITS: Cell<bool> = const { Cell::new(false) };
}

struct NotReentrant;
impl Flaw for NotReentrant {
    fn lock(words: &Words) {
        while WAITS.get() {
            pause();
        }
        WAITS.set(true);
        while !words.take(1) {
            pause();
        }
        WAITS.set(false);
    }
}
