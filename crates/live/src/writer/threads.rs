//! Gives blocks to threads, and takes them from those that are gone.
//!
//! Nobody tells when a thread exits: a thread that asks for a block looks at two others', whether their threads are
//! still there. So there are about as many blocks of threads that are gone as of others.

use super::tls::{self, Words};
use super::view::{self, Missing, View};
use super::{Me, block, sys};
use crate::layout::{Block, state};
use core::ptr::null;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// So many blocks are looked at when a thread asks for one.
const LOOKS: usize = 2;
/// So many are when all are taken.
const MANY_LOOKS: usize = 64;

/// Which block is looked at next.
static HAND: AtomicU32 = AtomicU32::new(0);

/// Returns the calling thread's block; `None`: it has none.
#[inline(always)]
pub(super) fn block(me: &Me) -> Option<&'static Block> {
    let words = tls::get();
    if words.generation == u64::from(me.generation) + 1 {
        // SAFETY: the pointer is null, or of a block of this process's view, which stays mapped.
        return unsafe { words.block.as_ref() };
    }
    ask(me)
}

#[cold]
#[inline(never)]
fn ask(me: &Me) -> Option<&'static Block> {
    if view::is_undecided() {
        return None;
    }
    let words = |block| Words { block, generation: u64::from(me.generation) + 1 };
    tls::set(words(null())); // a signal handler gets none meanwhile
    match sys::keeping_errno(|| find(me)) {
        Ok(block) => {
            tls::set(words(block));
            Some(block)
        }
        Err(Missing::Yet) => {
            tls::set(Words { block: null(), generation: 0 });
            None
        }
        Err(Missing::ForGood) => None,
    }
}

fn find(me: &Me) -> Result<&'static Block, Missing> {
    let view = view::of_or_make(me.generation)?;
    let found = view::may_call_system().then(|| find_in(&view, me)).flatten();
    let Some(found) = found else {
        view.header().lost_threads.fetch_add(1, Relaxed);
        return Err(Missing::ForGood);
    };
    block::take(found, me.token, tls::thread_pointer());
    // ORDERING live.block: Release pairs with the Acquire in `reap`: who takes it away sees whose it is.
    found.state.store(state::LIVE, Release);
    Ok(found)
}

/// Finds a free block, and marks it.
fn find_in(view: &View, me: &Me) -> Option<&'static Block> {
    reap(view, me, LOOKS)
        .or_else(|| view.new_block().filter(|new| mark(new, state::FREE)))
        .or_else(|| reap(view, me, MANY_LOOKS))
}

/// Looks at some blocks; returns the first whose thread is gone, marked. Of the others the waits are saved, too.
fn reap(view: &View, me: &Me, looks: usize) -> Option<&'static Block> {
    let used = view.blocks_used();
    let mut found = None;
    for _ in 0..looks.min(used) {
        let Some(other) = view.block(HAND.fetch_add(1, Relaxed) as usize % used) else { continue };
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
                // ORDERING live.block: Release; who takes it sees it empty.
                other.state.store(state::FREE, Release);
            }
        }
    }
    found
}

/// Makes a block the caller's alone, if its state is still `from`.
fn mark(block: &Block, from: u32) -> bool {
    // ORDERING live.block: Acquire pairs with the Release of the former owner's; one thread wins.
    block.state.compare_exchange(from, state::REAPED, AcqRel, Relaxed).is_ok()
}
