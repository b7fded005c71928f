//! The semaphore, fair and barging.

use super::*;
use std::sync::atomic::Ordering::Relaxed;
use turnwise::Semaphore;
use turnwise::platform::IntWord;

pub(super) fn scene(call: &mut Call) -> Body {
    match call.name {
        "fair" => kind::<true>(call.of_type()),
        "barging" => kind::<false>(call.of_type()),
        _ => scenes! { call(stage, size): gives_up_in_its_stead() },
    }
}

fn kind<const FAIR: bool>(call: &mut Call) -> Body {
    scenes! { call(stage, size):
        wants::<FAIR>(permits, each: [number]), timed::<FAIR>(), stops::<FAIR>(anywhere), forks::<FAIR>(),
    }
}

fn number(word: &str) -> u32 {
    word.parse().expect("a number of permits")
}

const PERMITS: u64 = (1 << 24) - 1;
const GENERATION: u32 = 0xf << 24;
const HANDOFF: u64 = 1 << 28;
const PASSED: u64 = 1 << 29;
const FIRST: u64 = 1 << 30;

struct Guarded<const FAIR: bool> {
    semaphore: Semaphore<FAIR, Explicit>,
    permits: u32,
    /// Permits that threads have.
    out: Cell<u32>,
    /// The first thread in the queue, + 1.
    first: Cell<usize>,
    /// Whether it has requested permits.
    requested: Cell<bool>,
}

impl<const FAIR: bool> Guarded<FAIR> {
    fn keep(stage: &CheckSetup, permits: u32) -> &'static Self {
        let guarded = Guarded {
            semaphore: Semaphore::new_in(permits),
            permits,
            out: Cell::new(0),
            first: Cell::new(0),
            requested: Cell::new(false),
        };
        let guarded = stage.keep_watched(guarded, Self::watch);
        stage.at_end(move || {
            let word = guarded.semaphore.word().peek();
            // Flags of the parent's threads stay if no thread had to wait.
            let void = word & GENERATION != Explicit::generation() << GENERATION.trailing_zeros();
            let word = if void { word & PERMITS as u32 } else { word };
            // So do those of a thread that was stopped.
            let word = if is_stopped(0) { word & PERMITS as u32 } else { word };
            assert_eq!(word, permits, "flags or permits when everybody has left: {word:#x}");
        });
        guarded
    }

    /// No thread takes permits past the first in the queue once that has requested it; in a fair semaphore, past any
    /// queued thread. Nor does a thread take its place away before it can have lapsed.
    fn watch(&self, record: &Record) {
        let &Record { thread, old, new, .. } = record;
        if !record.writes(self.semaphore.word()) {
            return;
        }
        let (first, gone) = (self.first.get() == thread + 1, old & FIRST != 0 && new & FIRST == 0);
        if new & PERMITS < old & PERMITS {
            let barred = self.requested.get() || FAIR && old & (FIRST | PASSED) != 0;
            assert!(
                first || !barred || clock() >= RESERVED_NS,
                "thread {thread} takes permits past the first in the queue"
            );
        } else if gone && new & PERMITS == old & PERMITS {
            saw("left first");
        }
        if gone {
            if self.first.get() == 0 {
                saw("stale place cleared");
            } else {
                assert!(first || clock() >= RESERVED_NS, "thread {thread} takes the place of the first away");
                saw_if(!first, "lapsed");
            }
            self.first.set(0);
            self.requested.set(false);
        }
        if new & !old & FIRST != 0 {
            self.first.set(thread + 1);
        }
        if new & !old & HANDOFF != 0 {
            saw("requested");
            self.requested.set(true);
        }
        saw_if(new & !old & PASSED != 0, "passed on");
    }

    fn got(&self, n: u32) {
        scrub();
        self.out.set(self.out.get() + n);
        assert!(self.out.get() <= self.permits, "{} permits of {}", self.out.get(), self.permits);
    }

    fn give(&self, n: u32) {
        self.out.set(self.out.get() - n);
        self.semaphore.release(n);
    }

    /// Does what a thread that got permits does.
    fn leave(&self, n: u32) {
        self.got(n);
        self.give(n);
    }

    fn round(&self, n: u32) {
        self.semaphore.acquire_many(n).forget();
        self.leave(n);
    }

    fn round_soon(&self) {
        match self.semaphore.try_acquire_until(1, SOON) {
            Some(permit) => {
                permit.forget();
                self.leave(1);
            }
            None => saw("gave up"),
        }
    }
}

/// Thread n wants `wants[n]` permits; the list is repeated from its end.
fn wants<const FAIR: bool>(stage: &CheckSetup, size: Size, permits: u32, wants: &'static [u32]) {
    let guarded = Guarded::<FAIR>::keep(stage, permits);
    for &n in wants.iter().cycle().take(size.threads) {
        stage.spawn_rounds(size.rounds, move || guarded.round(n));
    }
}

/// All but the first have no time.
fn timed<const FAIR: bool>(stage: &CheckSetup, size: Size) {
    let guarded = Guarded::<FAIR>::keep(stage, 1);
    stage.spawn_rounds(size.rounds, move || guarded.round(1));
    stage.spawn_many(size.threads - 1, size.rounds, move || guarded.round_soon());
}

/// The first thread comes once, and may be stopped in its wait, `anywhere` or while it sleeps: no other thread is kept
/// from the permit.
fn stops<const FAIR: bool>(stage: &CheckSetup, size: Size, anywhere: bool) {
    let guarded = Guarded::<FAIR>::keep(stage, 1);
    stage.spawn(move || {
        stoppable(anywhere, || guarded.semaphore.acquire().forget());
        guarded.leave(1);
    });
    stage.spawn_many(size.threads - 1, size.rounds, move || guarded.round(1));
    stage.at_end(move || {
        saw_if(is_stopped(0), "stopped");
        assert_eq!(guarded.out.get(), 0);
    });
}

/// A thread that was stopped for ever is the first. The last gives back the only permit; another times out while it
/// waits for that, and the others still get it.
fn gives_up_in_its_stead(stage: &CheckSetup, size: Size) {
    let guarded = Guarded::<true>::keep(stage, 1);
    stage.before(0, || {
        guarded.semaphore.acquire().forget();
        guarded.got(1);
        guarded.semaphore.word().fetch_or((FIRST | PASSED) as u32, Relaxed);
    });
    stage.spawn(move || guarded.round_soon());
    stage.spawn_many(size.threads - 2, 1, move || guarded.round(1));
    stage.spawn(move || guarded.give(1));
}

/// The first thread may fork while it has the only permit. The child has none of the queued threads, but the same
/// number of its own.
fn forks<const FAIR: bool>(stage: &CheckSetup, size: Size) {
    let guarded = Guarded::<FAIR>::keep(stage, 1);
    stage.spawn(move || {
        guarded.round(1);
        guarded.semaphore.acquire().forget();
        guarded.got(1);
        if fork() {
            saw("forked");
            guarded.first.set(0);
            guarded.requested.set(false);
        }
        guarded.give(1);
        guarded.round(1);
    });
    stage.spawn_many(size.threads - 1, size.rounds, move || guarded.round(1));
    stage.spawn_in_child(size.threads - 1, move || guarded.round(1));
}
