//! What a thread has of its own. A state outlives its thread: the next thread goes on with its entries, so that a
//! program of a million short threads needs no more room than its threads at one time.

use crate::events::Events;
use crate::holder::Holder;
use crate::process::{self, Process, add};
use crate::table::Table;
use crate::{clock, hold, memory, start, tls};
use core::cell::Cell;
use core::mem::offset_of;
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, compiler_fence};
use turnwise_recording as file;
use turnwise_recording::{Chunk, ChunkKind, Entry, Episode, Ref, Thread};

/// [`State::mode`]: the memory was wiped, this is a forked child.
const WIPED: u32 = 0;
const IDLE: u32 = 1;
/// The recorder is at work; a signal handler that comes meanwhile is not recorded.
const BUSY: u32 = 2;

/// No lock has this address.
const NEVER_HELD: u64 = 1;
/// Locks that a thread is known to hold, at most. Beyond, the oldest is forgotten.
pub(crate) const HELD: usize = 32;
/// Pairs of locks that a thread remembers to have seen.
pub(crate) const PAIRS: usize = 8192;
/// The same for contexts.
pub(crate) const CONTEXTS: usize = 1024;

/// A lock that the thread holds. Other threads look at it.
pub(crate) struct Held {
    /// Its address; with bits 0 and 1: what there is in its [`Later`].
    pub(crate) lock: AtomicU64,
    pub(crate) entry: AtomicPtr<Entry>,
    /// Stands for the entry, those of the locks that were held before, in their order, and the thread: the next one
    /// goes on with its entries, but knows none of its orders. In the first, for the thread alone.
    pub(crate) context: AtomicU64,
}

/// What is to be counted after the release of a lock that the thread holds.
pub(crate) struct Later {
    /// Ticks at the acquisition.
    pub(crate) since: Cell<u64>,
    pub(crate) how: Cell<How>,
    /// Instead of `how`.
    pub(crate) brief: Cell<Short>,
}

/// What a measured hold stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measured {
    /// Contended acquisitions.
    Contended,
    /// Itself.
    Single,
    /// Many.
    Sampled,
}

/// What there is to say of an acquisition.
#[derive(Clone, Copy)]
pub(crate) struct How {
    /// The hold is measured, and what it stands for.
    pub(crate) measured: Option<Measured>,
    pub(crate) episode: *const Episode,
    /// The condition variable whose wait ended with this acquisition; 0: none.
    pub(crate) woken_by: u64,
    /// The wait before it, if that is still to be counted.
    pub(crate) wait: Option<Waited>,
}

/// A short wait: it is counted after the release, so that the others need not wait for that.
#[derive(Clone, Copy)]
pub(crate) struct Waited {
    pub(crate) wait: Short,
    /// The stack, and the waits that it stands for.
    pub(crate) stack: Option<(Ref, u32)>,
    pub(crate) holder: Option<Holder>,
}

/// A short wait of which nothing but this is kept.
#[derive(Clone, Copy)]
pub(crate) struct Short {
    pub(crate) ticks: u64,
    pub(crate) events: Events,
}

/// Where a thread takes records of one kind from.
pub(crate) struct Cursor {
    chunk: Cell<*const Chunk>,
    next: Cell<usize>,
    end: Cell<usize>,
    /// Of the present chunk.
    pages: Cell<u32>,
    /// Of all.
    taken: Cell<u32>,
}

/// A thread's own.
#[repr(C)]
pub(crate) struct State {
    /// The first is never held. (They come first, so that to reach one takes no address of its own.)
    pub(crate) held: [Held; HELD + 1],
    mode: AtomicU32,
    /// Locks in `held`.
    pub(crate) depth: AtomicUsize,
    pub(crate) record: Cell<*const Thread>,
    pub(crate) table: Table,
    /// Of `held`, from the second on.
    pub(crate) later: [Later; HELD],
    /// Contexts in which the thread took a lock before.
    pub(crate) contexts: [Cell<u64>; CONTEXTS],
    pub(crate) tid: AtomicU32,
    pub(crate) index: Cell<u32>,
    /// The same, for other threads.
    pub(crate) shown_index: AtomicU32,
    pub(crate) process: Cell<*const Process>,
    pub(crate) stack_countdown: Cell<u32>,
    /// The same for single long waits.
    pub(crate) long_countdown: Cell<u32>,
    pub(crate) random: Cell<u64>,
    pub(crate) waits: Cell<u64>,
    /// Acquisitions of an entry that are all measured.
    pub(crate) first: Cell<u64>,
    /// See `brief.rs`; null: none.
    pub(crate) under_way: Cell<*const Episode>,
    /// Pairs of locks that were written down.
    pub(crate) orders: Cell<u64>,
    pub(crate) pairs: [Cell<u64>; PAIRS],
    pub(crate) entries: Cursor,
    pub(crate) episodes: Cursor,
    pub(crate) edges: Cursor,
    arena: Cursor,
    pub(crate) next_free: AtomicPtr<State>,
    pub(crate) next: AtomicPtr<State>,
    /// Destructors of thread-specific data that ran for it: it ends with the last.
    rounds: Cell<u32>,
}

/// A state that is always at work: of threads that end or have no state yet.
#[repr(C)]
struct Closed {
    held: [AtomicU64; offset_of!(State, mode) / 8],
    mode: AtomicU32,
}
const _: () = assert!(offset_of!(State, mode) == offset_of!(Closed, mode), "`Closed` stands for the first fields");
static CLOSED: Closed =
    Closed { held: [const { AtomicU64::new(0) }; offset_of!(State, mode) / 8], mode: AtomicU32::new(BUSY) };

fn closed() -> *const State {
    (&raw const CLOSED).cast()
}

/// The calling thread's state, until dropped.
pub(crate) struct Session(&'static State);

impl core::ops::Deref for Session {
    type Target = State;

    #[inline(always)]
    fn deref(&self) -> &State {
        self.0
    }
}

impl Drop for Session {
    #[inline(always)]
    fn drop(&mut self) {
        compiler_fence(SeqCst);
        self.0.mode.store(IDLE, Relaxed);
    }
}

/// The calling thread's state for a glance: nothing may be changed but what a signal handler that comes in between may
/// change, too. `None`: it has none, or is at work in it.
#[inline(always)]
pub(crate) fn glance() -> Option<&'static State> {
    let state = tls::get();
    // SAFETY: as in `enter`.
    unsafe { if !state.is_null() && (*state).mode.load(Relaxed) == IDLE { Some(&*state) } else { None } }
}

/// Begins to record something; `None`: this cannot be recorded.
#[inline(always)]
pub(crate) fn enter() -> Option<Session> {
    let state = tls::get();
    // SAFETY: not null: a state, or `CLOSED`, whose mode is all that is looked at.
    if !state.is_null() && unsafe { (*state).mode.load(Relaxed) } == IDLE {
        // SAFETY: `CLOSED` is never idle, so it is a state, and the calling thread's.
        let state = unsafe { &*state };
        state.mode.store(BUSY, Relaxed);
        // A signal handler sees the mode before anything that follows.
        compiler_fence(SeqCst);
        return Some(Session(state));
    }
    enter_slowly(state)
}

#[cold]
fn enter_slowly(state: *const State) -> Option<Session> {
    // SAFETY: as in `enter`.
    if !state.is_null() && unsafe { (*state).mode.load(Relaxed) } != WIPED {
        let process = process::get()?;
        if state == closed() {
            process.unattributed();
        } else {
            // SAFETY: a state at work, and its record. The handler interrupted its own thread.
            add(unsafe { &(*(*state).record.get()).nested }, 1);
        }
        return None;
    }
    tls::set(closed());
    let made = memory::keeping_errno(State::begin);
    tls::set(made.map_or(ptr::null(), ptr::from_ref));
    // An idle state; `None` leaves the pointer null, so that later calls try again.
    made.map(|state| {
        state.mode.store(BUSY, Relaxed);
        compiler_fence(SeqCst);
        Session(state)
    })
}

impl State {
    /// A state for the calling thread.
    fn begin() -> Option<&'static State> {
        let process = process::get()?;
        let header = process.header();
        let last = file::THREADS.count as u32 - 1;
        let index = header.threads.fetch_add(1, Relaxed).min(last);
        let Some(record) = process.reach::<Thread>(&file::THREADS, index as usize) else {
            process.stop();
            return None;
        };
        let state = match process.recycled() {
            Some(state) => state,
            None => State::make(process)?,
        };
        state.depth.store(0, Relaxed);
        state.held[0].lock.store(NEVER_HELD, Relaxed);
        state.rounds.set(0);
        state.waits.set(0);
        state.first.set(hold::FIRST);
        state.orders.set(0);
        state.pairs.iter().chain(&state.contexts).for_each(|known| known.set(0));
        state.index.set(index);
        state.shown_index.store(state.index.get(), Relaxed);
        state.held[0].context.store(u64::from(state.index.get()) << 48, Relaxed);
        // SAFETY: always answers.
        let tid = unsafe { libc::gettid() } as u32;
        record.tid.store(tid, Relaxed);
        record.began.store(clock::ticks(), Relaxed);
        state.record.set(record);
        state.note_name();
        state.tid.store(tid, Relaxed);
        state.random.set(clock::ticks() << 20 | u64::from(tid) | 1);
        let interval = state.interval(process::HOLD_ONE_IN);
        record.left.store(interval, Relaxed);
        record.ahead.store(u64::from(interval), Relaxed);
        state.stack_countdown.set(state.interval(process::STACK_ONE_IN));
        // ORDERING recorder.state: Release; who finds the state by its thread sees it filled.
        process.by_tid(tid).store(ptr::from_ref(state).cast_mut(), Release);
        start::await_end_of_thread();
        state.mode.store(IDLE, Relaxed);
        Some(state)
    }

    fn make(process: &'static Process) -> Option<&'static State> {
        let memory = memory::wiped_on_fork(size_of::<State>())?;
        // SAFETY: zero bytes are a state (wiped); it is never unmapped.
        let state: &'static State = unsafe { memory.cast().as_ref() };
        state.table.prepare()?;
        state.process.set(process);
        let mut first = process.all.load(Relaxed);
        loop {
            state.next.store(first, Relaxed);
            // ORDERING recorder.states: Release; who walks the list sees states filled.
            match process.all.compare_exchange(first, ptr::from_ref(state).cast_mut(), Release, Relaxed) {
                Ok(_) => return Some(state),
                Err(now) => first = now,
            }
        }
    }

    /// The process.
    #[inline]
    pub(crate) fn process(&self) -> &'static Process {
        // SAFETY: set by `make`; a process lives as long as the process.
        unsafe { &*self.process.get() }
    }

    /// The thread's record; `None`: the memory was wiped.
    #[inline(always)]
    pub(crate) fn record_if_there(&self) -> Option<&'static Thread> {
        // SAFETY: null, or set by `begin`; the file stays mapped.
        unsafe { self.record.get().as_ref() }
    }

    /// The thread's record.
    #[inline(always)]
    pub(crate) fn record(&self) -> &'static Thread {
        // SAFETY: set by `begin`; the file stays mapped.
        unsafe { &*self.record.get() }
    }

    /// The thread's name as the system has it now.
    pub(crate) fn note_name(&self) {
        let mut name = [0_u8; 16];
        // SAFETY: the request writes 16 bytes.
        unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
        for (byte, value) in self.record().name.iter().zip(name) {
            byte.store(value, Relaxed);
        }
    }

    /// A random number of calls, `mean` in the mean, so that no rhythm of the program meets that of the sample.
    pub(crate) fn interval(&self, mean: u32) -> u32 {
        let mut x = self.random.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.random.set(x);
        1 + ((x >> 32) as u32) % (2 * mean - 1)
    }

    /// Whether the next of the waits whose stack is sampled has its turn.
    pub(crate) fn is_stack_due(&self) -> bool {
        self.is_due(&self.stack_countdown, process::STACK_ONE_IN)
    }

    /// The same for the single long waits of a site whose waits are short.
    pub(crate) fn is_long_stack_due(&self) -> bool {
        self.is_due(&self.long_countdown, process::LONG_STACK_ONE_IN)
    }

    fn is_due(&self, countdown: &Cell<u32>, mean: u32) -> bool {
        let left = countdown.get();
        let due = left <= 1;
        countdown.set(if due { self.interval(mean) } else { left - 1 });
        due
    }

    /// The calling thread ends. `false`: not yet, other destructors may still use locks.
    pub(crate) fn end() -> bool {
        let Some(state) = enter() else { return true };
        state.rounds.set(state.rounds.get() + 1);
        if state.rounds.get() < start::DESTRUCTOR_ROUNDS {
            return false;
        }
        state.note_name();
        state.record().ended.store(clock::ticks(), Relaxed);
        let process = state.process();
        process.look_at_clock();
        let slot = process.by_tid(state.tid.load(Relaxed));
        let own = ptr::from_ref(state.0).cast_mut();
        // Another thread's, if the numbers collided: then it stays.
        let _ = slot.compare_exchange(own, ptr::null_mut(), Relaxed, Relaxed);
        state.tid.store(0, Relaxed);
        state.depth.store(0, Relaxed);
        tls::set(closed());
        process.recycle(own);
        // The next thread may have it by now: its mode is not ours to change.
        core::mem::forget(state);
        true
    }

    /// `bytes` of the arena, zero.
    pub(crate) fn arena(&self, bytes: usize) -> Option<(*mut u8, Ref)> {
        let at = self.arena.take(self, ChunkKind::Arena, bytes.next_multiple_of(file::REF_UNIT as usize))?;
        Some((at, self.place_of(at)))
    }

    /// Whether an entry lies in the process's file. One that was found before a signal handler forked does not.
    pub(crate) fn has(&self, entry: &Entry) -> bool {
        (ptr::from_ref(entry).addr().wrapping_sub(self.process().base().addr()) as u64) < file::FILE_BYTES
    }

    /// Where in the file something lies.
    pub(crate) fn place_of<T>(&self, record: *const T) -> Ref {
        ((record.addr() - self.process().base().addr()) / file::REF_UNIT as usize) as Ref
    }

    /// What lies at a place.
    ///
    /// # Safety
    /// Such a record was put there.
    pub(crate) unsafe fn at<T>(&self, place: Ref) -> &'static T {
        // SAFETY: the caller's promise; the file stays mapped.
        unsafe { &*self.process().base().add(place as usize * file::REF_UNIT as usize).cast() }
    }
}

impl Process {
    fn recycled(&self) -> Option<&'static State> {
        let state = self.with_free(|first| {
            // SAFETY: null, or a state, which is never unmapped.
            unsafe { first.as_ref() }.inspect(|state| {
                self.free.store(state.next_free.load(Relaxed), Relaxed);
            })
        });
        state.flatten()
    }

    fn recycle(&self, state: *mut State) {
        self.with_free(|first| {
            // SAFETY: the caller's state.
            unsafe { (*state).next_free.store(first, Relaxed) };
            self.free.store(state, Relaxed);
        });
    }

    /// Changes the list of free states. Nobody waits: who finds it taken does without.
    fn with_free<T>(&self, run: impl FnOnce(*mut State) -> T) -> Option<T> {
        // ORDERING recorder.free: Acquire; sees what the last holder left in the list and in its states.
        if self.free_taken.swap(1, Acquire) != 0 {
            return None;
        }
        let result = run(self.free.load(Relaxed));
        // ORDERING recorder.free: Release; publishes the list and the state.
        self.free_taken.store(0, Release);
        Some(result)
    }
}

impl Cursor {
    /// Room for a record; `None`: the file is full.
    pub(crate) fn take(&self, state: &State, kind: ChunkKind, bytes: usize) -> Option<*mut u8> {
        if self.next.get() + bytes > self.end.get() {
            self.refill(state, kind, bytes)?;
        }
        let at = self.next.get();
        self.next.set(at + bytes);
        Some(ptr::with_exposed_provenance_mut(at))
    }

    /// Pages taken so far.
    pub(crate) fn pages(&self) -> u32 {
        self.taken.get()
    }

    /// Counts the last taken record: from now on the reader looks at it.
    pub(crate) fn publish(&self) {
        // SAFETY: `take` has set the chunk; it stays mapped.
        let chunk = unsafe { &*self.chunk.get() };
        // ORDERING recorder.records: Release; a reader that looks while the program runs finds the record filled.
        chunk.count.store(chunk.count.load(Relaxed) + 1, Release);
    }

    #[cold]
    fn refill(&self, state: &State, kind: ChunkKind, bytes: usize) -> Option<()> {
        /// Small chunks for threads that do little, large ones for the others.
        const MOST_PAGES: u32 = 16;
        let needed = (bytes as u64 + file::CHUNK_HEADER).div_ceil(file::PAGE) as u32;
        let pages = (self.pages.get() * 2).clamp(1, MOST_PAGES).max(needed);
        let chunk = memory::keeping_errno(|| state.process().chunk(kind, pages, state.index.get() + 1))?;
        self.pages.set(pages);
        self.taken.set(self.taken.get() + pages);
        self.chunk.set(chunk);
        let start = chunk.expose_provenance();
        self.next.set(start + file::CHUNK_HEADER as usize);
        self.end.set(start + pages as usize * file::PAGE as usize);
        Some(())
    }
}

impl Process {
    /// A chunk of the file; `None`: the file or the disk is full.
    fn chunk(&self, kind: ChunkKind, pages: u32, thread: u32) -> Option<*const Chunk> {
        let bytes = u64::from(pages) * file::PAGE;
        let header = self.header();
        if header.used.load(Relaxed) + bytes > file::FILE_BYTES - file::CHUNKS {
            header.full.store(1, Relaxed);
            return None;
        }
        let offset = header.used.fetch_add(bytes, Relaxed);
        if offset + bytes > file::FILE_BYTES - file::CHUNKS {
            header.full.store(1, Relaxed);
            return None;
        }
        // SAFETY: within the mapping.
        let start = unsafe { self.base().add((file::CHUNKS + offset) as usize) };
        if !memory::populate(start, bytes as usize) {
            header.full.store(1, Relaxed);
            return None;
        }
        // SAFETY: as above; zero bytes are a chunk's header.
        let chunk = unsafe { &*start.cast::<Chunk>() };
        chunk.pages.store(pages, Relaxed);
        chunk.thread.store(thread, Relaxed);
        // ORDERING recorder.records: Release; a reader that sees the kind sees the length.
        chunk.kind.store(kind as u32, Release);
        Some(chunk)
    }
}
