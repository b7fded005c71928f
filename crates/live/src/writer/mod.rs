//! Counts the waits of a process's threads in a file, inside the preload library.
//!
//! Nothing here allocates, takes a lock, or asks the loader, and whatever fails costs the view and never the program: a
//! page of the file is made writable, with an answer, before anything touches it. A thread waits for another in one
//! place, for a bounded time, where it is about to wait anyway: for the view that the other makes (`threads.rs`).
//!
//! | file | what |
//! |---|---|
//! | `block.rs` | a thread's waits: what a wait costs is here |
//! | `table.rs` | what moves from the blocks to the table of locks |
//! | `index.rs` | finds a lock's record in it |
//! | `log.rs` | waits one by one, while a profiler asks for them |
//! | `threads.rs` | gives blocks to threads, and takes them from those that are gone |
//! | `modules.rs` | which modules were unloaded, so that nothing is taken for what lay there before |
//! | `view.rs` | the process's view: its mapping, which pages of it are there, forked children |
//! | `file.rs` | makes the file |
//! | `settings.rs` | what is set for a wait: the one thing that is read |
//! | `folder.rs` | in which folder, and which files of it are stale |
//! | `clock.rs` | ticks, and how long they are |
//! | `tls.rs` | the words that every thread has of its own |
//! | `sys.rs` | system calls, none of which is a cancellation point |
//!
//! A wait is counted when the thread's next one begins: the thread then has nothing better to do, while it would keep
//! others waiting with the lock in hand. So the end of a wait costs a look at the clock and some stores.
//!
//! In a forked child nothing of the parent's file is touched: all that is in hand is void if the process's generation
//! is another. The child makes a file of its own at its first wait.

mod block;
mod clock;
mod file;
mod folder;
mod index;
mod log;
mod modules;
mod settings;
mod sys;
mod table;
mod threads;
mod tls;
mod view;

use crate::layout::{Block, EVENTS};
use crate::{Key, Values};
use core::ffi::CStr;

/// What is known as a wait begins.
#[derive(Clone, Copy)]
pub struct Start {
    /// The lock, and the way of waiting.
    pub key: Key,
    /// The address to which the call returns; 0: unknown.
    pub site: usize,
    /// The lock's owner: the thread's number, or its thread pointer; 0: unknown.
    pub owner: usize,
    /// 1 and the number of the policy file's rule for the lock; 0: none is, or it sets nothing.
    pub rule: u32,
    /// The thread, now.
    pub me: Me,
}

/// What the caller knows of the calling thread.
#[derive(Clone, Copy)]
pub struct Me {
    /// The process's generation: 0, and another number in each forked child.
    pub generation: u32,
    /// The thread's counters of sleeps, steals and hand-offs, modulo 2^32.
    pub events: [u32; EVENTS],
}

impl Start {
    /// Numbers the lock's address and the call site where modules came one after the other.
    #[inline(always)]
    #[must_use]
    pub fn numbered(self) -> Start {
        let generation = self.me.generation;
        if !modules::are_unloaded(generation) {
            return self;
        }
        let numbered = |address| modules::numbered(address, generation) as usize;
        Start { key: Key::new(numbered(self.key.address()), self.key.kind()), site: numbered(self.site as u64), ..self }
    }
}

/// A wait that has begun.
pub struct Begun {
    block: &'static Block,
    generation: u32,
    /// About where the stack ended: [`Block::inside`].
    inside: u64,
}

/// What a rule of a policy file sets, for readers of the view: the program goes by the file.
pub struct FileRule {
    /// What it sets; nothing: it is not told.
    pub values: Values,
    /// What readers call it: of more than [`crate::settings::LABEL`] bytes, the first.
    pub label: &'static [u8],
}

/// Has views tell readers of a policy file's rules, which `rules` has by their numbers. To be called before [`start`].
pub fn tell_rules(rules: fn(usize) -> Option<FileRule>) {
    view::tell_rules(rules);
}

/// Has views ask `announced` whether there may be a filter of system calls: then they make none. To be called before
/// [`start`].
pub fn tell_of_filters(announced: fn() -> bool) {
    view::tell_of_filters(announced);
}

/// Turns the view on, as the process begins. `runtime`: the folder for files that end with the session, if there is
/// one. `policy`: [`crate::layout::Header::policy`]. `in_sandbox`: also where system calls are filtered, which a filter
/// may answer by ending the process.
///
/// Programs that run with other rights than their user's have no view.
pub fn start(runtime: Option<&CStr>, in_sandbox: bool, policy: u32) {
    if sys::is_secure() {
        return turn_off();
    }
    clock::start();
    view::turn_on(runtime, in_sandbox, policy);
}

/// Turns the view off, as the process begins.
pub fn turn_off() {
    view::turn_off();
}

/// Begins a wait, of which the caller tells the end by [`end`]; `None`: it is not counted.
#[inline]
#[must_use]
pub fn begin(start: &Start) -> Option<Begun> {
    let block = threads::block(&start.me, true)?;
    let mark = 0_u8;
    let inside = core::ptr::from_ref(&mark).addr() as u64;
    block::begin(block, start, inside).then_some(Begun { block, generation: start.me.generation, inside })
}

/// Returns what its owner has set for a wait that has begun; `None`: nothing.
#[inline(always)]
#[must_use]
pub fn settings(begun: &Begun, start: &Start) -> Option<Values> {
    settings::of(begun.generation, start.key.address(), start.site as u64)
}

/// Makes the process's view now, if it may have one: its file may soon be out of reach.
#[cold]
pub fn make_now(me: &Me) {
    if !view::is_undecided() {
        let _ = sys::keeping_errno(|| view::of_or_make(me.generation));
    }
}

/// How a wait ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// With the lock, whose release is told by [`released`] if others wait for it.
    Owner,
    /// With the lock, or a part in it, whose release is not told: nobody is known to have it.
    Acquired,
    /// Without the lock.
    GaveUp,
}

/// Ends a wait.
#[inline]
pub fn end(begun: &Begun, how: End, me: &Me) {
    // Otherwise a signal handler has forked, and this is the child.
    if begun.generation == me.generation {
        block::end(begun.block, begun.inside, how, me);
    }
}

/// Notes that the calling thread has released a lock for which others waited; the lock may be gone.
#[inline]
pub fn released(address: usize, me: &Me) {
    if let Some(block) = threads::block(me, false) {
        block::released(block, modules::numbered(address as u64, me.generation) as usize);
    }
}

/// Notes which modules are loaded, for readers after the end of the process, which begins. `me` tells of the calling
/// thread.
pub fn ending(me: &Me) {
    if let Some(view) = view::of(me.generation) {
        sys::keeping_errno(|| modules::Loaded::now(true).note_all(&view, me.generation));
    }
}

/// Runs `unload`, which unloads modules, and notes which are gone afterwards. `me` tells of the calling thread.
pub fn unloading<T>(me: impl Fn() -> Me, unload: impl FnOnce() -> T) -> T {
    let loaded = view::of(me().generation).map(|_| modules::Loaded::now(false));
    let result = unload();
    if let Some(loaded) = loaded {
        sys::keeping_errno(|| loaded.compare(me().generation));
    }
    result
}
