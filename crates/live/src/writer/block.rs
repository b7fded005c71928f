//! A thread's waits, in its block. Except for [`move_all`], only the block's thread (invariant 1 of the layout) and its
//! signal handlers run this.

use super::{End, Me, Start, clock, log, sys, table, view};
use crate::Key;
use crate::layout::{Block, ENTRIES, Entry, HELD, Wait, bucket, flags};
use core::sync::atomic::Ordering::{Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicU64, compiler_fence, fence};

/// Begins a wait, after counting the last one; `false`: the thread is inside another one, which a signal has
/// interrupted.
#[inline]
pub(super) fn begin(block: &Block, start: &Start, inside: u64) -> bool {
    if is_nested(block, inside) {
        if let Some(view) = view::of(start.me.generation) {
            view.header().lost_nested.fetch_add(1, Relaxed);
        }
        return false;
    }
    enter(block, inside);
    let wait = &block.wait;
    change(wait, || {
        if wait.flags.load(Relaxed) != 0 {
            count(block, start.me.generation);
            keep(block, start.key);
        }
        wait.key.store(start.key.word(), Relaxed);
        wait.site.store(start.site as u64, Relaxed);
        wait.owner.store(start.owner as u64, Relaxed);
        block.rule.store(start.rule, Relaxed);
        for (counter, value) in wait.before.iter().zip(start.me.events) {
            counter.store(value, Relaxed);
        }
        wait.flags.store(0, Relaxed);
        wait.since.store(clock::ticks(), Relaxed);
    });
    log::begun(wait);
    true
}

/// Ends a wait that [`begin`] began with `inside`, unless it was left by a jump out of a signal handler.
#[inline]
pub(super) fn end(block: &Block, inside: u64, how: End, me: &Me) {
    if block.inside.load(Relaxed) != inside {
        return;
    }
    let wait = &block.wait;
    let flags = match how {
        End::Owner => flags::ACQUIRED,
        End::Acquired => flags::ACQUIRED | flags::RELEASED,
        End::GaveUp => flags::GAVE_UP,
    };
    change(wait, || {
        wait.until.store(clock::ticks(), Relaxed);
        for (counter, value) in wait.after.iter().zip(me.events) {
            counter.store(value, Relaxed);
        }
        wait.flags.store(flags, Relaxed);
    });
    log::ended(block);
    enter(block, 0);
}

/// Withdraws a wait that [`begin`] began with `inside`.
pub(super) fn withdraw(block: &Block, inside: u64) {
    if block.inside.load(Relaxed) == inside {
        change(&block.wait, || block.wait.key.store(0, Relaxed));
        enter(block, 0);
    }
}

/// Returns how long the thread has been in its wait.
pub(super) fn lasted_ns(block: &Block, view: &view::View) -> u64 {
    let now = clock::ticks();
    clock::length(now.saturating_sub(block.wait.since.load(Relaxed)), now, view.header())
}

/// Notes that the thread has released a lock.
#[inline]
pub(super) fn released(block: &Block, address: usize) {
    let wait = &block.wait;
    let is_it =
        |word: &AtomicU64| word.load(Relaxed) != 0 && Key::of_word(word.load(Relaxed)).address() == address as u64;
    if is_it(&wait.key) && wait.flags.load(Relaxed) != 0 {
        wait.flags.store(wait.flags.load(Relaxed) | flags::RELEASED, Relaxed);
    } else if let Some(held) = block.held.iter().find(|held| is_it(&held.key)) {
        held.key.store(0, Relaxed);
    }
    log::released(block, address);
}

/// Returns whether the thread is inside a wait that began further out on its stack. One that began further in was left
/// by a jump, and is over.
fn is_nested(block: &Block, inside: u64) -> bool {
    let began = block.inside.load(Relaxed);
    began != 0 && inside < began
}

fn enter(block: &Block, inside: u64) {
    compiler_fence(Release);
    // ORDERING live.inside: compiler fences; the only observer is a signal handler of this thread.
    block.inside.store(inside, Relaxed);
    compiler_fence(Release);
}

/// Runs `change` such that readers see that the wait changes (invariant 2).
#[inline(always)]
fn change(wait: &Wait, change: impl FnOnce()) {
    under(&wait.sequence, change);
}

/// Runs `change` while a sequence number is odd.
#[inline(always)]
pub(super) fn under(sequence: &AtomicU32, change: impl FnOnce()) {
    let before = sequence.load(Relaxed) & !1;
    sequence.store(before.wrapping_add(1), Relaxed);
    // ORDERING live.sequence: Release fence, then the changes; the reader's system calls order its three readings.
    fence(Release);
    change();
    // ORDERING live.sequence: Release; a thread that reads the even number reads the earlier changes.
    sequence.store(before.wrapping_add(2), Release);
}

/// Remembers that the thread holds the lock of its last wait, before it waits for another; it holds none that it waits
/// for.
#[inline]
fn keep(block: &Block, next: Key) {
    let wait = &block.wait;
    let last = Key::of_word(wait.key.load(Relaxed));
    let same = |word: u64, key: Key| word != 0 && Key::of_word(word).address() == key.address();
    for held in block.held.iter().filter(|held| same(held.key.load(Relaxed), next)) {
        held.key.store(0, Relaxed);
    }
    if wait.flags.load(Relaxed) != flags::ACQUIRED || last.address() == next.address() {
        return;
    }
    let is_place = |held: &&crate::layout::Held| held.key.load(Relaxed) == 0 || same(held.key.load(Relaxed), last);
    let oldest = || block.held.iter().min_by_key(|held| held.since.load(Relaxed)).unwrap_or(&block.held[HELD - 1]);
    let held = block.held.iter().find(is_place).unwrap_or_else(oldest);
    held.since.store(wait.until.load(Relaxed), Relaxed);
    held.key.store(last.word(), Relaxed);
}

/// Counts the thread's last wait, which has ended.
#[inline]
fn count(block: &Block, generation: u32) {
    let Some(view) = view::of(generation) else { return };
    let wait = &block.wait;
    let (since, until) = (wait.since.load(Relaxed), wait.until.load(Relaxed));
    let ns = clock::length(until.saturating_sub(since), until, view.header());
    let entry = entry(block, wait, &view);
    entry.rule.store(block.rule.load(Relaxed).into(), Relaxed);
    add(&entry.wait_ns, ns);
    if ns > entry.longest_ns.load(Relaxed) {
        entry.longest_ns.store(ns, Relaxed);
    }
    let events = [&entry.sleeps, &entry.steals, &entry.handoffs];
    for ((sum, before), after) in events.into_iter().zip(&wait.before).zip(&wait.after) {
        add_few(sum, after.load(Relaxed).wrapping_sub(before.load(Relaxed)));
    }
    if wait.flags.load(Relaxed) & flags::GAVE_UP != 0 {
        add_few(&entry.gave_up, 1);
    }
    let waits = &entry.histogram[bucket(ns)];
    add_few(waits, 1);
    if waits.load(Relaxed) >= table::MANY || entry.sleeps.load(Relaxed) >= table::MANY {
        table::move_entry(block, entry, &view);
    }
}

/// Finds the entry for a wait; takes over another one if there is none.
#[inline]
fn entry<'a>(block: &'a Block, wait: &Wait, view: &view::View) -> &'a Entry {
    let (key, site) = (wait.key.load(Relaxed), wait.site.load(Relaxed));
    let tag = tag(key, site);
    let is_it = |place: usize| {
        let entry = &block.entries[place];
        block.tags[place].load(Relaxed) == tag && (entry.key.load(Relaxed), entry.site.load(Relaxed)) == (key, site)
    };
    let last = block.last.load(Relaxed) as usize % ENTRIES;
    if is_it(last) {
        return &block.entries[last];
    }
    let place = (0..ENTRIES).find(|place| is_it(*place)).unwrap_or_else(|| {
        let place = block.hand.load(Relaxed) as usize % ENTRIES;
        block.hand.store((place as u32 + 1) % ENTRIES as u32, Relaxed);
        let entry = &block.entries[place];
        if entry.key.load(Relaxed) != 0 {
            table::move_entry(block, entry, view);
        }
        under(&block.moves, || {
            entry.site.store(site, Relaxed);
            entry.key.store(key, Relaxed);
            block.tags[place].store(tag, Relaxed);
        });
        place
    });
    block.last.store(place as u32, Relaxed);
    &block.entries[place]
}

/// Moves all entries of a block whose thread has exited to the table.
pub(super) fn move_all(block: &Block, generation: u32) {
    let Some(view) = view::of(generation) else { return };
    under(&block.wait.sequence, || {
        if block.wait.flags.load(Relaxed) != 0 {
            count(block, generation);
        }
        for entry in block.entries.iter().filter(|entry| entry.key.load(Relaxed) != 0) {
            table::move_entry(block, entry, &view);
        }
        clear(block);
    });
}

/// Resets a block, except for its state, its sequence numbers and its entries.
fn clear(block: &Block) {
    let wait = &block.wait;
    for word in [&wait.key, &wait.site, &wait.since, &wait.until, &wait.owner, &block.thread_pointer, &block.inside] {
        word.store(0, Relaxed);
    }
    for word in [&wait.flags, &block.tid, &block.last, &block.hand] {
        word.store(0, Relaxed);
    }
    block.tags.iter().for_each(|tag| tag.store(0, Relaxed));
    block.held.iter().for_each(|held| held.key.store(0, Relaxed));
}

/// Gives a free block to the calling thread.
pub(super) fn take(block: &Block, thread_pointer: u64) {
    block.tid.store(sys::thread(), Relaxed);
    block.thread_pointer.store(thread_pointer, Relaxed);
    log::know(block, block.tid.load(Relaxed).into());
    log::know(block, thread_pointer);
}

/// Returns a number for a lock and a call site, which is not 0.
#[inline(always)]
fn tag(key: u64, site: u64) -> u32 {
    table::hash(key, site) as u32 | 1
}

/// Adds to a counter that only the block's thread writes, which avoids a locked instruction.
#[inline(always)]
fn add(counter: &AtomicU64, value: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(value), Relaxed);
}

/// Adds to a narrow counter like [`add`].
#[inline(always)]
fn add_few(counter: &AtomicU32, value: u32) {
    if value != 0 {
        counter.store(counter.load(Relaxed).wrapping_add(value), Relaxed);
    }
}
