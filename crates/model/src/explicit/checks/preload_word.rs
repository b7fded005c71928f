//! The preload library's locks with a line of waiters, which a forked child makes anew. Transcribed from
//! `crates/preload/src/word.rs`: that one is tied to the library's policies. `tests/transcriptions.rs` compares them.

use super::Section;
use crate::check::Lock;
use crate::explicit::check::{Check, Machine, Size, Stage, fork};
use crate::explicit::{Explicit, ExplicitWord};
use crate::platform::saw;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use turnwise::backoff::NoBackoff;
use turnwise::platform::{Platform, Word};
use turnwise::spin::{RawQueuedSpinLock, RawSpin, RawTicketLock};

const FORKS: (Size, Size) = (Size::of(2, 1).forked(), Size::of(2, 3).forked());

const fn check(name: &'static str, body: fn(&Stage, Size)) -> Check {
    let machine = Machine { spins_end: false, ..Machine::SPINS };
    Check { name, lock: Lock::PreloadWord, machine, sizes: FORKS, shows: &["forked", "renewed"], body }
}

pub(super) const CHECKS: &[Check] = &[
    check("preload word: a ticket lock in a forked child", forks::<RawTicketLock<NoBackoff, Explicit>>),
    check("preload word: a queued lock in a forked child", forks::<RawQueuedSpinLock<Explicit>>),
];

type AtomicU32 = ExplicitWord<u32>;

struct LockWord {
    spin: AtomicU32,
    line: AtomicU32,
}

const RENEWING: u32 = 1 << 31;

fn generation() -> u32 {
    Explicit::generation()
}

fn spin_lock<R: RawSpin>(word: &AtomicU32) -> &R {
    const { assert!(size_of::<R>() <= size_of::<AtomicU32>() && align_of::<R>() <= align_of::<AtomicU32>()) };
    // SAFETY: these locks are one word of this type.
    unsafe { &*std::ptr::from_ref(word).cast() }
}

impl LockWord {
    fn view<R: RawSpin>(&self) -> &R {
        spin_lock(&self.spin)
    }

    /// As the library's, which waits with more patience.
    fn with_line<R: RawSpin>(&self) -> &R {
        while !self.has_own_line::<R>() {
            Explicit::relax();
        }
        self.view()
    }

    fn has_own_line<R: RawSpin>(&self) -> bool {
        let own = generation();
        let seen = self.line.load(Acquire);
        seen == own || self.renew::<R>(seen, own)
    }

    fn renew<R: RawSpin>(&self, seen: u32, own: u32) -> bool {
        if seen == own | RENEWING || self.line.compare_exchange(seen, own | RENEWING, Relaxed, Relaxed).is_err() {
            return false;
        }
        let new = AtomicU32::new(0);
        if self.view::<R>().is_locked() {
            spin_lock::<R>(&new).try_lock();
        }
        self.spin.store(new.into_inner(), Relaxed);
        self.line.store(own, Release);
        true
    }
}

struct Guarded {
    word: LockWord,
    section: Section,
}

impl Guarded {
    fn lock<R: RawSpin>(&self) {
        self.word.with_line::<R>().lock();
        self.section.alone();
    }

    fn unlock<R: RawSpin>(&self) {
        let lock = self.word.with_line::<R>();
        self.section.write(-1);
        // SAFETY: every caller has it.
        unsafe { lock.unlock() };
    }

    fn round<R: RawSpin>(&self) {
        self.lock::<R>();
        self.unlock::<R>();
    }
}

/// The first thread may fork while it has the lock and others wait. The child starts two threads.
fn forks<R: RawSpin + 'static>(stage: &Stage, size: Size) {
    let word = LockWord { spin: Word::new(0), line: Word::new(0) };
    let guarded = stage.keep(Guarded { word, section: Section::new() });
    stage.watch(move |record| {
        if record.writes(&guarded.word.line) && record.new & u64::from(RENEWING) == 0 {
            saw("renewed");
        }
    });
    stage.spawn(move || {
        guarded.lock::<R>();
        if fork() {
            saw("forked");
        }
        guarded.unlock::<R>();
        guarded.round::<R>();
    });
    for _ in 1..size.threads {
        stage.spawn_rounds(size.rounds, move || guarded.round::<R>());
    }
    for _ in 0..2 {
        stage.spawn_in_child(move || guarded.round::<R>());
    }
    stage.at_end(move || assert!(!guarded.word.view::<R>().is_locked(), "locked when everybody has left"));
}
