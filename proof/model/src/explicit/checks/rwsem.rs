//! The readers-writer lock, with upgrades and downgrades.

use super::*;
use crate::scenarios::write;
use turnwise::RawRwSem;
use turnwise::platform::SpinLimit;
use turnwise::rwsem::Prefer;

pub(super) fn scene(call: &mut Call) -> Body {
    scenes! { call(stage, size):
        roles(who: [role]), tries_again(prefer: prefer), often(), forks(writes, who: [role], child: [role]),
        beside(who: [role]), stops(holds, who: [role]), freed(), phase(who: [role], child: [role]),
    }
}

fn role(name: &str) -> Role<Raw> {
    named! { name: read_again, read_tuned, write_tuned, write_tuned_soon, tries; scenarios::role(name) }
}

fn prefer(name: &str) -> Prefer {
    named! { name: readers = Prefer::Readers, writers = Prefer::Writers }
}

const COUNT: u64 = (1 << 21) - 1;
const PHASE: u64 = 1 << 21;
const UPGRADABLE: u64 = 1 << 27;
const WRITER: u64 = 1 << 28;
const HANDOFF: u64 = 1 << 29;
const READERS: u64 = 1 << 30;
const WRITERS: u64 = 1 << 31;
const HELD: u64 = COUNT | UPGRADABLE | WRITER;

type Raw = RawRwSem<Explicit>;

type Guarded = Watched<Raw>;

impl Guarded {
    fn keep(stage: &CheckSetup) -> &'static Guarded {
        Self::keep_watched(stage, Self::watch)
    }

    /// Checks invariant 5, and notes the rare lines.
    fn watch(&self, record: &Record) {
        let &Record { thread, what, old, new, spins, .. } = record;
        if !record.writes(self.raw.word()) {
            return;
        }
        let (set, cleared) = (new & !old, old & !new);
        let held = old & (WRITER | UPGRADABLE) != 0;
        let taken = what == "cmpxchg" && !held && (set & (WRITER | UPGRADABLE) != 0 || new & COUNT > old & COUNT);
        saw_if(taken && set & WRITER != 0 && old & (READERS | WRITERS) != 0 && old & HANDOFF == 0, "stole");
        saw_if(what == "cmpxchg" && old & WRITER != 0 && new.wrapping_add(1) == old, "took back");
        saw_if(taken && spins && set & WRITERS != 0, "spun with a duty");
        saw_if(taken && spins && old & HANDOFF != 0, "spun while first");
        saw_if(is_stopped(0), "stopped");
        let both = READERS | WRITERS;
        assert!(new & PHASE == 0 || new & both == both, "a phase bars nobody, or nobody is woken after it: {new:#x}");
        saw_if(new & PHASE != 0 && cleared & WRITER != 0, "released in a phase");
        saw_if(cleared & PHASE != 0 && taken, "ended a phase as it entered");
        saw_if(cleared & PHASE != 0 && !taken && !held, "ended a phase");
        saw_if(new & PHASE != 0 && set & HANDOFF != 0, "requested in a phase");
        self.request.follow(thread, (taken, old & HANDOFF != 0), (set & HANDOFF != 0, cleared & HANDOFF != 0));
    }

    /// When all are done, the word is empty.
    fn settled(&'static self, stage: &CheckSetup) {
        stage.at_end(move || self.is_settled());
    }

    /// May fork while it has the lock by `own`. The child has none of the other threads: entries in the word for them
    /// are void. Their counts and holds are not, and stay for ever: then nothing is checked, and this returns `false`.
    fn forks_with(&self, own: u64) -> bool {
        if fork() {
            saw("forked");
            self.request.vanish();
            self.kept.set(u64::from(self.raw.word().peek()) & HELD != own);
        }
        !self.kept.get()
    }

    fn is_settled(&self) {
        let word = u64::from(self.raw.word().peek());
        let is_free = if is_stopped(0) { word & HELD == 0 } else { word == 0 };
        assert!(is_free || self.kept.get(), "held, or flags left, when everybody has left: {word:#x}");
    }
}

/// Reads again, past waiting writers, while it has the lock.
fn read_again(pages: &Pages<Raw>) {
    pages.raw.read();
    pages.section.count(Reader, 1);
    pages.raw.read_with(Prefer::Readers, None);
    saw("read again");
    pages.section.count(Reader, -1);
    // SAFETY: acquired twice.
    unsafe {
        pages.raw.unlock_read();
        pages.raw.unlock_read();
    }
}

fn read_tuned(pages: &Pages<Raw>) {
    pages.raw.read_tuned(Prefer::Writers, None, AT_ONCE);
    pages.leave_reading();
}

fn write_tuned(pages: &Pages<Raw>) {
    pages.raw.write_tuned(None, AT_ONCE);
    pages.leave_writing();
}

fn write_tuned_soon(pages: &Pages<Raw>) {
    if scenarios::in_time(pages.raw.write_tuned(Some(SOON), AT_ONCE)) {
        pages.leave_writing();
    }
}

/// Tries to write, to read upgradably, and to read, and releases what it acquired.
fn tries(pages: &Pages<Raw>) {
    let raw = &pages.raw;
    let [write, upgradable, read] = [raw.try_lock(), raw.try_upgradable_read(), raw.try_read()];
    if !write && !upgradable && !read {
        return saw("try failed");
    }
    assert!(!write || !upgradable && !read, "a reader beside the writer, which is the same thread");
    if write {
        pages.leave_writing();
    }
    if upgradable {
        pages.leave_upgradable();
    }
    if read {
        pages.leave_reading();
    }
}

/// Starts one thread for each role, up to the number of threads.
fn roles(stage: &CheckSetup, size: Size, roles: &'static [Role<Raw>]) {
    let guarded = Guarded::keep(stage);
    start(stage, size.rounds, &guarded.pages, &roles[..size.threads]);
    guarded.settled(stage);
}

/// The first thread writes, and then tries to write again; the others try to read. Some attempt succeeds: a free lock
/// is never found taken.
fn tries_again(stage: &CheckSetup, size: Size, prefer: Prefer) {
    let guarded = Guarded::keep(stage);
    let succeeded = stage.keep(ExplicitWord::new(0_u32));
    stage.spawn(move || {
        (0..size.rounds).for_each(|_| write(guarded));
        if guarded.raw.try_lock() {
            succeeded.store(1, std::sync::atomic::Ordering::Relaxed);
            guarded.leave_writing();
        } else {
            saw("try failed");
        }
    });
    for _ in 1..size.threads {
        stage.spawn(move || {
            if guarded.raw.try_read_with(prefer) {
                succeeded.store(1, std::sync::atomic::Ordering::Relaxed);
                guarded.leave_reading_with(prefer);
            }
        });
    }
    stage.at_end(move || {
        assert!(succeeded.peek() != 0, "all tries failed, though nobody has the lock");
        guarded.is_settled();
    });
}

/// The first thread reads upgradably until the second, a reader, is inside, too; the others come repeatedly.
fn beside(stage: &CheckSetup, size: Size, roles: &'static [Role<Raw>]) {
    let guarded = Guarded::keep(stage);
    let inside = stage.keep(ExplicitWord::new(0_u32));
    stage.spawn(move || {
        guarded.raw.upgradable_read();
        let _ = Explicit::spin_until(inside, |inside| inside == 1, SpinLimit::NONE);
        guarded.leave_upgradable();
    });
    stage.spawn(move || {
        guarded.raw.read();
        inside.store(1, std::sync::atomic::Ordering::Relaxed);
        guarded.leave_reading();
    });
    start(stage, size.rounds, &guarded.pages, roles);
    guarded.settled(stage);
}

/// The first thread comes once, and may be stopped in its sleep. The next comes repeatedly and, if it writes, `holds`
/// the lock at first; others come once. They still get their turns.
fn stops(stage: &CheckSetup, size: Size, holds: bool, roles: &'static [Role<Raw>]) {
    let guarded = Guarded::keep(stage);
    if holds {
        stage.before(1, || guarded.raw.lock());
    }
    stage.spawn(move || roles[0](guarded));
    stage.spawn(move || {
        if holds {
            guarded.leave_writing();
        }
        for _ in u32::from(holds)..size.rounds {
            roles[1](guarded);
        }
    });
    start(stage, 1, &guarded.pages, &roles[2..size.threads]);
    guarded.settled(stage);
}

/// The first thread comes repeatedly, so that another writer cannot fall asleep.
fn often(stage: &CheckSetup, size: Size) {
    let guarded = Guarded::keep(stage);
    stage.spawn_rounds(size.rounds, move || write(guarded));
    stage.spawn_many(size.threads - 1, 1, move || write(guarded));
}

/// The first thread may fork while it has the lock. The child has threads of its own.
fn forks(stage: &CheckSetup, size: Size, writes: bool, roles: &'static [Role<Raw>], child: &'static [Role<Raw>]) {
    let guarded = Guarded::keep(stage);
    stage.spawn(move || {
        write(guarded);
        let own = if writes {
            guarded.raw.lock();
            WRITER
        } else {
            guarded.raw.read();
            1
        };
        if !guarded.forks_with(own) {
            return;
        }
        if writes {
            guarded.leave_writing();
        } else {
            guarded.leave_reading();
        }
    });
    start(stage, size.rounds, &guarded.pages, &roles[..size.threads - 1]);
    start_in_child(stage, guarded, child);
    guarded.settled(stage);
}

fn start_in_child(stage: &CheckSetup, guarded: &'static Guarded, roles: &'static [Role<Raw>]) {
    for &role in roles {
        stage.spawn_in_child(1, move || {
            if !guarded.kept.get() {
                role(guarded);
            }
        });
    }
}

/// The first thread has the lock, and its release may begin a phase. It writes again, and may fork meanwhile. The
/// others come once.
fn phase(stage: &CheckSetup, size: Size, roles: &'static [Role<Raw>], child: &'static [Role<Raw>]) {
    let guarded = Guarded::keep(stage);
    stage.before(0, || {
        guarded.raw.lock();
        guarded.allow_phase();
    });
    stage.spawn(move || {
        guarded.leave_writing();
        for _ in 1..size.rounds {
            guarded.raw.lock();
            if !guarded.forks_with(WRITER) {
                return;
            }
            guarded.leave_writing();
        }
    });
    start(stage, 1, &guarded.pages, &roles[..size.threads - 1]);
    start_in_child(stage, guarded, child);
    guarded.settled(stage);
}

fn freed(stage: &CheckSetup, size: Size) {
    freed_pages(stage, size, &Guarded::keep(stage).pages);
}
