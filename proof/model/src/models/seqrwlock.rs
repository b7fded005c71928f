//! The sequence read/write lock: no optimistic reader accepts what a writer has half changed, or what is older than its
//! sequence (A1); blocking readers and writers exclude each other (A2).
//!
//! The payload is two words accessed without any ordering, as the typed lock accesses its own.

use super::*;
use crate::platform::LoomU64;
use turnwise::RawSeqRwLock;
use turnwise::raw::RawTimedRwLock;

type Raw = RawSeqRwLock<Loom>;

impl Settles for Raw {}

pub(super) fn scene(call: &mut Call) -> Body {
    scenes! { call():
        optimistic(writes), two_passes(writers), patient(), blocking(readers), all_kinds(), attempts(), reader_freed();
        lock::<Raw>(call)
    }
}

fn reader_freed() {
    freed((Raw::read, Pages::leave_reading));
}

/// A lock and what it protects: two words for optimistic readers, a cell for lock holders.
struct Guarded {
    raw: Raw,
    words: [LoomU64; 2],
    data: Protected,
}

impl Guarded {
    fn keep() -> &'static Guarded {
        let words = [LoomU64::new(0), LoomU64::new(0)];
        keep(Guarded { raw: Raw::new_in(), words, data: Protected::new() })
    }

    /// Reads both words, without ordering.
    fn look(&self) -> [u64; 2] {
        [self.words[0].load(Relaxed), self.words[1].load(Relaxed)]
    }

    /// Checks an accepted read: whole, and not older than the sequence that was read before.
    fn accept(seen: [u64; 2], begin: u64) {
        assert_eq!(seen[0], seen[1], "an accepted read is torn");
        assert!(seen[0] >= begin / 2, "an accepted read is older than its sequence");
    }

    /// Changes both words, with the write lock.
    fn change(&self) {
        self.data.add();
        let next = self.words[0].load(Relaxed) + 1;
        self.words.iter().for_each(|word| word.store(next, Relaxed));
    }

    fn write(&self) {
        self.raw.lock();
        self.leave_writing();
    }

    fn leave_writing(&self) {
        self.change();
        // SAFETY: the caller has the write lock.
        unsafe { self.raw.unlock() };
    }

    fn blocking_read(&self) {
        self.raw.read();
        let begin = self.raw.try_read_begin().expect("a writer is in with a blocking reader");
        let (first, seen) = (self.data.get(), self.look());
        assert_eq!(seen, [u64::from(first); 2], "a blocking reader sees what the writers left");
        rest();
        assert_eq!(self.data.get(), first, "a writer came in with a blocking reader");
        assert!(!self.raw.read_retry(begin), "the sequence changed under a blocking reader");
        // SAFETY: locked above.
        unsafe { self.raw.unlock_read() };
    }

    fn settled(&self, writes: u32) {
        assert!(!self.raw.is_locked(), "locked when everybody has left");
        assert_eq!(self.data.get(), writes, "critical sections of writers");
        assert_eq!(self.raw.try_read_begin(), Some(2 * u64::from(writes)), "the sequence counts the changes twice");
        assert_eq!(self.look(), [u64::from(writes); 2]);
    }
}

/// One optimistic read with retries, concurrent with a writer that writes `writes` times.
fn optimistic(writes: u32) {
    let guarded = Guarded::keep();
    let writer = spawn(move || (0..writes).for_each(|_| guarded.write()));
    for _ in 0..2 {
        let Some(begin) = guarded.raw.try_read_begin() else {
            saw("spoilt");
            continue;
        };
        let seen = guarded.look();
        if guarded.raw.read_retry(begin) {
            saw("spoilt");
        } else {
            saw("whole");
            Guarded::accept(seen, begin);
        }
    }
    writer.join();
    guarded.settled(writes);
}

fn read_in_two_passes(guarded: &Guarded) {
    let mut passes = 0;
    let seen = guarded.raw.read_with(|| {
        passes += 1;
        guarded.look()
    });
    saw(if passes == 1 { "whole at once" } else { "second pass" });
    assert!(passes <= 2, "nobody can spoil the second pass");
    Guarded::accept(seen, 0);
}

/// Blocking readers and writers, and what the first thread does; all of them write this often.
fn beside(readers: u32, writers: u32, first: fn(&Guarded), writes: u32) {
    let guarded = Guarded::keep();
    let mut others: Vec<_> = (0..readers).map(|_| spawn(move || guarded.blocking_read())).collect();
    others.extend((0..writers).map(|_| spawn(move || guarded.write())));
    first(guarded);
    join(others);
    guarded.settled(writes);
}

fn two_passes(writers: u32) {
    beside(0, writers, read_in_two_passes, writers);
}

/// The first thread is at the data and rests, so that a reader comes to wait for it.
fn patient() {
    let guarded = Guarded::keep();
    guarded.raw.lock();
    let reader = spawn(move || {
        let begin = guarded.raw.read_begin();
        let seen = guarded.look();
        assert!(begin == 2 && !guarded.raw.read_retry(begin), "the first thread's change is the only one");
        Guarded::accept(seen, begin);
    });
    rest();
    guarded.leave_writing();
    reader.join();
    guarded.settled(1);
}

fn blocking(readers: u32) {
    beside(readers, 0, Guarded::write, 1);
}

fn all_kinds() {
    beside(1, 1, read_in_two_passes, 1);
}

/// Try and timed forms alongside a blocking reader.
fn attempts() {
    let guarded = Guarded::keep();
    let reader = spawn(move || guarded.blocking_read());
    let tried = at_once(guarded.raw.try_lock());
    if tried {
        guarded.leave_writing();
    }
    let timed = guarded.raw.lock_until(EARLY);
    saw(if timed { "got it in time" } else { "gave up" });
    if timed {
        guarded.leave_writing();
    }
    reader.join();
    assert!(guarded.raw.try_read() && guarded.raw.read_until(EARLY), "nobody else has it");
    // SAFETY: locked twice above.
    unsafe {
        guarded.raw.unlock_read();
        guarded.raw.unlock_read();
    }
    guarded.settled(u32::from(tried) + u32::from(timed));
}
