//! Counts the waits of a process's threads in a file, inside the preload library.
//!
//! None of this code allocates, takes a lock, or calls the loader, and a failure costs the view and never the program:
//! a page of the file is made writable, with an error result, before it is touched. A thread waits for another in only
//! one place, for a bounded time, where it is about to wait anyway: for the view that the other creates (`threads.rs`).
//!
//! | file | what |
//! |---|---|
//! | `block.rs` | a thread's waits: the cost of a wait is here |
//! | `table.rs` | moves from the blocks to the table of locks |
//! | `index.rs` | finds a lock's record in it |
//! | `log.rs` | individual waits, while a profiler requests them |
//! | `threads.rs` | gives blocks to threads, and reclaims them from exited ones |
//! | `stacks.rs` | call stacks of waits that are not for our locks |
//! | `modules.rs` | the unloaded modules, so that no address is attributed to an earlier one |
//! | `view.rs` | the process's view: its mapping, which pages of it are present, forked children |
//! | `file.rs` | creates the file |
//! | `settings.rs` | the settings for a wait: the only data that is read |
//! | `folder.rs` | the folder, and its stale files |
//! | `clock.rs` | ticks, and how long they are |
//! | `sys.rs` | system calls, none of which is a cancellation point |
//!
//! A wait is counted when the thread's next one begins: the thread is then about to wait, while counting with the lock
//! held would delay others. So the end of a wait costs a clock reading and some stores.
//!
//! A forked child does not touch the parent's file: all inherited state is void if the process's generation differs.
//! The child creates its own file at its first wait.

mod block;
mod clock;
mod file;
mod folder;
mod index;
mod log;
mod modules;
mod settings;
mod stacks;
mod sys;
mod table;
mod threads;
mod view;

pub use view::{set_hooks, turn_off};

use crate::layout::{Block, CALLS, EVENTS};
use crate::{Key, Values};
use core::ffi::CStr;

/// What is known when a wait begins.
#[derive(Clone, Copy)]
pub struct Start {
    /// The lock, and the way of waiting.
    pub key: Key,
    /// The address to which the call returns; 0: unknown.
    pub site: usize,
    /// The lock's owner: the thread's number, or its thread pointer; 0: unknown.
    pub owner: usize,
    /// 1 plus the number of the policy file's rule for the lock; 0: there is none, or it has no settings.
    pub rule: u32,
    /// The thread's current state.
    pub me: Me,
}

/// The caller's data about the calling thread.
#[derive(Clone, Copy)]
pub struct Me {
    /// The process's generation: 0, and a different number in each forked child.
    pub generation: u32,
    /// The thread's counters of sleeps, steals and hand-offs, modulo 2^32.
    pub events: [u32; EVENTS],
}

impl Start {
    /// Numbers the lock's address and the call site where one module replaced another.
    #[inline(always)]
    #[must_use]
    pub fn numbered(self) -> Start {
        let generation = self.me.generation;
        if !modules::are_unloaded(generation) {
            return self;
        }
        self.with(|address| modules::numbered(address, generation))
    }

    /// Does as [`Start::numbered`] in a program whose unloads are not reported by [`unloading`].
    #[must_use]
    pub fn checked(self) -> Start {
        // It creates the view, in which the modules are noted.
        if threads::block(&self.me, true).is_none() {
            return self;
        }
        let generation = self.me.generation;
        self.with(|address| modules::seen(address, generation))
    }

    /// Does as [`Start::numbered`], and replaces the call site by the stack of calls that led to it. `path` identifies
    /// it, and `take` finds the calls: it returns their number.
    #[must_use]
    pub fn at_stack(self, path: u64, take: impl FnOnce(&mut [u64; CALLS]) -> usize) -> Start {
        let generation = self.me.generation;
        // It creates the view.
        let view = threads::block(&self.me, true).and_then(|_| view::of(generation));
        let stack = view.and_then(|view| stacks::of(&view, generation, path, take));
        let start = self.numbered();
        Start { site: stack.map_or(start.site, |stack| stack as usize), ..start }
    }

    #[inline(always)]
    fn with(self, numbered: impl Fn(u64) -> u64) -> Start {
        let key = Key::new(numbered(self.key.address()) as usize, self.key.kind());
        Start { key, site: numbered(self.site as u64) as usize, ..self }
    }
}

/// A wait that has begun.
pub struct Begun {
    block: &'static Block,
    generation: u32,
    /// The approximate end of the stack: [`Block::inside`].
    inside: u64,
}

/// The settings of a policy file's rule, for readers of the view: the program itself uses the file.
pub struct FileRule {
    /// Its settings; if there are none, it is not published.
    pub values: Values,
    /// Its name for readers, truncated to [`crate::settings::LABEL`] bytes.
    pub label: &'static [u8],
}

/// What views ask the library that counts.
pub struct Hooks {
    /// Returns a policy file's rule by its number: views publish all.
    pub rules: fn(usize) -> Option<FileRule>,
    /// Returns whether there may be a filter of system calls: then views make none.
    pub may_be_filtered: fn() -> bool,
}

/// Turns the view on, at the start of the process. `runtime`: the folder for files that end with the session, if there
/// is one. `policy`: [`crate::layout::Header::policy`]. `in_sandbox`: also where system calls are filtered, to which a
/// filter may react by ending the process.
///
/// Programs that run with other rights than their user's have no view.
pub fn start(runtime: Option<&CStr>, in_sandbox: bool, policy: u32) {
    if sys::is_secure() {
        return view::turn_off();
    }
    clock::start();
    view::turn_on(runtime, in_sandbox, policy);
}

/// Begins a wait, whose end the caller reports by [`end`]; `None`: it is not counted.
#[inline]
#[must_use]
pub fn begin(start: &Start) -> Option<Begun> {
    let block = threads::block(&start.me, true)?;
    let mark = 0_u8;
    let inside = core::ptr::from_ref(&mark).addr() as u64;
    block::begin(block, start, inside).then_some(Begun { block, generation: start.me.generation, inside })
}

/// Returns the owner's settings for a wait that has begun; `None`: there are none.
#[inline(always)]
#[must_use]
pub fn settings(begun: &Begun, start: &Start) -> Option<Values> {
    settings::of(begun.generation, start.key.address(), start.site as u64)
}

/// Creates the process's view now, if it may have one: its file may soon be out of reach.
#[cold]
pub fn make_now(me: &Me) {
    if !view::is_undecided() {
        let _ = sys::keeping_errno(|| view::of_or_make(me.generation));
    }
}

/// The way a wait ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// With the lock, whose release is reported by [`released`] if others wait for it.
    Owner,
    /// With the lock, or a share of it, whose release is not reported: no owner is known.
    Acquired,
    /// Without the lock.
    GaveUp,
}

/// Ends a wait.
#[inline]
pub fn end(begun: &Begun, how: End, me: &Me) {
    // If not, a signal handler has forked, and this is the child.
    if begun.generation == me.generation {
        block::end(begun.block, begun.inside, how, me);
    }
}

/// Returns how long a wait has lasted, about.
#[must_use]
pub fn lasted_ns(begun: &Begun) -> u64 {
    view::of(begun.generation).map_or(0, |view| block::lasted_ns(begun.block, &view))
}

/// Withdraws a wait that has begun: the thread did not wait.
pub fn withdraw(begun: &Begun, me: &Me) {
    if begun.generation == me.generation {
        block::withdraw(begun.block, begun.inside);
    }
}

/// Notes that the calling thread has released a lock for which others waited; the lock may be gone.
#[inline]
pub fn released(address: usize, me: &Me) {
    if let Some(block) = threads::block(me, false) {
        block::released(block, modules::numbered(address as u64, me.generation) as usize);
    }
}

/// Notes which modules are loaded, for readers after the end of the process, which is beginning. `me` describes the
/// calling thread.
pub fn ending(me: &Me) {
    if let Some(view) = view::of(me.generation) {
        sys::keeping_errno(|| modules::Loaded::now(true).note_all(&view, me.generation));
    }
}

/// Runs `unload`, which unloads modules, and notes which are gone afterwards. `me` describes the calling thread.
pub fn unloading<T>(me: impl Fn() -> Me, unload: impl FnOnce() -> T) -> T {
    let loaded = view::of(me().generation).map(|_| modules::Loaded::now(false));
    let result = unload();
    if let Some(loaded) = loaded {
        sys::keeping_errno(|| loaded.compare(me().generation));
    }
    result
}
