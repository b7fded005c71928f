//! The process's view: its mapping, and which of its pages are present.
//!
//! No data that determines where we write is read from the file: a process with write access may write anything to it.

use super::{Hooks, file, index, settings, sys};
use crate::layout::{
    BLOCKS_START, Block, Entry, FILE_BYTES, Header, LOCKS, LOCKS_START, LOG_START, PAGE, Part, STACKS, STACKS_START,
    Stack,
};
use core::ffi::CStr;
use core::ops::Range;
use core::ptr::{self, null_mut};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64};

/// The pages of the file.
pub(super) const PAGES: usize = FILE_BYTES / PAGE;

/// [`MODE`]: not decided yet.
const UNDECIDED: u32 = 0;
const ON: u32 = 1;
const OFF: u32 = 2;

static MODE: AtomicU32 = AtomicU32::new(UNDECIDED);
/// A copy, since programs write their titles over their environment. It ends in zeros.
static RUNTIME: [AtomicU8; 256] = [const { AtomicU8::new(0) }; 256];
static IN_SANDBOX: AtomicBool = AtomicBool::new(false);
static POLICY: AtomicU32 = AtomicU32::new(0);
static NO_HOOKS: Hooks = Hooks { rules: |_| None, may_be_filtered: || false };
static HOOKS: AtomicPtr<Hooks> = AtomicPtr::new((&raw const NO_HOOKS).cast_mut());

/// 1 plus the generation of the process that began to create a view; 0: none did.
static BEGUN: AtomicU32 = AtomicU32::new(0);
/// 1 plus the generation of the process whose view [`BASE`] is.
static READY: AtomicU32 = AtomicU32::new(0);
/// 1 plus the generation of the process that could not create one.
static FAILED: AtomicU32 = AtomicU32::new(0);
static BASE: AtomicPtr<u8> = AtomicPtr::new(null_mut());
static PROCESS: AtomicU32 = AtomicU32::new(0);
static BLOCKS: AtomicU32 = AtomicU32::new(0);
static BLOCKS_USED: AtomicU32 = AtomicU32::new(0);
static LOCKS_USED: AtomicU32 = AtomicU32::new(0);
static STACKS_USED: AtomicU32 = AtomicU32::new(0);
/// The number of the next recorded wait, and of the next release: nothing in the file determines where writes go.
pub(super) static NEXT_RECORD: AtomicU64 = AtomicU64::new(0);
pub(super) static NEXT_RELEASE: AtomicU64 = AtomicU64::new(0);
/// The pages that can be written, one bit each.
static THERE: [AtomicU64; PAGES.div_ceil(64)] = [const { AtomicU64::new(0) }; PAGES.div_ceil(64)];

/// The pages of the table.
const LOCK_PAGES: Range<usize> = LOCKS_START / PAGE..STACKS_START / PAGE;
/// The table doubles its pages, by a number within these bounds: a call for each would cost more than a page does.
const FEWEST_PAGES: usize = 2;
const MOST_PAGES: usize = 16;

/// A view that can be written to. It is mapped as long as the process lives.
#[derive(Clone, Copy)]
pub(super) struct View {
    base: *mut u8,
}

/// The reason that there is no view.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// Another thread is making it.
    Yet,
    /// There will be none.
    ForGood,
}

/// Makes views use these hooks. Must be called before [`super::start`].
pub fn set_hooks(hooks: &'static Hooks) {
    HOOKS.store(ptr::from_ref(hooks).cast_mut(), Relaxed);
}

fn hooks() -> &'static Hooks {
    // SAFETY: only statics are stored there.
    unsafe { &*HOOKS.load(Relaxed) }
}

/// Lets processes have views from now on, this one and its forked children.
pub(super) fn turn_on(runtime: Option<&CStr>, in_sandbox: bool, policy: u32) {
    let path = runtime.map_or(&[][..], CStr::to_bytes);
    if path.len() < RUNTIME.len() {
        RUNTIME.iter().zip(path).for_each(|(byte, value)| byte.store(*value, Relaxed));
    }
    IN_SANDBOX.store(in_sandbox, Relaxed);
    POLICY.store(policy, Relaxed);
    // ORDERING live.mode: Release pairs with the Acquire in `is_undecided`: a thread that sees the mode sees the rest.
    MODE.store(ON, Release);
}

/// Forbids a view to this process and its children, at its start.
pub fn turn_off() {
    // ORDERING live.mode: Release, as in `turn_on`.
    MODE.store(OFF, Release);
}

/// Returns whether it is too early to request a view.
pub(super) fn is_undecided() -> bool {
    // ORDERING live.mode: Acquire pairs with the Release in `turn_on`.
    MODE.load(Acquire) == UNDECIDED
}

/// Returns whether system calls may be made here. A filter that was not announced is queried: the calls that would
/// follow are no more usual than the query.
pub(super) fn may_call_system() -> bool {
    IN_SANDBOX.load(Relaxed) || !(hooks().may_be_filtered)() && !sys::is_sandboxed()
}

/// Returns the policy of the process's locks.
pub(super) fn policy() -> u32 {
    POLICY.load(Relaxed)
}

/// Returns the view of the process of this generation, if it was made.
#[inline(always)]
pub(super) fn of(generation: u32) -> Option<View> {
    // ORDERING live.view: Acquire pairs with the Release in `make`: a thread that sees it ready sees the mapping.
    (READY.load(Acquire) == generation + 1).then(|| View { base: BASE.load(Relaxed) })
}

/// Returns the view that the calling thread's block is in: it has one.
#[inline(always)]
pub(super) fn current() -> Option<View> {
    let base = BASE.load(Relaxed);
    (!base.is_null()).then_some(View { base })
}

/// Returns the view, and creates it if there is none.
pub(super) fn of_or_make(generation: u32) -> Result<View, Missing> {
    if let Some(view) = of(generation) {
        return Ok(view);
    }
    let (mine, begun) = (generation + 1, BEGUN.load(Relaxed));
    if MODE.load(Relaxed) != ON || FAILED.load(Relaxed) == mine {
        return Err(Missing::ForGood);
    }
    if begun == mine {
        return Err(Missing::Yet);
    }
    let may_call_system = may_call_system();
    let make = || match BEGUN.compare_exchange(begun, mine, Relaxed, Relaxed) {
        Ok(_) => make(mine, may_call_system).inspect_err(|_| FAILED.store(mine, Relaxed)),
        Err(_) => Err(Missing::Yet),
    };
    // A handler or a cancellation that ends this thread would leave the view unfinished, and others waiting for it.
    if may_call_system { sys::without_signals(make) } else { make() }
}

/// Creates the view. One thread of a process does it.
fn make(mine: u32, may_call_system: bool) -> Result<View, Missing> {
    let runtime = RUNTIME.each_ref().map(|byte| byte.load(Relaxed));
    let runtime = CStr::from_bytes_until_nul(&runtime).ok().filter(|path| !path.is_empty());
    let made = may_call_system.then(|| file::make(runtime)).flatten().ok_or(Missing::ForGood)?;
    let parents = BASE.swap(made.base.as_ptr(), Relaxed);
    if !parents.is_null() {
        // This is the parent process's file. Its memory stays mapped: a signal handler may have forked while a thread
        // was about to write there.
        // SAFETY: it is a mapping that an ancestor made here.
        unsafe { sys::replace(parents, FILE_BYTES) };
        index::clear();
    }
    // A page that is read before it is written is allocated twice, and the second time interrupts all CPUs that run the
    // process.
    populate(index::memory().as_ptr().cast_mut().cast(), size_of_val(index::memory()));
    PROCESS.store(made.process, Relaxed);
    BLOCKS.store(made.blocks as u32, Relaxed);
    BLOCKS_USED.store(0, Relaxed);
    LOCKS_USED.store(0, Relaxed);
    STACKS_USED.store(0, Relaxed);
    NEXT_RECORD.store(0, Relaxed);
    NEXT_RELEASE.store(0, Relaxed);
    // Not the log's pages: if a page's allocation cannot be checked, individual waits are not recorded.
    let there = if made.is_all_there { LOG_START / PAGE } else { 0 };
    for (place, word) in THERE.iter().enumerate() {
        let pages = there.saturating_sub(64 * place);
        word.store(if pages >= 64 { u64::MAX } else { (1 << pages) - 1 }, Relaxed);
    }
    // ORDERING live.view: Release pairs with the Acquire in `of`.
    READY.store(mine, Release);
    let view = View { base: made.base.as_ptr() };
    settings::tell(&view, hooks().rules);
    Ok(view)
}

/// Takes the next of `places` places; `None`: all are taken.
fn take_next(used: &AtomicU32, places: u32) -> Option<u32> {
    used.fetch_update(Relaxed, Relaxed, |used| (used < places).then_some(used + 1)).ok()
}

impl View {
    /// Returns the file's header.
    pub(super) fn header(&self) -> &'static Header {
        // SAFETY: the mapping begins with the header, whose page is there, and stays.
        unsafe { &*self.base.cast() }
    }

    /// Returns the process whose view it is: a child of `vfork` runs in its parent's memory.
    pub(super) fn process(&self) -> u32 {
        PROCESS.load(Relaxed)
    }

    /// Returns a record of the file by its place; `None`: there is none of this place, or no room for it. A page that
    /// was never written is made writable like others, since even reading it may find no room.
    pub(super) fn at<T: Part>(&self, place: usize) -> Option<&'static T> {
        const { assert!(T::START.is_multiple_of(align_of::<T>())) };
        if place >= T::COUNT {
            return None;
        }
        let offset = T::offset(place);
        let pages = offset / PAGE..=(offset + size_of::<T>() - 1) / PAGE;
        let are_there = pages.into_iter().all(|page| self.has_page(page));
        // SAFETY: the file has such a record of atomics, for which zeros are valid; its pages are there and stay.
        are_there.then(|| unsafe { &*self.base.add(offset).cast() })
    }

    /// Returns a record of the table that was never taken, and its place; `None`: there is no room for it.
    pub(super) fn new_lock(&self) -> Option<(usize, &'static Entry)> {
        // A disk that is full now may have room later: no place is taken before there is a page for one.
        if !self.has_lock(LOCKS_USED.load(Relaxed) as usize) {
            return None;
        }
        let place = take_next(&LOCKS_USED, LOCKS as u32)?;
        let lock = self.at(place as usize)?;
        self.header().locks_used.fetch_max(place + 1, Relaxed);
        Some((place as usize, lock))
    }

    /// Returns whether there is a record of this place; extends the table if necessary.
    fn has_lock(&self, place: usize) -> bool {
        let last = (Entry::offset(place + 1) - 1) / PAGE;
        let more = (last - LOCK_PAGES.start).clamp(FEWEST_PAGES, MOST_PAGES);
        // If not, fewer pages may still have room.
        place < LOCKS
            && (is_there(last)
                || self.make_pages(last..(last + more).min(LOCK_PAGES.end))
                || self.at::<Entry>(place).is_some())
    }

    /// Returns the number of blocks that were ever taken.
    pub(super) fn blocks_used(&self) -> usize {
        BLOCKS_USED.load(Relaxed) as usize
    }

    /// Returns the place of a block.
    pub(super) fn place_of(&self, block: &Block) -> usize {
        core::ptr::from_ref(block).addr().wrapping_sub(self.base.addr() + BLOCKS_START) / size_of::<Block>()
    }

    /// Returns the number of the next record of the log, and the slot for it.
    pub(super) fn next<T: Part>(&self, next: &AtomicU64) -> (u64, Option<&'static T>) {
        let number = next.fetch_add(1, Relaxed);
        (number, self.at(number as usize % T::COUNT))
    }

    /// Returns a block that was never taken.
    pub(super) fn new_block(&self) -> Option<&'static Block> {
        // As for a record of the table.
        let (likely, all) = (self.blocks_used(), BLOCKS.load(Relaxed));
        if likely >= all as usize || self.at::<Block>(likely).is_none() {
            return None;
        }
        let place = take_next(&BLOCKS_USED, all)?;
        let block = self.at(place as usize)?;
        self.header().blocks_used.fetch_max(place + 1, Relaxed);
        Some(block)
    }

    /// Returns a call stack that was never taken, and its place; `None`: there is no room for it.
    pub(super) fn new_stack(&self) -> Option<(usize, &'static Stack)> {
        let place = take_next(&STACKS_USED, STACKS as u32)? as usize;
        Some((place, self.at(place)?))
    }

    fn has_page(&self, page: usize) -> bool {
        is_there(page) || self.make_pages(page..page + 1)
    }

    /// Makes pages writable; `false`: there is no room for some of them.
    fn make_pages(&self, pages: Range<usize>) -> bool {
        // SAFETY: the pages are of the mapping.
        let start = unsafe { self.base.add(pages.start * PAGE) };
        let can = populate(start, pages.len() * PAGE);
        if can {
            pages.for_each(|page| _ = THERE[page / 64].fetch_or(1 << (page % 64), Relaxed));
        }
        can
    }
}

/// Makes our memory writable; `false`: some of it is not available now.
fn populate(start: *mut u8, bytes: usize) -> bool {
    sys::keeping_errno(|| may_call_system() && sys::populate(start, bytes).is_ok())
}

/// Returns whether a page can be written.
fn is_there(page: usize) -> bool {
    THERE[page / 64].load(Relaxed) >> (page % 64) & 1 != 0
}
