//! A thread's private state. A state outlives its thread: the next thread continues with its entries, so that a program
//! of a million short threads needs no more room than the threads that exist at the same time.

use crate::episodes::Episodes;
use crate::held::HeldLocks;
use crate::holder::Peer;
use crate::journal::Journal;
use crate::mapping::add;
use crate::notes::HoldNotes;
use crate::process::{self, Process};
use crate::sampling::{HOLD_ONE_IN, Sampling};
use crate::steps::Steps;
use crate::table::Table;
use crate::tls::Current;
use crate::writer::Writer;
use crate::{clock, filter, memory};
use core::cell::Cell;
use core::ffi::c_void;
use core::mem::offset_of;
use core::ptr;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, compiler_fence};
use turnwise_recording as file;
use turnwise_recording::{Class, Entry, Thread};

/// [`State::mode`]: the memory was wiped, this is a forked child.
const WIPED: u32 = 0;
const IDLE: u32 = 1;
/// The recorder is active; a signal handler that runs meanwhile is not recorded.
const BUSY: u32 = 2;

/// Rounds of destructors of thread-specific data that POSIX guarantees: a thread ends for us in the last, as other
/// destructors may use locks.
const DESTRUCTOR_ROUNDS: u32 = 4;

/// Not created, or none available.
const NO_KEY: u32 = u32::MAX;
static KEY: AtomicU32 = AtomicU32::new(NO_KEY);

/// A thread's state. The fields that every call reads come first, on as few cache lines as possible.
#[repr(C)]
pub(crate) struct State {
    pub(crate) locks: HeldLocks,
    mode: AtomicU32,
    /// Rounds of destructors of thread-specific data that ran for it: it ends with the last.
    rounds: Cell<u32>,
    pub(crate) table: Table,
    /// The next line of the journal, from 1; 0: the thread counts immediately.
    pub(crate) next_line: Cell<u64>,
    pub(crate) writer: Writer,
    pub(crate) notes: HoldNotes,
    pub(crate) sampling: Sampling,
    pub(crate) episodes: Episodes,
    pub(crate) steps: Steps,
    pub(crate) peer: Peer,
    pub(crate) journal: Journal,
    process: Cell<*const Process>,
    next_free: AtomicPtr<State>,
}
const _: () = assert!(offset_of!(State, writer) / 64 == offset_of!(State, mode) / 64, "they share a cache line");

/// A state that is always active, for threads that are ending or have no state yet.
#[repr(C)]
struct Closed {
    locks: [AtomicU64; offset_of!(State, mode) / 8],
    mode: AtomicU32,
}
const _: () = assert!(offset_of!(State, mode) == offset_of!(Closed, mode), "`Closed` stands for the first fields");
static CLOSED: Closed =
    Closed { locks: [const { AtomicU64::new(0) }; offset_of!(State, mode) / 8], mode: AtomicU32::new(BUSY) };

fn closed() -> *const State {
    (&raw const CLOSED).cast()
}

/// The calling thread's state, in use until dropped.
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

/// Returns the calling thread's state for a glance: only data that a signal handler in between may also change may be
/// changed. `None`: it has none, or is active in it.
#[inline(always)]
pub(crate) fn fast_look_up() -> Option<&'static State> {
    let state: *const State = Current::quickly();
    // SAFETY: as in `enter`.
    unsafe { if !state.is_null() && (*state).mode.load(Relaxed) == IDLE { Some(&*state) } else { None } }
}

/// Returns whether nothing was recorded of the thread yet.
#[inline(always)]
pub(crate) fn is_new_thread() -> bool {
    Current::quickly().is_null()
}

/// Begins to record something; `None`: this cannot be recorded.
#[inline(always)]
pub(crate) fn enter() -> Option<Session> {
    let state: *const State = Current::quickly();
    // SAFETY: not null: a state, or `CLOSED`, of which only the mode is read.
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

/// Begins to record something that is no acquisition: if it cannot be recorded, it is not counted as one that is
/// missing.
pub(crate) fn enter_uncounted() -> Option<Session> {
    let state: *const State = Current::quickly();
    // SAFETY: as in `enter`.
    if !state.is_null() && unsafe { (*state).mode.load(Relaxed) } == BUSY { None } else { enter() }
}

#[cold]
fn enter_slowly(state: *const State) -> Option<Session> {
    // SAFETY: as in `enter`.
    if !state.is_null() && unsafe { (*state).mode.load(Relaxed) } != WIPED {
        let process = process::get()?;
        if state == closed() {
            process.mapping.unattributed();
        } else {
            // SAFETY: an active state, with its record. The handler interrupted its own thread.
            add(&unsafe { &*state }.writer.record().nested, 1);
        }
        return None;
    }
    Current::set(closed());
    let made = memory::keeping_errno(State::begin);
    // Later calls try again, unless there was no memory.
    let none = if process::get_if_ready().is_some() { closed() } else { ptr::null() };
    Current::set(made.map_or(none, ptr::from_ref));
    made.map(|state| {
        state.mode.store(BUSY, Relaxed);
        compiler_fence(SeqCst);
        Session(state)
    })
}

impl State {
    /// Returns a state for the calling thread.
    fn begin() -> Option<&'static State> {
        let process = process::get()?;
        if !filter::allows_calls() {
            process.mapping.is_full(file::WHY_FILTER);
            return None;
        }
        let last = file::THREADS.count as u32 - 1;
        let index = process.mapping.header().threads.fetch_add(1, Relaxed).min(last);
        let Some(record) = process.mapping.reach::<Thread>(&file::THREADS, index as usize) else {
            process.stop();
            return None;
        };
        let state = match State::recycled(process) {
            Some(state) => state,
            None => State::make(process).or_else(|| {
                process.mapping.is_full(file::WHY_MEMORY);
                None
            })?,
        };
        state.locks.begin(index);
        state.rounds.set(0);
        state.notes.begin();
        // SAFETY: always succeeds. (The C library's function exists only since glibc 2.30.)
        let tid = unsafe { libc::syscall(libc::SYS_gettid) } as u32;
        record.tid.store(tid, Relaxed);
        record.began.store(clock::ticks(), Relaxed);
        state.writer.begin(record, index);
        state.writer.note_name();
        state.sampling.begin(clock::ticks() << 20 | u64::from(tid) | 1);
        let interval = match state.steps.begin(&state.writer) {
            true => 1,
            false => state.sampling.interval(HOLD_ONE_IN),
        };
        record.left.store(interval, Relaxed);
        record.ahead.store(u64::from(interval), Relaxed);
        process.peers.begin(&state.peer, tid, index);
        await_end_of_thread();
        state.mode.store(IDLE, Relaxed);
        Some(state)
    }

    fn make(process: &'static Process) -> Option<&'static State> {
        let memory = memory::wiped_on_fork(size_of::<State>())?;
        // SAFETY: zero bytes are a state (wiped); it is never unmapped.
        let state: &'static State = unsafe { memory.cast().as_ref() };
        state.table.prepare()?;
        state.process.set(process);
        state.writer.prepare(&process.mapping);
        process.peers.add(&state.peer, &state.locks);
        Some(state)
    }

    /// Returns the state of a thread that has ended.
    fn recycled(process: &Process) -> Option<&'static State> {
        let state = process.free.change(|first| {
            // SAFETY: null, or a state, which is never unmapped.
            unsafe { first.load(Relaxed).as_ref() }.inspect(|state| first.store(state.next_free.load(Relaxed), Relaxed))
        });
        state.flatten()
    }

    /// Returns the thread's process.
    #[inline]
    pub(crate) fn process(&self) -> &'static Process {
        // SAFETY: set by `make`; a process lives as long as the process.
        unsafe { &*self.process.get() }
    }

    /// Returns the entry of a lock and a site, created if necessary; `None`: there is no room.
    pub(crate) fn entry(&self, class: Class, address: u64, site: u64) -> Option<&'static Entry> {
        self.table.find(&self.writer, class, address, site)
    }

    /// Counts a wait that begins, and renews what is rarely looked at.
    pub(crate) fn begin_wait(&self) {
        self.sampling.count_wait();
        if self.sampling.waits.get().is_power_of_two() {
            self.writer.note_name();
            self.writer.mapping().look_at_clock();
        }
    }

    /// Ends the calling thread's state. `false`: not yet, other destructors may still use locks.
    fn end() -> bool {
        let Some(state) = enter() else { return true };
        state.rounds.set(state.rounds.get() + 1);
        if state.rounds.get() < DESTRUCTOR_ROUNDS {
            return false;
        }
        state.count_journal();
        state.watch_end();
        state.steps.end(&state.writer);
        state.writer.note_name();
        state.writer.record().ended.store(clock::ticks(), Relaxed);
        let process = state.process();
        process.mapping.look_at_clock();
        state.peer.end(&process.peers);
        state.locks.end();
        Current::set(closed());
        process.free.change(|first| {
            state.next_free.store(first.load(Relaxed), Relaxed);
            first.store(ptr::from_ref(state.0).cast_mut(), Relaxed);
        });
        // The next thread may already have it: its mode must not be changed.
        core::mem::forget(state);
        true
    }
}

/// Creates the key whose destructor sees the end of threads, for the constructor.
pub(crate) fn make_key() {
    /// The C library allocates for the values of further keys.
    const WITHOUT_ALLOCATION: u32 = 32;
    let mut key = 0;
    // SAFETY: `key` is writable, and the destructor takes what `await_end_of_thread` sets.
    let made = unsafe { libc::pthread_key_create(&mut key, Some(thread_ends)) } == 0;
    if made && key < WITHOUT_ALLOCATION {
        KEY.store(key, Relaxed);
    }
}

/// Arranges for the calling thread's end to be seen.
fn await_end_of_thread() {
    let key = KEY.load(Relaxed);
    if key != NO_KEY {
        // SAFETY: our key; any value that is not null lets the destructor run.
        unsafe { libc::pthread_setspecific(key, ptr::without_provenance(1)) };
    }
}

unsafe extern "C" fn thread_ends(_: *mut c_void) {
    if !State::end() {
        await_end_of_thread();
    }
}
