//! The preload library's locks with a queue of waiters, which a forked child makes anew, as they ship.

#[path = "../../../../../crates/preload/src/word/line.rs"]
mod line;

use super::*;
use line::{QueueWord, RENEWING};
use turnwise::backoff::NoBackoff;
use turnwise::spin::{RawQueuedSpinLock, RawTicketLock};

pub(super) fn scene(call: &mut Call) -> Body {
    types! { call lock: ticket = RawTicketLock<NoBackoff, Explicit>, queued = RawQueuedSpinLock<Explicit> }
}

fn lock<R: RawLock<Platform = Explicit>>(call: &mut Call) -> Body {
    scenes! { call(stage, size): forks::<R>() }
}

struct Guarded {
    word: QueueWord<Explicit>,
    section: Section,
}

impl Guarded {
    fn lock<R: RawLock<Platform = Explicit>>(&self) {
        self.word.with_queue::<R>().lock();
        self.section.alone();
    }

    fn unlock<R: RawLock<Platform = Explicit>>(&self) {
        let lock = self.word.with_queue::<R>();
        self.section.leave(Writer);
        // SAFETY: every caller has it.
        unsafe { lock.unlock() };
    }

    fn round<R: RawLock<Platform = Explicit>>(&self) {
        self.lock::<R>();
        self.unlock::<R>();
    }
}

/// The first thread may fork while it has the lock and others wait. The child starts two threads.
fn forks<R: RawLock<Platform = Explicit>>(stage: &CheckSetup, size: Size) {
    let word = QueueWord { spin: Word::new(0), line: Word::new(0) };
    let guarded = stage.keep(Guarded { word, section: scenarios::Section::new() });
    stage.watch(move |record| {
        saw_if(record.writes(&guarded.word.line) && record.new & u64::from(RENEWING) == 0, "renewed");
    });
    stage.spawn(move || {
        guarded.lock::<R>();
        saw_if(fork(), "forked");
        guarded.unlock::<R>();
        guarded.round::<R>();
    });
    stage.spawn_many(size.threads - 1, size.rounds, move || guarded.round::<R>());
    stage.spawn_in_child(2, move || guarded.round::<R>());
    stage.at_end(move || assert!(!guarded.word.view::<R>().is_locked(), "locked when everybody has left"));
}
