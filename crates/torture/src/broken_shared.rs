//! Readers-writer locks that are wrong on purpose.

use crate::broken::{BrokenRecord, CAN};
use crate::cell::Verdict;
use crate::cell::Verdict::{Crash, EarlyTimeout, Hang, Starved, TwoOwners};
use crate::lock::{Held, Lock, Shared, words_of};
use crate::locks::{Abilities, record};
use std::marker::PhantomData;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicUsize};
use std::time::{Duration, Instant};
use turnwise::platform::{Deadline, Lane, Native, Platform};

const CAN_SHARE: Abilities = Abilities { shared: true, downgrades: true, upgrades: true, ..CAN };

const fn broken<F: Flaw>(
    name: &'static str,
    about: &'static str,
    caught_by: &'static [(&'static str, Verdict)],
) -> BrokenRecord {
    BrokenRecord { lock: record::<Broken<F>>(name, about, CAN_SHARE), caught_by }
}

pub(crate) const LOOKS_AWAY: BrokenRecord = broken::<LooksAway>(
    "readers-look-away",
    "readers do not look for a writer",
    &[("shared", TwoOwners), ("shared-crowd", TwoOwners), ("shared-sleepy", TwoOwners)],
);
pub(crate) const LOOKS_EARLY: BrokenRecord = broken::<LooksEarly>(
    "readers-look-early",
    "readers look for a writer, then count themselves",
    &[("shared", TwoOwners)],
);
pub(crate) const TRY_LIES: BrokenRecord =
    broken::<TryLies>("read-try-lies", "a try to read always succeeds", &[("shared-try", TwoOwners)]);
pub(crate) const HASTY: BrokenRecord =
    broken::<Hasty>("hasty-readers", "a timed read ends before its time", &[("shared-timed", EarlyTimeout)]);
pub(crate) const ONE_READER: BrokenRecord =
    broken::<OneReader>("one-reader", "readers exclude one another", &[("together", Hang)]);
pub(crate) const FORGETS_TO_WAKE: BrokenRecord =
    broken::<ForgetsToWake>("reader-wakes-nobody", "the last reader wakes no writer", &[("shared-sleepy", Hang)]);
pub(crate) const LETS_GO_TO_DOWNGRADE: BrokenRecord =
    broken::<LetsGoToDowngrade>("downgrade-lets-go", "a downgrade releases, then reads", &[("downgrade", TwoOwners)]);
pub(crate) const LETS_GO_TO_UPGRADE: BrokenRecord =
    broken::<LetsGoToUpgrade>("upgrade-lets-go", "an upgrade releases, then writes", &[("upgrade", TwoOwners)]);
pub(crate) const READERS_FIRST: BrokenRecord = broken::<ReadersFirst>(
    "readers-first",
    "a writer waits until no reader came for long",
    &[("hostile-readers", Starved)],
);
pub(crate) const WRITERS_FIRST: BrokenRecord = broken::<WritersFirst>(
    "writers-first",
    "a reader waits until no writer came for long",
    &[("hostile-writers", Starved)],
);
pub(crate) const TOUCHES_AFTER: BrokenRecord =
    broken::<TouchesAfter>("reader-touches-after", "a reader counts after it left", &[("shared-destroy", Crash)]);
pub(crate) const FORK_FORGETS: BrokenRecord =
    broken::<ForkForgets>("readers-fork-forgets", "a forked child cannot release", &[("shared-fork", Hang)]);

const WRITER: u32 = 1 << 31;
const UPGRADABLE: u32 = 1 << 30;

/// Words for a lock; the default methods of [`Flaw`] make a sound one of them.
#[derive(Default)]
#[repr(C)]
struct Words {
    /// Readers, [`UPGRADABLE`], [`WRITER`].
    lock: AtomicU32,
    /// What a flaw needs.
    spare: AtomicU32,
}

impl Words {
    /// Changes the word if `may(word)`; says whether it did.
    fn change(&self, may: impl Fn(u32) -> bool, change: impl Fn(u32) -> u32) -> bool {
        let word = self.lock.load(Relaxed);
        // ORDERING broken_shared.acquire: pairs with broken_shared.release: nothing is broken but what the flaw says.
        may(word) && self.lock.compare_exchange(word, change(word), Acquire, Relaxed).is_ok()
    }

    fn await_change(&self, may: impl Fn(u32) -> bool, change: impl Fn(u32) -> u32) {
        while !self.change(&may, &change) {
            pause();
        }
    }

    fn take_write(&self) -> bool {
        self.change(|word| word == 0, |_| WRITER)
    }

    fn take_read(&self) -> bool {
        self.change(|word| word & WRITER == 0, |word| word + 1)
    }

    /// Returns what the word was.
    fn give(&self, what: u32) -> u32 {
        // ORDERING broken_shared.release: pairs with broken_shared.acquire.
        self.lock.fetch_sub(what, Release)
    }

    /// Waits until `busy` was not seen for longer than a thread that is about to come back is ever off its CPU.
    fn await_quiet(&self, busy: impl Fn(u32) -> bool) {
        const QUIET: Duration = Duration::from_millis(100);
        let mut since = Instant::now();
        while since.elapsed() < QUIET {
            if busy(self.lock.load(Relaxed)) {
                since = Instant::now();
            }
            std::hint::spin_loop();
        }
    }
}

/// Between two tries.
fn pause() {
    std::thread::sleep(Duration::from_micros(20));
}

/// Tries until `deadline`.
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

/// What is wrong with a lock: a flaw replaces one or two methods of a sound one.
trait Flaw: Send + Sync + Sized + 'static {
    fn write(words: &Words) {
        while !words.take_write() {
            pause();
        }
    }
    fn unlock_write(words: &Words) {
        words.give(WRITER);
    }
    fn try_read(words: &Words) -> bool {
        words.take_read()
    }
    fn read(words: &Words) {
        while !words.take_read() {
            pause();
        }
    }
    fn read_until(words: &Words, deadline: Deadline) -> bool {
        until(deadline, || words.take_read())
    }
    fn unlock_read(words: &Words) {
        words.give(1);
    }
    fn downgrade(words: &Words) {
        words.give(WRITER - 1);
    }
    fn upgrade(words: &Words, deadline: Option<Deadline>) -> bool {
        let take = || words.change(|word| word == UPGRADABLE, |_| WRITER);
        match deadline {
            Some(deadline) => until(deadline, take),
            None => {
                while !take() {
                    pause();
                }
                true
            }
        }
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
        F::write(&self.words);
        None
    }
    fn try_acquire(&self) -> Option<Held> {
        self.words.take_write().then_some(None)
    }
    fn acquire_until(&self, deadline: Deadline) -> Option<Held> {
        until(deadline, || self.words.take_write()).then_some(None)
    }
    unsafe fn release(&self, _held: Held) {
        F::unlock_write(&self.words);
    }
    fn shared(&self) -> &dyn Shared {
        self
    }
    fn words(&self) -> String {
        words_of(&self.words)
    }
}

impl<F: Flaw> Shared for Broken<F> {
    fn read(&self) {
        F::read(&self.words);
    }
    fn try_read(&self) -> bool {
        F::try_read(&self.words)
    }
    fn read_until(&self, deadline: Deadline) -> bool {
        F::read_until(&self.words, deadline)
    }
    unsafe fn unlock_read(&self) {
        F::unlock_read(&self.words);
    }
    unsafe fn downgrade(&self) {
        F::downgrade(&self.words);
    }
    fn upgradable_read(&self, at_once: bool) -> bool {
        let (may, change) = (|word| word & (WRITER | UPGRADABLE) == 0, |word| word | UPGRADABLE);
        if at_once {
            return self.words.change(may, change);
        }
        self.words.await_change(may, change);
        true
    }
    unsafe fn upgrade(&self, deadline: Option<Deadline>) -> bool {
        F::upgrade(&self.words, deadline)
    }
    unsafe fn downgrade_to_upgradable(&self) {
        self.words.give(WRITER - UPGRADABLE);
    }
    unsafe fn unlock_upgradable(&self) {
        self.words.give(UPGRADABLE);
    }
}

struct LooksAway;
impl Flaw for LooksAway {
    fn read(_words: &Words) {}
    fn unlock_read(_words: &Words) {}
}

struct LooksEarly;
impl Flaw for LooksEarly {
    fn read(words: &Words) {
        while words.lock.load(Relaxed) & WRITER != 0 {
            std::hint::spin_loop();
        }
        crate::arena::spin(20);
        words.lock.fetch_add(1, Relaxed);
    }
}

struct TryLies;
impl Flaw for TryLies {
    fn try_read(words: &Words) -> bool {
        words.lock.fetch_add(1, Relaxed);
        true
    }
}

struct Hasty;
impl Flaw for Hasty {
    fn read_until(words: &Words, _deadline: Deadline) -> bool {
        words.take_read()
    }
}

struct OneReader;
impl Flaw for OneReader {
    fn read(words: &Words) {
        words.await_change(|word| word == 0, |_| 1);
    }
}

/// A writer that finds readers inside sleeps where the last of them would have to wake it.
struct ForgetsToWake;
impl Flaw for ForgetsToWake {
    fn write(words: &Words) {
        while !words.take_write() {
            let word = words.lock.load(Relaxed);
            let lane = if word & WRITER != 0 { Lane::Waiters } else { Lane::First };
            if word != 0 {
                Native::park(&words.lock, word, lane, None);
            }
        }
    }
    fn unlock_write(words: &Words) {
        words.give(WRITER);
        Native::wake(&raw const words.lock, Lane::Waiters, u32::MAX);
    }
}

struct LetsGoToDowngrade;
impl Flaw for LetsGoToDowngrade {
    fn downgrade(words: &Words) {
        words.give(WRITER);
        pause();
        Self::read(words);
    }
}

struct LetsGoToUpgrade;
impl Flaw for LetsGoToUpgrade {
    fn upgrade(words: &Words, _deadline: Option<Deadline>) -> bool {
        words.give(UPGRADABLE);
        pause();
        Self::write(words);
        true
    }
}

struct ReadersFirst;
impl Flaw for ReadersFirst {
    fn write(words: &Words) {
        words.await_quiet(|word| word != 0);
        while !words.take_write() {
            words.await_quiet(|word| word != 0);
        }
    }
}

struct WritersFirst;
impl Flaw for WritersFirst {
    fn read(words: &Words) {
        words.await_quiet(|word| word & WRITER != 0);
        while !words.take_read() {
            words.await_quiet(|word| word & WRITER != 0);
        }
    }
}

struct TouchesAfter;
impl Flaw for TouchesAfter {
    fn unlock_read(words: &Words) {
        static RELEASES: AtomicUsize = AtomicUsize::new(0);
        words.give(1);
        // One is slower than the writer, which may take the memory away.
        if RELEASES.fetch_add(1, Relaxed).is_multiple_of(2) {
            std::thread::sleep(Duration::from_micros(500));
        }
        words.spare.fetch_add(1, Relaxed);
    }
}

struct ForkForgets;
impl Flaw for ForkForgets {
    fn write(words: &Words) {
        while !words.take_write() {
            pause();
        }
        words.spare.store(std::process::id(), Relaxed);
    }
    fn unlock_write(words: &Words) {
        if words.spare.load(Relaxed) == std::process::id() {
            words.give(WRITER);
        }
    }
}
