//! Gives blocks to threads, and reclaims them from threads that have exited.
//!
//! A thread's exit is not reported: a thread that requests a block checks two others, whether their threads still
//! exist. So there are about as many blocks of exited threads as of running ones.

use super::view::{self, Missing, View};
use super::{Me, block, sys};
use crate::layout::{Block, state};
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use turnwise_interpose::{thread_pointer, thread_variable};

/// The number of blocks that are checked when a thread requests one.
const LOOKS: usize = 2;
/// The number that is checked when all are taken.
const MANY_LOOKS: usize = 64;

/// The block that is checked next.
static HAND: AtomicU32 = AtomicU32::new(0);

/// A thread that begins its first wait while another creates the view checks for it after sleeps of this length, which
/// doubles up to the second constant, for at most the third. Creating it takes some hundred microseconds, and more only
/// if that thread loses its CPU or the disk is slow: a deadlock at a program's first contention would then have a
/// thread that is not visible.
const FIRST_SLEEP_NS: u64 = 100_000;
const LONGEST_SLEEP_NS: u64 = 10_000_000;
const PATIENCE_NS: u64 = 5_000_000_000;

/// 1 plus the generation of the process in which a thread has waited for the view without success; 0: none has. If a
/// view takes that long, on a file system that hangs, it must not delay other waits of the process.
static IN_VAIN: AtomicU32 = AtomicU32::new(0);

thread_variable! {
    /// What the calling thread knows of its block.
    struct Own(Words) as "turnwise_live_words" of 16 bytes
}

/// A thread's block. Zeros: it has not requested one yet.
#[derive(Clone, Copy)]
#[repr(C)]
struct Words {
    /// `None`: it has none.
    block: Option<&'static Block>,
    /// 1 plus the generation of the process that the block belongs to.
    generation: u64,
}

/// Returns the calling thread's block; `None`: it has none. `for_a_wait`: the thread is about to wait for a lock, so it
/// may wait for the view before.
#[inline(always)]
pub(super) fn block(me: &Me, for_a_wait: bool) -> Option<&'static Block> {
    let words = Own::get();
    if words.generation == u64::from(me.generation) + 1 { words.block } else { ask(me, for_a_wait) }
}

#[cold]
#[inline(never)]
fn ask(me: &Me, for_a_wait: bool) -> Option<&'static Block> {
    if view::is_undecided() {
        return None;
    }
    let words = |block| Words { block, generation: u64::from(me.generation) + 1 };
    Own::set(words(None)); // a signal handler obtains none meanwhile
    match sys::keeping_errno(|| find(me, for_a_wait)) {
        Ok(block) => Own::set(words(Some(block))),
        Err(Missing::Yet) => Own::set(Words { block: None, generation: 0 }),
        Err(Missing::ForGood) => {}
    }
    Own::get().block
}

fn find(me: &Me, for_a_wait: bool) -> Result<&'static Block, Missing> {
    let view = match view::of_or_make(me.generation) {
        Err(Missing::Yet) if for_a_wait => await_view(me.generation)?,
        found => found?,
    };
    let found = view::may_call_system().then(|| find_in(&view, me)).flatten();
    let Some(found) = found else {
        view.header().lost_threads.fetch_add(1, Relaxed);
        return Err(Missing::ForGood);
    };
    block::take(found, thread_pointer() as u64);
    // ORDERING live.block: Release pairs with the Acquire in `reap`: a thread that reclaims it sees its owner.
    found.state.store(state::LIVE, Release);
    Ok(found)
}

/// Waits for the view that another thread creates, for a bounded time. A thread that waits for a lock at a program's
/// first contention may never wait again: without this, it would not be visible.
fn await_view(generation: u32) -> Result<View, Missing> {
    let (mut slept_ns, mut sleep_ns) = (0, FIRST_SLEEP_NS);
    while IN_VAIN.load(Relaxed) != generation + 1 && view::may_call_system() {
        sys::sleep_ns(sleep_ns);
        match view::of_or_make(generation) {
            Err(Missing::Yet) => {}
            found => return found,
        }
        slept_ns += sleep_ns;
        sleep_ns = (2 * sleep_ns).min(LONGEST_SLEEP_NS);
        if slept_ns >= PATIENCE_NS {
            IN_VAIN.store(generation + 1, Relaxed);
        }
    }
    Err(Missing::Yet)
}

/// Finds a free block, and marks it.
fn find_in(view: &View, me: &Me) -> Option<&'static Block> {
    reap(view, me, LOOKS)
        .or_else(|| view.new_block().filter(|new| mark(new, state::FREE)))
        .or_else(|| reap(view, me, MANY_LOOKS))
}

/// Checks some blocks; returns the first whose thread has exited, marked. The waits of the others are also saved.
fn reap(view: &View, me: &Me, looks: usize) -> Option<&'static Block> {
    let used = view.blocks_used();
    let mut found = None;
    for _ in 0..looks.min(used) {
        let Some(other) = view.at::<Block>(HAND.fetch_add(1, Relaxed) as usize % used) else { continue };
        if found.is_none() && mark(other, state::FREE) {
            found = Some(other);
            continue;
        }
        // ORDERING live.block: Acquire pairs with the Release in `find` and below.
        let is_live = other.state.load(Acquire) == state::LIVE;
        if is_live && sys::is_thread_gone(view.process(), other.tid.load(Relaxed)) && mark(other, state::LIVE) {
            block::move_all(other, me.generation);
            if found.is_none() {
                found = Some(other);
            } else {
                // ORDERING live.block: Release; a thread that takes it sees it empty.
                other.state.store(state::FREE, Release);
            }
        }
    }
    found
}

/// Makes a block exclusively the caller's, if its state is still `from`.
fn mark(block: &Block, from: u32) -> bool {
    // ORDERING live.block: Acquire pairs with the Release of the former owner's; one thread wins.
    block.state.compare_exchange(from, state::REAPED, AcqRel, Relaxed).is_ok()
}
