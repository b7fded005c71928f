//! Records individual waits, while a profiler requests it.
//!
//! Otherwise, a wait costs a load of [`Switch::until`] at its beginning and its end, and a contended release costs one.
//! The slot to write is counted in the process's own memory: nothing in the file determines it.

use super::view::{self, View};
use super::{clock, sys, table};
use crate::Key;
use crate::layout::{Block, EVENTS, Wait, flags, state};
use crate::log::{self, Counts, Record, Release, STACK, Switch};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release as ReleaseOrder};
use core::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, fence};
use turnwise_interpose::{registers, thread_variable};

/// The shortest period, which replaces any shorter one in the file: some microseconds.
const SHORTEST_PERIOD: u64 = 10_000;
/// The longest period, which replaces any longer one: some minutes.
const LONGEST_PERIOD: u64 = 1 << 40;

/// 1 plus the place of an owner's block, by the hash of the owner, as last seen; 0: none. Of two owners with the same
/// hash, the later is known.
static BLOCK_AT: [AtomicU16; 1 << 12] = [const { AtomicU16::new(0) }; 1 << 12];

thread_variable! {
    /// The calling thread's data for its records.
    struct Own(Words) as "turnwise_live_log" of 48 bytes
}

/// A thread's data. Zeros are valid.
#[derive(Clone, Copy)]
#[repr(C)]
struct Words {
    /// The state of its random numbers; 0: none yet.
    random: u64,
    /// When the wait whose holder is known began.
    looked: u64,
    /// That holder's call site.
    holder_site: u64,
    /// The lock that it acquired by its last recorded wait, until it releases it; 0: none.
    held: u64,
    /// When it acquired that lock.
    held_since: u64,
    /// The holder.
    holder: u32,
    spare: u32,
}

/// Remembers which block belongs to an owner: a thread's number, or its pointer.
#[cold]
pub(super) fn know(block: &Block, owner: u64) {
    if let Some(view) = view::current() {
        known(owner).store(u16::try_from(view.place_of(block) + 1).unwrap_or(0), Relaxed);
    }
}

/// Returns where an owner's block is remembered.
fn known(owner: u64) -> &'static AtomicU16 {
    &BLOCK_AT[table::hash(owner, 0) as usize % BLOCK_AT.len()]
}

/// Notes that a wait has begun. The calling thread has a block.
#[inline(always)]
pub(super) fn begun(wait: &Wait) {
    if let Some(view) = asked() {
        begun_recorded(wait, &view);
    }
}

/// Notes that a wait has ended. The calling thread has a block.
#[inline(always)]
pub(super) fn ended(block: &Block) {
    if let Some(view) = asked() {
        ended_recorded(block, &view);
    }
}

/// Notes that the calling thread has released a lock that others wait for.
#[inline(always)]
pub(super) fn released(block: &Block, address: usize) {
    if let Some(view) = asked() {
        released_recorded(block, address as u64, &view);
    }
}

/// Returns the view, if records were ever requested from it.
#[inline(always)]
fn asked() -> Option<View> {
    view::current().filter(|view| view.header().switch.until.load(Relaxed) != 0)
}

/// Returns whether waits are recorded now. Past the end, it switches the recorder off: a profiler was killed.
fn is_on(switch: &Switch, now: u64) -> bool {
    let until = switch.until.load(Relaxed);
    if now >= until && until != 0 {
        let _ = switch.until.compare_exchange(until, 0, Relaxed, Relaxed);
    }
    now < until
}

#[cold]
#[inline(never)]
fn begun_recorded(wait: &Wait, view: &View) {
    let since = wait.since.load(Relaxed);
    if !is_on(&view.header().switch, since) {
        return;
    }
    let (key, mine) = (wait.key.load(Relaxed), Own::get());
    let (holder, holder_site) = holder(key, wait.owner.load(Relaxed), view).unwrap_or_default();
    // A thread that waits for a lock no longer holds it.
    let held = if mine.held == key { 0 } else { mine.held };
    Own::set(Words { looked: since, holder, holder_site, held, ..mine });
}

/// Returns the thread that holds a lock, and where it acquired it by a wait.
fn holder(key: u64, owner: u64, view: &View) -> Option<(u32, u64)> {
    if owner == 0 {
        return None;
    }
    let place = usize::from(known(owner).load(Relaxed)).checked_sub(1).filter(|place| *place < view.blocks_used())?;
    let block = view.at::<Block>(place)?;
    let is_its = owner == u64::from(block.tid.load(Relaxed)) || owner == block.thread_pointer.load(Relaxed);
    if block.state.load(Relaxed) != state::LIVE || !is_its {
        return None;
    }
    let (wait, tid) = (&block.wait, block.tid.load(Relaxed));
    // ORDERING live.sequence: Acquire pairs with the Release of `under`; the fence orders the second load.
    let before = wait.sequence.load(Acquire);
    let last = (wait.key.load(Relaxed), wait.flags.load(Relaxed), wait.site.load(Relaxed));
    // ORDERING live.sequence: Acquire fence, as above.
    fence(Acquire);
    let stood = before.is_multiple_of(2) && wait.sequence.load(Relaxed) == before;
    let is_it = Key::of_word(last.0).address() == Key::of_word(key).address();
    let has_it = last.1 & (flags::ACQUIRED | flags::RELEASED) == flags::ACQUIRED;
    Some((tid, if stood && is_it && has_it { last.2 } else { 0 }))
}

#[cold]
#[inline(never)]
fn ended_recorded(block: &Block, view: &View) {
    let (switch, wait) = (&view.header().switch, &block.wait);
    let (since, until) = (wait.since.load(Relaxed), wait.until.load(Relaxed));
    if !is_on(switch, until) {
        return;
    }
    let period = switch.period.load(Relaxed).clamp(SHORTEST_PERIOD, LONGEST_PERIOD);
    let mut mine = Own::get();
    let chosen = weight(&mut mine.random, until.saturating_sub(since), period, until);
    let got = wait.flags.load(Relaxed) & (flags::ACQUIRED | flags::RELEASED) == flags::ACQUIRED;
    if chosen.is_some() {
        (mine.held, mine.held_since) = (if got { wait.key.load(Relaxed) } else { 0 }, until);
    }
    Own::set(mine);
    let Some(weight) = chosen else { return };
    sys::keeping_errno(|| record(block, weight, &mine, view));
}

/// Returns whether a wait is recorded, and how many ticks of waiting it counts for; 0: its own. A short one is recorded
/// at random, with a probability that grows with its length. `random` is the thread's own; it begins with `seed`.
fn weight(random: &mut u64, length: u64, period: u64, seed: u64) -> Option<u64> {
    if length >= period {
        return Some(0);
    }
    let mut next = if *random == 0 { seed | 1 } else { *random };
    // Xorshift: a period of 2^64 - 1, and never 0.
    next ^= next << 13;
    next ^= next >> 7;
    next ^= next << 17;
    *random = next;
    let chance = ((u128::from(next) * u128::from(period)) >> 64) as u64;
    (chance < length).then_some(period)
}

/// Writes a complete record.
fn record(block: &Block, weight: u64, mine: &Words, view: &View) {
    let Some(counts) = view.at::<Counts>(0) else { return lose(view) };
    let (number, slot) = view.next::<Record>(&view::NEXT_RECORD);
    counts.records.fetch_max(number + 1, Relaxed);
    let Some(slot) = slot.filter(|slot| take(&slot.busy)) else { return lose(view) };
    write(&slot.number, &slot.busy, number, || {
        describe(slot, block, weight, mine);
        slot.unloads.store(view.header().unloads.load(Relaxed), Relaxed);
        let registers = registers();
        let places = [&slot.instruction, &slot.stack_pointer, &slot.frame_pointer, &slot.link];
        places.into_iter().zip(registers).for_each(|(word, value)| word.store(value, Relaxed));
        let read = if view::may_call_system() {
            sys::copy_own(view.process(), registers[1], slot.stack[0].as_ptr().cast(), STACK)
        } else {
            0
        };
        slot.stack_bytes.store(read as u32, Relaxed);
        if read == 0 {
            counts.no_stack.fetch_add(1, Relaxed);
        }
    });
}

fn describe(slot: &Record, block: &Block, weight: u64, mine: &Words) {
    let wait = &block.wait;
    let since = wait.since.load(Relaxed);
    let (holder, holder_site) = if mine.looked == since { (mine.holder, mine.holder_site) } else { (0, 0) };
    slot.tid.store(block.tid.load(Relaxed), Relaxed);
    let until = wait.until.load(Relaxed);
    let values = [wait.key.load(Relaxed), wait.site.load(Relaxed), since, until, weight, holder_site];
    let places = [&slot.key, &slot.site, &slot.since, &slot.until, &slot.weight, &slot.holder_site];
    for (word, value) in places.into_iter().zip(values) {
        word.store(value, Relaxed);
    }
    let gave_up = wait.flags.load(Relaxed) & flags::GAVE_UP != 0;
    slot.flags.store(if gave_up { log::flags::GAVE_UP } else { 0 }, Relaxed);
    slot.holder.store(holder, Relaxed);
    for event in 0..EVENTS {
        let happened = wait.after[event].load(Relaxed).wrapping_sub(wait.before[event].load(Relaxed));
        slot.events[event].store(happened, Relaxed);
    }
}

#[cold]
#[inline(never)]
fn released_recorded(block: &Block, address: u64, view: &View) {
    let mine = Own::get();
    if mine.held == 0 || Key::of_word(mine.held).address() != address {
        return;
    }
    Own::set(Words { held: 0, ..mine });
    let now = clock::ticks();
    if !is_on(&view.header().switch, now) {
        return;
    }
    sys::keeping_errno(|| release(block, &mine, now, view));
}

/// Writes the release of a lock.
fn release(block: &Block, mine: &Words, now: u64, view: &View) {
    let Some(counts) = view.at::<Counts>(0) else { return lose(view) };
    let (number, slot) = view.next::<Release>(&view::NEXT_RELEASE);
    counts.releases.fetch_max(number + 1, Relaxed);
    let Some(slot) = slot.filter(|slot| take(&slot.busy)) else { return lose(view) };
    write(&slot.number, &slot.busy, number, || {
        slot.tid.store(block.tid.load(Relaxed), Relaxed);
        slot.since.store(mine.held_since, Relaxed);
        slot.at.store(now, Relaxed);
    });
}

/// Counts a record that has no room.
fn lose(view: &View) {
    view.header().lost_records.fetch_add(1, Relaxed);
}

/// Makes a slot the caller's (invariant 1 of the log).
fn take(busy: &AtomicU32) -> bool {
    // ORDERING log.busy: Acquire pairs with the Release in `write`: the previous writer's stores come before.
    busy.compare_exchange(0, 1, Acquire, Relaxed).is_ok()
}

/// Fills a slot obtained by [`take`], such that readers see that it changes (invariant 2 of the log).
fn write(number: &AtomicU64, busy: &AtomicU32, value: u64, fill: impl FnOnce()) {
    number.store(0, Relaxed);
    // ORDERING log.number: Release fence, then the changes; the reader's system calls order its two readings.
    fence(ReleaseOrder);
    fill();
    // ORDERING log.number: Release; a thread that reads the number reads what was written before.
    number.store(value + 1, ReleaseOrder);
    // ORDERING log.busy: Release pairs with the Acquire in `take`.
    busy.store(0, ReleaseOrder);
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: u64 = 1_000;

    /// Returns whether a sum over records is about right: each stands for [`PERIOD`], so the deviation is known.
    fn is_about(reported: u64, all: u64) -> bool {
        let deviation = (all as f64 / PERIOD as f64).sqrt() * PERIOD as f64;
        (reported.abs_diff(all) as f64) < 5.0 * deviation
    }

    #[test]
    fn records_stand_for_all_waiting() {
        let mut lengths = fastrand::Rng::with_seed(7);
        for (shortest, longest) in [(1, 50), (10, 900), (500, 5_000), (1_000, 2_000)] {
            let (mut random, mut all, mut reported) = (0, 0, 0);
            for _ in 0..200_000 {
                let length = lengths.u64(shortest..longest);
                all += length;
                if let Some(weight) = weight(&mut random, length, PERIOD, 12_345) {
                    reported += if weight == 0 { length } else { weight };
                }
            }
            assert!(is_about(reported, all), "{shortest} to {longest}: {reported} of {all}");
        }
    }

    #[test]
    fn sites_are_identified_by_their_share_of_the_waiting() {
        // One wait of 90 ticks and ten of 1 alternate: the first is nine tenths of the waiting.
        const ROUNDS: u64 = 100_000;
        let (mut random, mut first, mut others) = (0, 0, 0);
        for _ in 0..ROUNDS {
            first += weight(&mut random, 90, PERIOD, 1).unwrap_or(0);
            for _ in 0..10 {
                others += weight(&mut random, 1, PERIOD, 1).unwrap_or(0);
            }
        }
        assert!(is_about(first, 90 * ROUNDS) && is_about(others, 10 * ROUNDS), "{first} {others}");
    }

    #[test]
    fn whatever_the_period_a_long_wait_is_recorded() {
        let mut random = 3;
        assert_eq!(weight(&mut random, u64::MAX, LONGEST_PERIOD, 3), Some(0));
        assert_eq!(weight(&mut random, 10_000, SHORTEST_PERIOD, 3), Some(0));
        assert_eq!(weight(&mut random, 0, SHORTEST_PERIOD, 3), None);
    }

    #[test]
    fn a_slot_has_one_writer_and_shows_no_half_record() {
        let (number, busy) = (AtomicU64::new(0), AtomicU32::new(0));
        assert!(take(&busy) && !take(&busy));
        write(&number, &busy, 41, || assert_eq!(number.load(Relaxed), 0));
        assert_eq!((number.load(Relaxed), busy.load(Relaxed)), (42, 0));
        assert!(take(&busy));
    }
}
